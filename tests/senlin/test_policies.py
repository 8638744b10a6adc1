"""Versions of policy types that the plugin adds to Senlin."""

import pytest
from senlin.common import exception
from senlin.engine import environment
from senlin.policies import lb_policy
from senlin.policies.base import Policy

from tests.senlin import cloud, engine
from tests.senlin.specs import load_balancing

TYPE = 'senlin.policy.loadbalance-1.4'
STORED = 'LoadBalancingPolicy'
NEEDS_WORKER = f'Policy type {TYPE} needs a worker: set [placement_worker] transport_url'


def floored(min_online):
    """Return a spec of version 1.4."""
    return {**load_balancing(min_online=min_online), 'version': '1.4'}


def test_added_type_keeps_the_names_that_senlin_stores(senlin_here):
    """Class name and VERSION, which the data of bindings contain, are those of Senlin's class."""
    added = environment.global_env().get_policy(TYPE)

    assert added is not lb_policy.LoadBalancingPolicy
    assert added.__name__ == lb_policy.LoadBalancingPolicy.__name__ == STORED
    assert added.VERSION == lb_policy.LoadBalancingPolicy.VERSION
    assert added.VERSIONS['1.4'] == [{'status': 'SUPPORTED', 'since': '2026.11'}]
    listed = [(one['name'], one['version']) for one in environment.global_env().get_policy_types()]
    assert ('senlin.policy.loadbalance', '1.4') in listed


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


def test_named_nodes_beyond_the_floor_fail_the_check(worker):
    """Nodes that a user names leave together or not at all."""
    cluster = engine.add_cluster('az1', 'az1')
    engine.bound(cluster, ('lb', floored('100%')))
    node = cluster.nodes[0].id

    data = engine.check(cluster, 'CLUSTER_DEL_NODES', candidates=[node])

    assert data['status'] == 'ERROR'
    assert "Failed policy 'lb': None of 1 node can leave pool " in data['reason']


def test_malformed_floor_is_refused_when_the_policy_is_attached(worker):
    """The worker refuses what Senlin's schema cannot check, and nothing is bound."""
    cluster = engine.add_cluster('az1')

    _, done, reason = engine.attach(cluster, 'lb', floored('half'))

    assert not done
    assert 'Expected a `min_online` such as `2` or `75%`, up to `100%`, got `half`' in reason


def test_added_type_without_a_worker_fails_instead_of_ignoring_the_floor(worker, by_itself):
    """Without a broker in senlin.conf, Senlin neither attaches nor checks the added type."""
    cluster = engine.add_cluster('az1', 'az1')
    engine.bound(cluster, ('lb', floored(1)))

    with by_itself():
        before = engine.check(cluster, 'CLUSTER_SCALE_IN', count=1)
        after = engine.check(cluster, 'CLUSTER_SCALE_OUT', phase='AFTER', count=1)
        _, done, reason = engine.attach(engine.add_cluster('az1'), 'lb', floored(1))

    for data in (before, after):
        assert (data['status'], data['reason']) == ('ERROR', f"Failed policy 'lb': {NEEDS_WORKER}")
    assert (done, reason) == (False, NEEDS_WORKER)
