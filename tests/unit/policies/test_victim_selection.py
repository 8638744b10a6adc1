"""Victim selection for policies."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, NoFeasiblePlan
from placement_worker.policies import victim_selection
from placement_worker.policies.base import State
from tests.factories import NOW, nodes, request


def chosen(count, kept=(), **deletion):
    """Return the ids of the victims among three nodes in zone a and two in zone b."""
    data = {'deletion': deletion}
    asked = codec.decode(request('CLUSTER_SCALE_IN', [], nodes(a=3, b=2)), CheckRequest)
    state = State(ActionData(data), Snapshot(Inventory(), asked.cluster), 1000, NOW)
    kept_nodes = [one for one in asked.cluster.nodes if one.id in kept]
    choice, location_of = victim_selection.choose(asked, state, count, 'OLDEST_FIRST', kept_nodes)
    assert {location_of(one) for one in asked.cluster.nodes} <= {(), ('a',), ('b',)}
    return [one.id for one in choice.victims]


@pytest.mark.parametrize(
    ('count', 'kept', 'deletion', 'expected'),
    [
        (2, (), {}, ['n1', 'n2']),
        (2, (), {'zones': {'b': 2}}, ['n4', 'n5']),
        (3, ('n5',), {'zones': {'a': 1, 'b': 2}}, ['n1', 'n4']),
        (2, ('n1', 'n2'), {'zones': {'b': 2}}, []),
        (3, ('n5',), {}, ['n1', 'n2']),
    ],
    ids=[
        'by criteria alone',
        'as planned',
        'kept nodes reduce the removal count of their place',
        'kept nodes limit the total',
        'kept nodes without a plan',
    ],
)
def test_choice_follows_the_plan_without_the_kept_nodes(count, kept, deletion, expected):
    """Kept nodes are no part of the choice and count towards the plan of their place."""
    assert chosen(count, kept, **deletion) == expected


def test_choice_from_a_place_with_too_few_nodes_is_refused():
    """A plan for more nodes than a place holds raises an error that names the place."""
    with pytest.raises(NoFeasiblePlan, match=r'^3 nodes are to leave b, which holds 2\.$'):
        chosen(3, zones={'b': 3})


@pytest.mark.parametrize(
    ('named', 'listed'),
    [
        (['n1', 'x' * 100], 'x' * 80 + '...'),
        ([f's{n}' for n in range(12)], 's0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 2 more'),
    ],
)
def test_nodes_outside_the_cluster_are_refused_by_id(named, listed):
    """The error lists up to ten ids, each cut to 80 characters."""
    asked = codec.decode(request('CLUSTER_DEL_NODES', [], nodes(a=1)), CheckRequest)

    victim_selection.check_members(['n1'], asked.cluster)
    with pytest.raises(InvalidInput) as refused:
        victim_selection.check_members(named, asked.cluster)

    assert str(refused.value) == f'Not a member of cluster c1: {listed}'
