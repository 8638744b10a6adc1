"""A cluster changes its size through Senlin's API.

Each test changes the same cluster, whatever the others have left of it. In their order, each test
leaves the size with which the next one begins, which saves minutes.
"""

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.cloud import agreement
from tests.cloud.clusters import MAX_SIZE, WEIGHTS
from tests.cloud.sources import zones


def test_attach_to_running_cluster_adopts_its_nodes(managed):
    """Policies that were attached to a running cluster know the zones of its nodes.

    All nodes are members of the pool.
    """
    agreement.check_nodes(managed)
    assert managed.is_active()


def test_scale_out_creates_servers_in_planned_zones(managed):
    """A scale-out creates servers in the zones that the worker has recorded."""
    managed.set_size(3)

    change = managed.change('scale_out', count=2)

    assert len(change.added) == 2
    assert set(zones(change.added)) <= set(WEIGHTS)


@pytest.mark.parametrize(
    ('before', 'adjustment', 'number', 'after'),
    [
        # the first one leaves few nodes, so that zones that were uneven before become even
        (5, 'CHANGE_IN_CAPACITY', -3, 2),
        (2, 'EXACT_CAPACITY', 5, 5),
        (5, 'CHANGE_IN_PERCENTAGE', -20, 4),
        (4, 'CHANGE_IN_PERCENTAGE', 100, MAX_SIZE),
    ],
)
def test_resize_balances_zones(managed, before, adjustment, number, after):
    """A resize reaches the size, at most the maximum, and balances the zones."""
    managed.set_size(before)

    managed.change('resize', adjustment_type=adjustment, number=number, strict=False)

    assert len(managed.nodes()) == after
    assert managed.is_balanced()


def test_strict_resize_beyond_maximum_changes_nothing(managed):
    """A strict resize beyond the maximum size is refused and changes nothing."""
    before = managed.nodes()

    with pytest.raises(BadRequest, match='greater than the cluster'):
        managed.do('resize', adjustment_type='EXACT_CAPACITY', number=MAX_SIZE + 1, strict=True)

    assert managed.nodes() == before


def test_scale_in_deletes_chosen_nodes(managed):
    """A scale-in deletes the nodes that the worker has recorded."""
    managed.set_size(6)

    change = managed.change('scale_in', count=2)

    [decision] = managed.decisions(change.action)
    assert len(change.removed) == 2
    assert decision['deletion']['count'] == 2
