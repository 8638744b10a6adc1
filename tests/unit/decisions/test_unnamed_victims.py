"""The nodes that an action deletes without a policy that chooses them."""

import pytest

from placement_worker.decisions import unnamed_victims


@pytest.mark.parametrize(
    ('action', 'deletion', 'expected'),
    [
        ('CLUSTER_SCALE_IN', {'count': 3, 'zones': {'a': 2}}, {(None, 'a'): 2, (None, None): 1}),
        ('CLUSTER_RESIZE', {'count': 2, 'regions': {'R': 2}}, {('R', None): 2}),
        (
            'CLUSTER_RESIZE',
            {'count': 1, 'places': [{'region_name': 'R', 'zone': 'a', 'count': 1}]},
            {('R', 'a'): 1},
        ),
        ('CLUSTER_SCALE_IN', {'count': 2}, {(None, None): 2}),
        ('CLUSTER_SCALE_IN', {'count': 2, 'candidates': ['n1', 'n2']}, {}),
        ('NODE_DELETE', {'count': 1}, {}),
    ],
)
def test_unnamed_victims_are_counted_by_the_places_of_the_plan(action, deletion, expected):
    """Victims that no policy chose count by region and zone, as far as they are planned."""
    assert unnamed_victims.by_place(action, {'deletion': deletion}) == expected


def test_unnamed_victims_without_a_deletion_are_none():
    """An action that deletes nothing has no victims."""
    assert not unnamed_victims.by_place('CLUSTER_RESIZE', {'status': 'OK'})
