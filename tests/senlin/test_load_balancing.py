"""The load-balancing policy in the real Senlin: attached, followed and detached, with the worker's
embedded cloud.
"""

import pytest
from senlin.common import consts
from senlin.engine.cluster import Cluster

from tests.senlin import cloud, engine
from tests.senlin.specs import deletion, load_balancing

pytestmark = pytest.mark.usefixtures('worker')
STORED = 'LoadBalancingPolicy'


def balanced(*zones, **sizes):
    """A cluster with a load balancer of its own, and the policy."""
    cluster = engine.add_cluster(*zones, **sizes)
    policy = engine.bound(cluster, ('lb', load_balancing()))['lb']
    return loaded(cluster), policy


def loaded(cluster):
    """The cluster as the database has it now."""
    return Cluster.load(engine.context(), cluster.id)


def member_of(node):
    return engine.node_of(node.id).data.get('lb_member')


def in_pool(cluster, policy):
    """The addresses in the pool that the binding names."""
    return cloud.members(engine.data_of(cluster, policy)[STORED]['data']['pool'])


def addresses(*nodes):
    return sorted(cloud.address(node.physical_id) for node in nodes)


def added(cluster):
    """A new node that the engine has created."""
    return engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'})


def test_attaching_makes_a_load_balancer_with_all_nodes_and_says_so_in_the_database():
    cluster, policy = balanced('az1', 'az2')

    stored = engine.data_of(cluster, policy)[STORED]
    assert {'loadbalancer', 'listener', 'pool'} <= stored['data'].keys()
    assert stored['data']['loadbalancer'] in cloud.load_balancers()
    assert cluster.data['loadbalancers'][policy.id]['vip_address']
    assert all(member_of(node) for node in cluster.nodes)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_detaching_leaves_nothing():
    cluster, policy = balanced('az1', 'az2')
    lb_id = engine.data_of(cluster, policy)[STORED]['data']['loadbalancer']

    done, reason = cluster.detach_policy(engine.context(), policy.id)
    cluster.store(engine.context())

    assert (done, reason) == (True, 'Policy detached.')
    assert lb_id not in cloud.load_balancers()
    assert 'loadbalancers' not in loaded(cluster).data
    assert [member_of(node) for node in cluster.nodes] == [None, None]


def test_a_policy_that_cannot_be_attached_is_not_bound_and_leaves_nothing():
    cluster = engine.add_cluster('az1')
    before = cloud.load_balancers()
    spec = load_balancing()
    spec['properties']['pool']['subnet'] = 'nowhere'

    _, done, reason = engine.attach(cluster, 'lb', spec)

    assert not done
    assert reason == "Failed policy 'lb': The cloud has no subnet nowhere, which the pool is of."
    assert cloud.load_balancers() == before
    assert loaded(cluster).policies == []


def test_new_nodes_join_the_pool_after_a_scale_out():
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=2, action_result='OK')
    new = [added(cluster), added(cluster)]
    action.data['creation'] = {'count': 2, 'nodes': [node.id for node in new]}

    data = engine.checked(action, 'AFTER')

    assert data['status'] == 'OK'
    assert all(member_of(node) for node in new)
    assert in_pool(cluster, policy) == addresses(*cluster.nodes, *new)


def test_no_node_joins_the_pool_after_an_action_that_failed():
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=1, action_result='ERROR')
    action.data['creation'] = {'count': 1, 'nodes': [added(cluster).id]}

    engine.checked(action, 'AFTER')

    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_nodes_leave_the_pool_before_they_die():
    cluster, policy = balanced('az1', 'az1', 'az1')
    engine.bound(loaded(cluster), ('victims', deletion(criteria='OLDEST_FIRST')))
    oldest, *others = cluster.nodes

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    assert data['deletion']['candidates'] == [oldest.id]
    assert member_of(oldest) is None
    assert in_pool(cluster, policy) == addresses(*others)


def test_where_nobody_chose_the_policy_chooses_as_many_as_the_user_asked_for():
    cluster, policy = balanced('az1', 'az1', 'az1')

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=2)

    victims = data['deletion']['candidates']
    left = [node for node in cluster.nodes if node.id not in victims]
    assert (len(victims), len(left)) == (2, 1)
    assert in_pool(cluster, policy) == addresses(*left)


def test_a_single_node_leaves_the_pool_before_it_is_deleted():
    cluster, policy = balanced('az1', 'az1')
    leaving, staying = cluster.nodes

    engine.check(leaving, consts.NODE_DELETE)

    assert in_pool(cluster, policy) == addresses(staying)


def test_a_single_node_joins_the_pool_after_it_is_created():
    cluster, policy = balanced('az1')
    node = added(cluster)

    engine.check(node, consts.NODE_CREATE, 'AFTER')

    assert in_pool(cluster, policy) == addresses(*cluster.nodes, node)


def test_one_node_takes_the_place_of_another():
    cluster, policy = balanced('az1', 'az1')
    old, staying = cluster.nodes
    new = added(cluster)
    action = engine.add_action(cluster, consts.CLUSTER_REPLACE_NODES, candidates={old.id: new.id})

    engine.checked(action, 'BEFORE')
    between = in_pool(cluster, policy)
    engine.checked(action, 'AFTER')

    assert between == addresses(staying)
    assert in_pool(cluster, policy) == addresses(staying, new)


def test_a_node_that_was_created_anew_has_its_new_address_in_the_pool():
    cluster, policy = balanced('az1')
    action = engine.add_action(cluster.nodes[0], consts.NODE_RECOVER, operation='RECREATE')
    before = in_pool(cluster, policy)

    assert action.entity.do_recover(engine.context(), action)
    engine.checked(action, 'AFTER')

    recovered = engine.node_of(cluster.nodes[0].id)
    assert 'recovery' not in recovered.data
    assert in_pool(cluster, policy) == addresses(recovered) != before


def test_nodes_that_cannot_join_the_pool_are_marked_in_the_database():
    cluster, policy = balanced('az1')
    profile = engine.add_profile()
    homeless = engine.add_node(cluster, profile, {'zone': 'az1'}, status=consts.NS_INIT)
    action = engine.add_action(cluster, consts.CLUSTER_ADD_NODES, nodes=[homeless.id])
    action.data['creation'] = {'nodes': [homeless.id]}

    data = engine.checked(action, 'AFTER')

    assert data['status'] == 'ERROR'
    failed = f"Failed policy 'lb': Failed in adding nodes into lb pool: ['{homeless.id}'] ({homeless.id}: The node has no"
    assert data['reason'].startswith(failed)
    marked = engine.node_of(homeless.id)
    assert (marked.status, marked.status_reason) == (
        'WARNING',
        'Failed in adding node into lb pool.',
    )
    assert in_pool(cluster, policy) == addresses(*cluster.nodes)


def test_a_node_in_error_that_cannot_join_the_pool_keeps_status_and_reason_in_the_database():
    """A node in ERROR stays in ERROR, with the reason that the engine gave and that of the
    worker.
    """
    cluster, _ = balanced('az1')
    homeless = engine.add_node(
        cluster, engine.add_profile(), {'zone': 'az1'}, status=consts.NS_INIT
    )
    homeless.set_status(engine.context(), consts.NS_ERROR, 'No valid host was found.')
    action = engine.add_action(cluster, consts.CLUSTER_ADD_NODES, nodes=[homeless.id])
    action.data['creation'] = {'nodes': [homeless.id]}

    engine.checked(action, 'AFTER')

    marked = engine.node_of(homeless.id)
    assert (marked.status, marked.status_reason) == (
        'ERROR',
        'No valid host was found. Failed in adding node into lb pool.',
    )


def test_what_the_worker_stored_is_understood_by_senlin_itself(by_itself):
    cluster, policy = balanced('az1', 'az1')
    lb_id = engine.data_of(cluster, policy)[STORED]['data']['loadbalancer']

    with by_itself():
        cluster = loaded(cluster)
        cluster.detach_policy(engine.context(), policy.id)

    assert lb_id not in cloud.load_balancers()
    assert [member_of(node) for node in cluster.nodes] == [None, None]


def test_what_senlin_stored_by_itself_is_understood_by_the_worker(by_itself):
    with by_itself():
        cluster, policy = balanced('az1', 'az1')

    before = [member_of(node) for node in cluster.nodes]
    lb_id = engine.data_of(cluster, policy)[STORED]['data']['loadbalancer']
    made = cloud.load_balancers()[lb_id]
    cluster = loaded(cluster)
    done, reason = cluster.detach_policy(engine.context(), policy.id)

    assert None not in before
    assert made == 'senlin-lb-web'
    assert (done, reason) == (True, 'Policy detached.')
    assert lb_id not in cloud.load_balancers()
    assert [member_of(node) for node in cluster.nodes] == [None, None]
