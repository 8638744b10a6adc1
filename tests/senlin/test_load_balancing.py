"""The load balancing policy in Senlin, with the embedded cloud of the worker."""

import pytest
from senlin.common import consts
from senlin.engine.cluster import Cluster

from placement_worker.engines.senlin import worker_client
from placement_worker.errors import NoWorkerAnswered
from tests.senlin import cloud, engine
from tests.senlin.specs import deletion, load_balancing

pytestmark = pytest.mark.usefixtures('worker')
STORED = 'LoadBalancingPolicy'


def balanced(*zones, **sizes):
    """Create a cluster with a load balancer of its own; return it with the policy."""
    cluster = engine.add_cluster(*zones, **sizes)
    policy = engine.bound(cluster, ('lb', load_balancing()))['lb']
    return loaded(cluster), policy


def load_balancer_of(cluster, policy):
    return engine.data_of(cluster, policy)[STORED]['data']['loadbalancer']


def loaded(cluster):
    return Cluster.load(engine.context(), cluster.id)


def member_of(node):
    return engine.node_of(node.id).data.get('lb_member')


def in_pool(cluster, policy):
    return cloud.members(engine.data_of(cluster, policy)[STORED]['data']['pool'])


def addresses(*nodes):
    return sorted(cloud.address(node.physical_id) for node in nodes)


def added(cluster):
    """Add a node that the engine has created."""
    return engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'})


def test_attach_creates_a_load_balancer_with_all_nodes():
    """Attaching creates a load balancer with all nodes, and stores its ids in the database."""
    cluster, policy = balanced('az1', 'az2')

    stored = engine.data_of(cluster, policy)[STORED]
    assert {'loadbalancer', 'listener', 'pool'} <= stored['data'].keys()
    assert stored['data']['loadbalancer'] in cloud.load_balancers()
    assert cluster.data['loadbalancers'][policy.id]['vip_address']
    assert all(member_of(node) for node in cluster.nodes)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_detach_deletes_the_load_balancer_and_its_data():
    """Detaching deletes the load balancer and all data of it."""
    cluster, policy = balanced('az1', 'az2')
    lb_id = load_balancer_of(cluster, policy)

    done, reason = cluster.detach_policy(engine.context(), policy.id)
    cluster.store(engine.context())

    assert (done, reason) == (True, 'Policy detached.')
    assert lb_id not in cloud.load_balancers()
    assert 'loadbalancers' not in loaded(cluster).data
    assert [member_of(node) for node in cluster.nodes] == [None, None]


def test_failed_attach_binds_no_policy_and_leaves_no_load_balancer():
    """A policy that cannot be attached is not bound and leaves no load balancer behind."""
    cluster = engine.add_cluster('az1')
    before = cloud.load_balancers()
    spec = load_balancing()
    spec['properties']['pool']['subnet'] = 'nowhere'

    _, done, reason = engine.attach(cluster, 'lb', spec)

    expected = "Failed policy 'lb': Subnet nowhere of `pool.subnet` does not exist in the cloud."
    assert (done, reason) == (False, expected)
    assert cloud.load_balancers() == before
    assert loaded(cluster).policies == []


def test_scale_out_adds_new_nodes_to_the_pool():
    """New nodes become pool members after a scale out."""
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=2, action_result='OK')
    new = [added(cluster), added(cluster)]
    action.data['creation'] = {'count': 2, 'nodes': [node.id for node in new]}

    data = engine.checked(action, 'AFTER')

    assert data['status'] == 'OK'
    assert all(member_of(node) for node in new)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes, *new)


def test_failed_action_adds_no_node_to_the_pool():
    """A failed action adds no pool member."""
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=1, action_result='ERROR')
    action.data['creation'] = {'count': 1, 'nodes': [added(cluster).id]}

    engine.checked(action, 'AFTER')

    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_scale_in_removes_members_before_their_nodes_are_deleted():
    """The members of the victims are removed before the nodes are deleted."""
    cluster, policy = balanced('az1', 'az1', 'az1')
    engine.bound(loaded(cluster), ('victims', deletion(criteria='OLDEST_FIRST')))
    oldest, *others = cluster.nodes

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    assert data['deletion']['candidates'] == [oldest.id]
    assert member_of(oldest) is None
    assert in_pool(cluster, policy) == addresses(*others)


def test_node_delete_removes_its_member():
    """The member of a single node is removed before the node is deleted."""
    cluster, policy = balanced('az1', 'az1')
    leaving, staying = cluster.nodes

    engine.check(leaving, consts.NODE_DELETE)

    assert in_pool(cluster, policy) == addresses(staying)


def test_node_create_adds_its_member():
    """A single new node becomes a pool member."""
    cluster, policy = balanced('az1')
    node = added(cluster)

    engine.check(node, consts.NODE_CREATE, 'AFTER')

    assert in_pool(cluster, policy) == addresses(*cluster.nodes, node)


def test_replace_nodes_exchanges_their_members():
    """The successor of a replaced node takes its place in the pool."""
    cluster, policy = balanced('az1', 'az1')
    old, staying = cluster.nodes
    new = added(cluster)
    action = engine.add_action(cluster, consts.CLUSTER_REPLACE_NODES, candidates={old.id: new.id})

    engine.checked(action, 'BEFORE')
    between = in_pool(cluster, policy)
    engine.checked(action, 'AFTER')

    assert between == addresses(staying)
    assert in_pool(cluster, policy) == addresses(staying, new)


def test_recovered_node_has_its_new_address_in_the_pool():
    """A node that is recreated becomes a pool member at its new address."""
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster.nodes[0], consts.NODE_RECOVER, operation='RECREATE')
    before = in_pool(cluster, policy)

    assert action.entity.do_recover(engine.context(), action)
    engine.checked(action, 'AFTER')

    recovered = engine.node_of(cluster.nodes[0].id)
    assert 'recovery' not in recovered.data
    assert in_pool(cluster, policy) == addresses(recovered) != before


def test_node_recovered_with_its_cluster_has_its_new_address_in_the_pool():
    """A node that is recreated because its cluster recovers becomes a member at its new address."""
    cluster, policy = balanced('az1')
    [node] = cluster.nodes
    action = engine.add_action(node, consts.NODE_RECOVER, consts.CAUSE_DERIVED, operation=None)
    before = in_pool(cluster, policy)

    assert action.do_recover() == (action.RES_OK, 'Node recovered successfully.')

    recovered = engine.node_of(node.id)
    assert 'recovery' not in recovered.data
    assert in_pool(cluster, policy) == addresses(recovered) != before


def test_node_recovered_with_its_cluster_without_worker_fails(monkeypatch):
    """The recovery of a node fails if its policies cannot be checked."""
    cluster, _ = balanced('az1')
    [node] = cluster.nodes
    action = engine.add_action(node, consts.NODE_RECOVER, consts.CAUSE_DERIVED, operation=None)

    def fail(*_):
        raise NoWorkerAnswered('No worker replied')

    monkeypatch.setattr(worker_client, 'call', fail)
    result, reason = action.do_recover()

    assert result == action.RES_ERROR
    assert reason == "Policy check: Failed policy 'lb': No worker replied"


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
    lb_id = load_balancer_of(cluster, policy)

    with by_itself():
        cluster = loaded(cluster)
        cluster.detach_policy(engine.context(), policy.id)

    assert lb_id not in cloud.load_balancers()
    assert [member_of(node) for node in cluster.nodes] == [None, None]


def test_binding_data_of_senlin_work_with_the_plugin(by_itself):
    """The worker can detach a policy that Senlin by itself has attached."""
    with by_itself():
        cluster, policy = balanced('az1', 'az1')

    before = [member_of(node) for node in cluster.nodes]
    lb_id = load_balancer_of(cluster, policy)
    made = cloud.load_balancers()[lb_id]
    cluster = loaded(cluster)
    done, reason = cluster.detach_policy(engine.context(), policy.id)

    assert None not in before
    assert made == 'senlin-lb-web'
    assert (done, reason) == (True, 'Policy detached.')
    assert lb_id not in cloud.load_balancers()
    assert [member_of(node) for node in cluster.nodes] == [None, None]
