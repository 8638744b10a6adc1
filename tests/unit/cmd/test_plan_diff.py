"""The difference that `placement-policy plan` prints."""

from msgspec import structs

from placement_worker.cmd.colors import Paint
from placement_worker.cmd.plan_changes import Changes, PlaceChange, SkippedPolicy, Victim
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


def test_shown_with_escape_characters_aligns_the_columns():
    """An escape character in a name does not shift the columns."""
    found = Changes(
        'CLUSTER_SCALE_IN',
        'a1',
        'BEFORE',
        'web',
        'OK',
        'done',
        3,
        deleted=2,
        places={'zones': [PlaceChange('a\x1b', 2, 1), PlaceChange('b', 1, 0)]},
        victims=[Victim('n\x1b', 'a', 'oldest'), Victim('n2', 'b', 'oldest')],
    )

    lines = shown(found)

    assert r'  - a\u001b  2 -> 1  -1' in lines
    assert '  - b        1 -> 0  -1' in lines
    assert r'  - n\u001b  a  oldest' in lines
    assert '  - n2       b  oldest' in lines


def test_shown_with_an_unchanged_pool_omits_its_cost():
    """A pool that keeps its members has no line for calls and updates."""
    lines = shown(with_pool(added=[], updates=0, estimated_s=0))

    assert '    already there: n1' in lines
    assert not [line for line in lines if 'api calls' in line or 'update' in line]


def test_shown_without_a_decision_lists_the_updates_before_the_reasons():
    """The reasons follow all counts of the plan."""
    skipped = [SkippedPolicy('p', 'a'), SkippedPolicy('q', 'b')]
    found = structs.replace(with_pool(), deleted=2, policies=2, skipped=skipped)

    assert shown(found)[-2] == (
        'Plan: 2 nodes to delete, 2 load-balancer updates; no policy chose the nodes: a; b. '
        'Nothing was done.'
    )
