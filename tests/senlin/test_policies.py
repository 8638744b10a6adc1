"""Versions of policy types that the plugin adds to Senlin."""

import pytest
from senlin.common import consts, exception
from senlin.engine import environment
from senlin.policies import deletion_policy, lb_policy
from senlin.policies.base import Policy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

from tests.senlin import cloud, engine
from tests.senlin.specs import deletion, load_balancing, regions, zones

STORED = 'LoadBalancingPolicy'
NEEDS_WORKER = 'Policy type {} needs a worker: set [placement_worker] transport_url'
DELETIONS = [
    ('BEFORE', action)
    for action in (consts.CLUSTER_DEL_NODES, consts.CLUSTER_REPLACE_NODES, consts.NODE_DELETE)
]


def floored(min_online):
    return {**load_balancing(min_online=min_online), 'version': '1.4'}


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
        {**load_balancing(min_online=1), 'version': '1.4'},
        {**deletion(protection='strict'), 'version': '1.2'},
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
    bound = engine.bound(cluster, ('added', policy))['added']
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_IN, count=1)

    with by_itself():
        before = engine.checked(action)
        bound.post_op(cluster.id, action)
        _, done, reason = engine.attach(engine.add_cluster('az1'), 'added', policy)

    needs_worker = NEEDS_WORKER.format(f'{policy["type"]}-{policy["version"]}')
    expected = ('ERROR', f"Failed policy 'added': {needs_worker}")
    assert (before['status'], before['reason']) == expected
    assert (action.data['status'], action.data['reason']) == ('ERROR', needs_worker)
    assert (done, reason) == (False, needs_worker)


@pytest.mark.parametrize('min_online', [2, '2', '50%'])
def test_spec_with_a_floor_is_valid_in_senlin(senlin_here, min_online):
    """Senlin accepts numbers and percentages; the worker checks their form."""
    Policy('lb', floored(min_online)).validate(engine.context())


def test_spec_with_a_floor_in_an_earlier_version_is_refused(senlin_here):
    """Senlin's own versions do not know `min_online`."""
    spec = {**floored(2), 'version': '1.3'}

    with pytest.raises(exception.ESchema, match='min_online'):
        Policy('lb', spec).validate(engine.context())


def test_scale_in_stops_at_the_floor_with_a_grace_period(worker):
    """A scale-in by two of three nodes deletes one if two members must stay online."""
    cluster = engine.add_cluster('az1', 'az1', 'az1')
    policy = engine.bound(cluster, ('lb', floored(2)))['lb']

    data = engine.check(cluster, 'CLUSTER_SCALE_IN', count=2)

    assert (data['status'], data['deletion']['count']) == ('OK', 1)
    assert data['deletion']['grace_period'] == 60
    stored = engine.data_of(cluster, policy)[STORED]
    assert len(cloud.members(stored['data']['pool'])) == 2
    assert stored['version'] == lb_policy.LoadBalancingPolicy.VERSION


def test_malformed_floor_is_refused_when_the_policy_is_attached(worker):
    """The worker refuses what Senlin's schema cannot check, and nothing is bound."""
    cluster = engine.add_cluster('az1')

    _, done, reason = engine.attach(cluster, 'lb', floored('half'))

    assert not done
    assert 'Expected a `min_online` such as `2` or `75%`, up to `100%`, got `half`' in reason
