"""The process `senlin-engine` with the plugin: actions from its dispatcher to the last node."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import oslo_messaging
import pytest
from senlin.common import consts, messaging
from senlin.engine import dispatcher
from senlin.engine.actions.base import Action
from senlin.engine.cluster import Cluster
from senlin.objects import action as actions
from senlin.objects import node as nodes

from tests.senlin import cloud, engine
from tests.senlin.specs import deletion, example_load_balancing, load_balancing, zones
from tests.waiting import DEADLINE_S, wait_for

HERE = Path(__file__).parent
ENDED = (consts.ACTION_SUCCEEDED, consts.ACTION_FAILED, consts.ACTION_CANCELLED)


@pytest.fixture(scope='module')
def engine_log(worker, senlin_conf, folder):
    """Start the engine as an operator does; return its log."""
    log = folder / 'engine.log'
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE / 'plugin')])
    environment = {**os.environ, 'PYTHONPATH': path}
    program = Path(sys.executable).with_name('senlin-engine')
    command = [program, '--config-file', senlin_conf, '--log-file', log]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_for(listening)
        yield log
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def listening():
    client = messaging.get_rpc_client(consts.ENGINE_TOPIC, None)
    try:
        return client.prepare(timeout=2).call(engine.context(), 'listening')
    except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
        return False


def ended(target, name, **inputs):
    """Have the engine run an action as its conductor does; return the ended action."""
    more = {'name': 'test', 'cluster_id': target.id, 'cause': consts.CAUSE_RPC}
    more['status'] = Action.READY
    action_id = Action.create(engine.context(), target.id, name, inputs=inputs, **more)
    dispatcher.start_action()

    wait_for(lambda: actions.Action.get(engine.context(), action_id).status in ENDED)
    return actions.Action.get(engine.context(), action_id)


def succeeded(target, name, **inputs):
    action = ended(target, name, **inputs)
    assert action.status == consts.ACTION_SUCCEEDED, action.status_reason
    return action


def attach(cluster, **specs):
    policies = [engine.add_policy(name, spec) for name, spec in specs.items()]
    for policy in policies:
        succeeded(cluster, consts.CLUSTER_ATTACH_POLICY, policy_id=policy.id, enabled=True)
    return policies


def members(cluster):
    return nodes.Node.get_all_by_cluster(engine.context(), cluster.id)


def zones_of(cluster):
    return Counter(node.data['placement']['zone'] for node in members(cluster))


def pool(cluster, balancing):
    stored = engine.data_of(cluster, balancing)['LoadBalancingPolicy']['data']
    return cloud.members(stored['pool']), stored['loadbalancer']


def test_cluster_is_scaled_and_deleted_by_the_engine(engine_log):
    """A cluster with policies of the worker scales and is deleted through the real engine."""
    cluster = engine.add_cluster('az1')
    *_, balancing = attach(
        cluster,
        zones=zones(az1=100, az2=200),
        victims=deletion(criteria='OLDEST_FIRST'),
        lb=load_balancing(),
    )

    grown = succeeded(cluster, consts.CLUSTER_SCALE_OUT, count=5)

    created = [engine.node_of(node_id) for node_id in grown.data['creation']['nodes']]
    planned = [entry['zone'] for entry in grown.data['placement']['placements']]
    requested = cloud.requests()
    assert Counter(planned) == {'az1': 1, 'az2': 4}
    assert [node.data['placement']['zone'] for node in created] == planned
    assert [requested[node.physical_id]['availability_zone'] for node in created] == planned
    assert zones_of(cluster) == {'az1': 2, 'az2': 4}
    assert pool(cluster, balancing)[0] == members_of(cluster)

    shrunk = succeeded(cluster, consts.CLUSTER_SCALE_IN, count=3)

    assert zones_of(cluster) == {'az1': 1, 'az2': 2}
    assert set(shrunk.data['deletion']['candidates']).isdisjoint(
        node.id for node in members(cluster)
    )
    left, lb_id = pool(cluster, balancing)
    assert left == members_of(cluster)

    succeeded(cluster, consts.CLUSTER_DELETE)

    assert lb_id not in cloud.load_balancers()
    assert not {node.physical_id for node in created} & cloud.requests().keys()


def members_of(cluster):
    return sorted(cloud.address(node.physical_id) for node in members(cluster))


def balanced_without_the_plugin(by_itself, spec):
    """Attach a load balancing policy by Senlin itself; return the cluster and the policy."""
    with by_itself():
        cluster = engine.add_cluster('az1', 'az1')
        return cluster, engine.bound(cluster, lb=spec)['lb']


def test_a_cluster_that_senlin_balanced_by_itself_scales_and_is_detached(engine_log, by_itself):
    """A binding that Senlin made by itself scales out and in, and is detached completely."""
    cluster, balancing = balanced_without_the_plugin(by_itself, example_load_balancing())
    old = {node.id for node in members(cluster)}
    pool_id = engine.data_of(cluster, balancing)['LoadBalancingPolicy']['data']['pool']
    attached, lb_id = pool(cluster, balancing)
    untagged = cloud.tags(pool_id)

    succeeded(cluster, consts.CLUSTER_SCALE_OUT, count=2)
    grown = pool(cluster, balancing)[0], members_of(cluster)
    succeeded(cluster, consts.CLUSTER_DEL_NODES, candidates=sorted(old)[:1])
    fewer = pool(cluster, balancing)[0], members_of(cluster)
    succeeded(cluster, consts.CLUSTER_SCALE_IN, count=2)
    shrunk = pool(cluster, balancing)[0], members_of(cluster)
    succeeded(cluster, consts.CLUSTER_DETACH_POLICY, policy_id=balancing.id)

    assert (len(attached), list(untagged.values())) == (2, [[], []])
    assert [len(there) for there, _ in (grown, fewer, shrunk)] == [4, 3, 1]
    assert all(there == expected for there, expected in (grown, fewer, shrunk))
    assert lb_id not in cloud.load_balancers()
    assert all('lb_member' not in node.data for node in members(cluster))
    assert 'loadbalancers' not in Cluster.load(engine.context(), cluster.id).data


def test_a_cluster_that_senlin_balanced_by_itself_is_deleted_with_its_load_balancer(
    engine_log, by_itself
):
    """A load balancer that Senlin made by itself is deleted with its cluster."""
    cluster, balancing = balanced_without_the_plugin(by_itself, example_load_balancing())
    _, lb_id = pool(cluster, balancing)

    succeeded(cluster, consts.CLUSTER_DELETE)

    assert lb_id not in cloud.load_balancers()


def test_a_cluster_that_senlin_put_into_a_pool_of_others_leaves_it(engine_log, by_itself):
    """Nodes in a pool of others are removed with the policy, and its other members stay."""
    theirs = '10.0.250.1'
    existing = cloud.pool_of_others(theirs)
    spec = load_balancing(loadbalancer='front')
    spec['properties']['pool']['id'] = existing
    cluster, balancing = balanced_without_the_plugin(by_itself, spec)
    attached = cloud.members(existing)

    succeeded(cluster, consts.CLUSTER_SCALE_OUT, count=1)
    grown = cloud.members(existing), sorted([theirs, *members_of(cluster)])
    succeeded(cluster, consts.CLUSTER_SCALE_IN, count=2)
    shrunk = cloud.members(existing), sorted([theirs, *members_of(cluster)])
    succeeded(cluster, consts.CLUSTER_DETACH_POLICY, policy_id=balancing.id)

    assert [len(there) for there in (attached, grown[0], shrunk[0])] == [3, 4, 2]
    assert all(there == expected for there, expected in (grown, shrunk))
    assert cloud.members(existing) == [theirs]
    assert 'front' in cloud.load_balancers().values()


def test_engine_logs_the_policies_of_the_worker_at_start(engine_log):
    """The log of the engine names the policy types that the worker decides for."""
    line = 'placement-worker decides for the policies of senlin.policy.deletion'
    assert line in engine_log.read_text()


def test_action_with_a_rejected_check_fails_and_changes_nothing(engine_log):
    """An action whose check is rejected fails with its reason and creates no node."""
    cluster = engine.add_cluster('az1')
    attach(cluster, zones=zones('down'))

    action = ended(cluster, consts.CLUSTER_SCALE_OUT, count=1)

    assert action.status == consts.ACTION_FAILED
    reason = "Policy check failure: Failed policy 'zones': No availability zone found available."
    assert action.status_reason == reason
    assert len(members(cluster)) == 1
    assert Cluster.load(engine.context(), cluster.id).desired_capacity == 1
