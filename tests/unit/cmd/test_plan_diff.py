"""The difference that `placement-policy plan` prints."""

from placement_worker.cmd.colors import Paint
from placement_worker.cmd.plan_changes import Changes, PlaceChange
from placement_worker.cmd.plan_diff import shown
from tests.unit.cmd.pool_changes import with_pool


def test_shown_with_a_pool_lists_members_updates_and_time():
    """A pool is shown with its members, the number of updates and the estimated time."""
    assert shown(with_pool(removed=['n2'])) == [
        'CLUSTER_SCALE_OUT of cluster web, AFTER: 5 nodes',
        '',
        'Pool p1 (balanced):',
        '  - n2',
        '  + n4',
        '  + n5',
        '    already there: n1',
        '    failed: n6: no address',
        '    api calls: 3',
        '    2 load-balancer updates, about 6.5 s',
        '',
        'Plan: 2 load-balancer updates. Nothing was done.',
        '',
    ]


def test_shown_with_paint_colors_the_lines():
    """Lines have colors only if the painter is on."""
    found = Changes(
        'CLUSTER_SCALE_IN',
        'a1',
        'BEFORE',
        'web',
        'OK',
        'done',
        3,
        deleted=1,
        places={'zones': [PlaceChange('a', 2, 1)]},
    )

    assert '  \x1b[31m- a  2 -> 1  -1\x1b[0m' in shown(found, Paint(on=True))
    assert not any('\x1b' in line for line in shown(found))
