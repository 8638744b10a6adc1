"""Pools of Octavia follow clusters of servers in Nova."""

import uuid

from placement_worker.cloud.ports import bound_request_id
from tests.integration.clusters import lb_policy, succeeded, updates
from tests.integration.service import matching


def test_load_balancer_follows_cluster_from_attach_to_detach(openstack, cluster):
    """A load balancer is created with few updates, follows the cluster and is deleted."""
    web = cluster(20)

    with openstack.services['octavia'].watch() as seen:
        succeeded(web.attach())

    made = web.remaining()
    assert web.counts() == [1, 1, 1, 1, 20]
    assert {part.provisioning_status for objects in made.values() for part in objects} == {'ACTIVE'}
    assert web.member_ids() == {node['data']['lb_member'] for node in web.nodes}
    assert len(updates(seen)) <= 3
    (vip_address,) = {balancer.vip_address for balancer in made['loadbalancers']}
    assert web.data['loadbalancers']['balance']['vip_address'] == vip_address

    new = web.grow(50)
    with openstack.services['octavia'].watch() as seen:
        grown = succeeded(web.added(new))

    assert len(web.member_ids()) == 70
    assert len(updates(seen)) == 1
    details = grown['decisions'][0]['details']
    assert (len(details['added']), details['updates'], details['failed']) == (50, 1, {})

    before = web.remaining()
    with openstack.services['octavia'].watch() as seen:
        planned = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 20}, dry_run=True)
    assert updates(seen) == []
    assert web.remaining() == before
    with openstack.services['octavia'].watch() as seen:
        shrunk = web.shrink(20)

    assert planned['action']['data']['deletion'] == shrunk['action']['data']['deletion']
    assert planned['decisions'][0]['details']['updates'] == 1
    assert len(updates(seen)) <= 1
    assert web.member_ids() == {node['data']['lb_member'] for node in web.nodes}
    assert len(web.nodes) == 50

    web.end()

    assert not any('lb_member' in node['data'] for node in web.nodes)
    assert (web.policy['data'], web.data) == ({}, {})


def test_existing_pool_keeps_foreign_members(openstack, cluster):
    """Attaching and detaching leaves other members of an existing pool unchanged."""
    octavia = openstack.connect('demo').load_balancer
    pools = [{'name': 'shared', 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}]
    balancer = octavia.create_load_balancer(
        name='shared-frontend', vip_subnet_id=openstack.subnets['private-subnet'], pools=pools
    )
    octavia.wait_for_load_balancer(balancer.id, wait=180)
    [pool] = octavia.pools(name='shared')
    foreign = octavia.create_member(
        pool.id, address='10.0.200.1', protocol_port=80, weight=0, backup=True
    )
    octavia.wait_for_load_balancer(balancer.id, wait=180)
    web = cluster(4)
    web.policy = lb_policy(
        loadbalancer='shared-frontend',
        pool={'id': pool.id, 'subnet': 'private-subnet'},
        health_monitor=None,
    )

    succeeded(web.attach())
    assert len(list(octavia.members(pool.id))) == 5
    assert web.policy['data']['LoadBalancingPolicy']['data']['preexisting'] is True
    web.shrink(2)
    assert len(list(octavia.members(pool.id))) == 3
    succeeded(web.detach())

    [kept] = octavia.members(pool.id)
    assert (kept.id, kept.weight, kept.backup) == (foreign.id, 0, True)
    octavia.delete_load_balancer(balancer.id, cascade=True)


def test_floor_of_a_pool_without_a_monitor_spares_victims(openstack, cluster):
    """Octavia reports NO_MONITOR, which counts as online; one request reads all statuses."""
    web = cluster(4)
    web.policy = lb_policy('1.4', health_monitor=None, min_online='75%')
    succeeded(web.attach())
    statuses = {member.operating_status for member in web.remaining()['members']}
    assert statuses == {'NO_MONITOR'}

    with openstack.services['octavia'].watch() as seen:
        planned = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 3}, dry_run=True)
    checked = web.shrink(3)

    assert len(matching(seen, 'GET', '/members')) == 1
    assert planned['action']['data'] == checked['action']['data']
    assert len(web.nodes) == len(web.member_ids()) == 3
    web.end()


def test_floor_of_a_pool_whose_members_are_offline_spares_no_victim(cluster):
    """Members that no health monitor has found healthy are OFFLINE, and may leave."""
    web = cluster(3)
    web.policy = lb_policy('1.4', min_online='100%')
    succeeded(web.attach())
    statuses = {member.operating_status for member in web.remaining()['members']}
    assert statuses == {'OFFLINE'}

    details = web.shrink(2)['decisions'][0]['details']

    assert (details['members'], details['online'], details['required_online']) == (3, 0, 3)
    assert len(web.nodes) == len(web.member_ids()) == 1
    web.end()


def test_octavia_logs_the_request_id_of_the_caller(openstack, cluster):
    """The log of Octavia contains the request id of the caller."""
    web, request_id = cluster(1), f'req-{uuid.uuid4()}'

    with bound_request_id(request_id):
        succeeded(web.attach())

    assert request_id in openstack.log('octavia')
    web.end()
