"""Protected nodes in Senlin, and the version 1.2 of the deletion policy."""

import pytest
from senlin.common import consts, exception
from senlin.objects import node as nodes
from senlin.policies.base import Policy

from tests.senlin import engine
from tests.senlin.specs import deletion

REFUSED = 'Protected nodes must not be deleted: {} is protected; remove their protection first'


def protecting(mode):
    return {**deletion(protection=mode), 'version': '1.2'}


def cluster_with(protected, *policies):
    """Return a cluster of three nodes with policies, and the id of its first node, which the given
    value protects.
    """
    cluster = engine.add_cluster('az1', 'az1', 'az1')
    node_id = cluster.nodes[0].id
    nodes.Node.update(engine.context(), node_id, {'metadata': {'protected': protected}})
    engine.bound(cluster, *policies)
    return cluster, node_id


def test_spec_with_a_mode_is_valid_in_version_1_2_alone(senlin_here):
    """Senlin accepts both modes and no other one, and knows none in its own versions."""
    for mode in ('best_effort', 'strict'):
        Policy('victims', protecting(mode)).validate(engine.context())
    for spec in (protecting('loose'), deletion(protection='strict')):
        with pytest.raises(exception.ESchema):
            Policy('victims', spec).validate(engine.context())


def test_protected_node_survives_scale_in_by_best_effort(worker):
    """A scale-in by three nodes deletes the two that no user has protected."""
    cluster, node_id = cluster_with('true', ('victims', protecting('best_effort')))

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=3)

    assert (data['status'], data['deletion']['count']) == ('OK', 2)
    assert node_id not in data['deletion']['candidates']


def test_strict_mode_fails_the_action(worker):
    """In strict mode the action fails, and names the protected node with its reason."""
    value = '{"until": "9999-12-01", "reason": "batch job"}'
    cluster, node_id = cluster_with(value, ('victims', protecting('strict')))

    data = engine.check(cluster, consts.CLUSTER_RESIZE, adjustment_type='EXACT_CAPACITY', number=0)

    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        "Failed policy 'victims': Only 2 of 3 nodes can be deleted: "
        f'{node_id} is protected until 9999-12-01 (batch job)'
    )


@pytest.mark.parametrize('replaced', [True, False], ids=['replaced', 'deleted'])
def test_named_protected_node_is_refused(worker, replaced):
    """A protected node is neither replaced nor deleted by name."""
    cluster, node_id = cluster_with('true', ('victims', protecting('best_effort')))
    new = engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'})

    if replaced:
        data = engine.check(cluster, consts.CLUSTER_REPLACE_NODES, candidates={node_id: new.id})
    else:
        data = engine.check(cluster, consts.CLUSTER_DEL_NODES, candidates=[node_id])

    assert data['status'] == 'ERROR'
    assert data['reason'] == f"Failed policy 'victims': {REFUSED.format(node_id)}"
