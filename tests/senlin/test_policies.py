"""Versions of policy types that the plugin adds to Senlin, and what they do there."""

import pytest
from senlin.common import consts, exception
from senlin.engine import environment
from senlin.objects import node as nodes
from senlin.policies import deletion_policy, lb_policy
from senlin.policies.base import Policy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

from tests.senlin import cloud, engine
from tests.senlin.specs import floored, protecting, regions, spreading, zones

PLACES = [zones('az1'), regions('RegionOne')]
NEEDS_WORKER = 'Policy type {} needs a worker: set [placement_worker] transport_url'
DELETIONS = [
    ('BEFORE', action)
    for action in (consts.CLUSTER_DEL_NODES, consts.CLUSTER_REPLACE_NODES, consts.NODE_DELETE)
]


# The types that the plugin adds: name, Senlin's class, and the actions that it lacks.
ADDED = [
    ('senlin.policy.loadbalance-1.4', lb_policy.LoadBalancingPolicy, []),
    ('senlin.policy.deletion-1.2', deletion_policy.DeletionPolicy, DELETIONS[1:2]),
    ('senlin.policy.zone_placement-1.1', ZonePlacementPolicy, DELETIONS),
    ('senlin.policy.region_placement-1.1', RegionPlacementPolicy, DELETIONS),
]


@pytest.mark.parametrize(('name', 'original', 'targets'), ADDED)
def test_added_type_keeps_the_names_that_senlin_stores(senlin_here, name, original, targets):
    """Class name and VERSION are those of Senlin's class, whose actions come before added ones."""
    added = environment.global_env().get_policy(name)
    type_name, _, version = name.rpartition('-')

    assert added is not original
    assert (added.__name__, added.VERSION) == (original.__name__, original.VERSION)
    assert added.VERSIONS[version] == [{'status': 'SUPPORTED', 'since': '2026.11'}]
    assert original.TARGET + targets == added.TARGET
    types = environment.global_env().get_policy_types()
    assert (type_name, version) in [(listed['name'], listed['version']) for listed in types]


@pytest.mark.parametrize(
    'policy',
    [
        floored(1),
        protecting('strict'),
        {**zones('az1'), 'version': '1.1'},
        {**regions('RegionOne'), 'version': '1.1'},
    ],
    ids=lambda policy: policy['type'],
)
def test_added_type_without_a_worker_fails_instead_of_ignoring_its_properties(
    worker, by_itself, policy
):
    """Without a broker in senlin.conf, Senlin neither attaches nor checks an added type."""
    cluster = engine.add_cluster('az1', 'az1')
    bound = engine.bound(cluster, added=policy)['added']
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_IN, count=1)

    with by_itself():
        before = engine.checked(action)
        bound.post_op(cluster.id, action)
        refusal = engine.refusal(engine.add_cluster('az1'), 'added', policy)

    needs_worker = NEEDS_WORKER.format(f'{policy["type"]}-{policy["version"]}')
    expected = ('ERROR', f"Failed policy 'added': {needs_worker}")
    assert (before['status'], before['reason']) == expected
    assert (action.data['status'], action.data['reason']) == ('ERROR', needs_worker)
    assert refusal == needs_worker


@pytest.mark.parametrize(
    'spec',
    [
        *(floored(min_online) for min_online in (2, '2', '50%')),
        *(protecting(mode) for mode in ('best_effort', 'strict')),
        *(
            spreading(places, **spread)
            for places in PLACES
            for spread in ({}, {'mode': 'strict'}, {'mode': 'best_effort', 'max_skew': '2'})
        ),
    ],
)
def test_spec_of_an_added_version_is_valid_in_senlin(senlin_here, spec):
    """Senlin accepts all modes, numbers and percentages; the worker checks their form."""
    Policy('added', spec).validate(engine.context())


@pytest.mark.parametrize(
    'spec',
    [
        {**floored(2), 'version': '1.3'},
        {**protecting('strict'), 'version': '1.1'},
        protecting('loose'),
        *({**spreading(places, mode='strict'), 'version': '1.0'} for places in PLACES),
        *(
            spreading(places, **spread)
            for places in PLACES
            for spread in ({'mode': 'loose'}, {'max_skew': 'many'}, {'skew': 2})
        ),
    ],
)
def test_spec_with_a_wrong_mode_or_in_an_earlier_version_is_refused(senlin_here, spec):
    """Senlin knows no other modes and properties, and in its own versions none of them."""
    with pytest.raises(exception.ESchema):
        Policy('added', spec).validate(engine.context())


def test_scale_in_stops_at_the_floor_with_a_grace_period(worker):
    """A scale-in by two of three nodes deletes one if two members must stay online."""
    cluster = engine.add_cluster('az1', 'az1', 'az1')
    policy = engine.bound(cluster, lb=floored(2))['lb']

    data = engine.check(cluster, 'CLUSTER_SCALE_IN', count=2)

    assert (data['status'], data['deletion']['count']) == ('OK', 1)
    assert data['deletion']['grace_period'] == 60
    stored = engine.data_of(cluster, policy)['LoadBalancingPolicy']
    assert len(cloud.members(stored['data']['pool'])) == 2
    assert stored['version'] == lb_policy.LoadBalancingPolicy.VERSION


@pytest.mark.parametrize(
    ('spec', 'reason'),
    [
        (
            zones('az1', 'down'),
            'Zone az1 would hold 4 nodes, ideal 2.0, allowed skew 1: zone down is unavailable',
        ),
        (
            regions('RegionOne', 'Nowhere'),
            'Region RegionOne would hold 3 nodes, ideal 1.5, allowed skew 1: '
            'region Nowhere is unknown to the cloud',
        ),
    ],
    ids=['zones', 'regions'],
)
def test_strict_spread_fails_the_action_with_its_reason(worker, spec, reason):
    """The refusal of the worker becomes the reason of Senlin's action."""
    cluster = engine.add_cluster('az1', policies={'spread': spreading(spec, mode='strict')})

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=3)

    assert (data['status'], data['reason']) == ('ERROR', f"Failed policy 'spread': {reason}")
    assert 'placement' not in data


def cluster_with(protected, mode):
    """Return a cluster of three nodes, and the id of its first node, which the value protects."""
    cluster = engine.add_cluster('az1', 'az1', 'az1', policies={'victims': protecting(mode)})
    node_id = cluster.nodes[0].id
    nodes.Node.update(engine.context(), node_id, {'metadata': {'protected': protected}})
    return cluster, node_id


def test_protected_node_survives_scale_in_by_best_effort(worker):
    """A scale-in by three nodes deletes the two that no user has protected."""
    cluster, node_id = cluster_with('true', 'best_effort')

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=3)

    assert (data['status'], data['deletion']['count']) == ('OK', 2)
    assert node_id not in data['deletion']['candidates']


def test_strict_mode_fails_the_action(worker):
    """In strict mode the action fails, and names the protected node with its reason."""
    value = '{"until": "9999-12-01", "reason": "batch job"}'
    cluster, node_id = cluster_with(value, 'strict')

    size = {'adjustment_type': 'EXACT_CAPACITY', 'number': 0}

    assert engine.rejection(cluster, consts.CLUSTER_RESIZE, **size) == (
        "Failed policy 'victims': Only 2 of 3 nodes can be deleted: "
        f'{node_id} is protected until 9999-12-01 (batch job)'
    )


@pytest.mark.parametrize('action', [consts.CLUSTER_REPLACE_NODES, consts.CLUSTER_DEL_NODES])
def test_named_protected_node_is_refused(worker, action):
    """A protected node is neither replaced nor deleted by name."""
    cluster, node_id = cluster_with('true', 'best_effort')
    new = engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'})
    is_replaced = action == consts.CLUSTER_REPLACE_NODES
    candidates = {node_id: new.id} if is_replaced else [node_id]

    assert engine.rejection(cluster, action, candidates=candidates) == (
        f"Failed policy 'victims': Protected nodes must not be deleted: {node_id} is protected; "
        'remove their protection first'
    )
