"""The load balancing policy in Senlin, with the embedded cloud of the worker."""

import pytest
from senlin.common import consts
from senlin.engine.cluster import Cluster

from placement_worker.engines.senlin import worker_client
from placement_worker.errors import NoWorkerAnswered
from tests.senlin import cloud, engine
from tests.senlin.specs import load_balancing

pytestmark = pytest.mark.usefixtures('worker')
STORED = 'LoadBalancingPolicy'


def balanced(*zones):
    """Create a cluster with a load balancer of its own; return it with the policy."""
    cluster = engine.add_cluster(*zones)
    policy = engine.bound(cluster, lb=load_balancing())['lb']
    return loaded(cluster), policy


def loaded(cluster):
    return Cluster.load(engine.context(), cluster.id)


def member_of(node):
    return engine.node_of(node.id).data.get('lb_member')


def in_pool(cluster, policy):
    return cloud.members(engine.data_of(cluster, policy)[STORED]['data']['pool'])


def addresses(*nodes):
    return sorted(cloud.address(node.physical_id) for node in nodes)


def test_load_balancer_of_an_attached_policy_has_all_nodes_until_it_is_detached():
    """Attaching creates a load balancer and stores its ids; detaching deletes it and its data."""
    cluster, policy = balanced('az1', 'az2')
    stored = engine.data_of(cluster, policy)[STORED]['data']

    assert {'loadbalancer', 'listener', 'pool'} <= stored.keys()
    assert stored['loadbalancer'] in cloud.load_balancers()
    assert cluster.data['loadbalancers'][policy.id]['vip_address']
    assert all(member_of(node) for node in cluster.nodes)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes)

    done, reason = cluster.detach_policy(engine.context(), policy.id)
    cluster.store(engine.context())

    assert (done, reason) == (True, 'Policy detached.')
    assert stored['loadbalancer'] not in cloud.load_balancers()
    assert 'loadbalancers' not in loaded(cluster).data
    assert [member_of(node) for node in cluster.nodes] == [None, None]


def test_failed_attach_binds_no_policy_and_leaves_no_load_balancer():
    """A policy that cannot be attached is not bound and leaves no load balancer behind."""
    cluster = engine.add_cluster('az1')
    before = cloud.load_balancers()
    spec = load_balancing()
    spec['properties']['pool']['subnet'] = 'nowhere'

    reason = "Failed policy 'lb': Subnet nowhere of `pool.subnet` does not exist in the cloud."
    assert engine.refusal(cluster, 'lb', spec) == reason
    assert cloud.load_balancers() == before
    assert loaded(cluster).policies == []


def recovery(cluster):
    """Return the action that recovers the node of a cluster together with its cluster."""
    node = cluster.nodes[0]
    return engine.add_action(node, consts.NODE_RECOVER, consts.CAUSE_DERIVED, operation=None)


def test_node_recovered_with_its_cluster_has_its_new_address_in_the_pool():
    """A node that is recreated because its cluster recovers becomes a member at its new address."""
    cluster, policy = balanced('az1')
    action = recovery(cluster)
    before = in_pool(cluster, policy)

    assert action.do_recover() == (action.RES_OK, 'Node recovered successfully.')
    recovered = engine.node_of(cluster.nodes[0].id)
    assert 'recovery' not in recovered.data
    assert in_pool(cluster, policy) == addresses(recovered) != before


def test_node_recovered_with_its_cluster_without_worker_fails(monkeypatch):
    """The recovery of a node fails if its policies cannot be checked."""
    cluster, _ = balanced('az1')
    action = recovery(cluster)

    def fail(*_):
        raise NoWorkerAnswered('No worker replied')

    monkeypatch.setattr(worker_client, 'call', fail)

    reason = "Policy check: Failed policy 'lb': No worker replied"
    assert action.do_recover() == (action.RES_ERROR, reason)


def test_nodes_that_cannot_be_added_have_the_status_in_the_database():
    """A node that cannot become a pool member has the failure in its status."""
    cluster, policy = balanced('az1')
    profile = engine.add_profile()
    addressless = engine.add_node(cluster, profile, {'zone': 'az1'}, status=consts.NS_INIT)
    action = engine.add_action(cluster, consts.CLUSTER_ADD_NODES, nodes=[addressless.id])
    action.data['creation'] = {'nodes': [addressless.id]}

    data = engine.checked(action, 'AFTER')

    assert data['status'] == 'ERROR'
    failed = (
        "Failed policy 'lb': Failed in adding nodes into lb pool: "
        f"['{addressless.id}'] ({addressless.id}: The node has no"
    )
    assert data['reason'].startswith(failed)
    marked, text = engine.node_of(addressless.id), 'Failed in adding node into lb pool.'
    assert (marked.status, marked.status_reason) == ('WARNING', text)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_binding_data_of_the_worker_work_without_the_plugin(by_itself):
    """Senlin by itself can detach a policy that the worker has attached."""
    cluster, policy = balanced('az1', 'az1')
    lb_id = engine.data_of(cluster, policy)[STORED]['data']['loadbalancer']

    with by_itself():
        cluster = loaded(cluster)
        cluster.detach_policy(engine.context(), policy.id)

    assert lb_id not in cloud.load_balancers()
    assert [member_of(node) for node in cluster.nodes] == [None, None]
