"""Pools of Octavia follow clusters of servers in Nova."""

from tests.integration.clusters import lb_policy, remaining, updates
from tests.integration.service import matching


def test_load_balancer_follows_cluster_from_attach_to_detach(openstack, cluster):
    """A load balancer is created with few updates, follows the cluster and is deleted."""
    web = cluster(20)

    with openstack.services['octavia'].watch() as seen:
        attached = web.attach()

    assert attached['status'] == 'OK', attached['reason']
    made = remaining(openstack, web.name)
    assert {kind: len(objects) for kind, objects in made.items()} == {
        'loadbalancers': 1,
        'listeners': 1,
        'pools': 1,
        'healthmonitors': 1,
        'members': 20,
    }
    assert {part.provisioning_status for objects in made.values() for part in objects} == {'ACTIVE'}
    assert {member.id for member in made['members']} == {
        node['data']['lb_member'] for node in web.nodes
    }
    assert len(updates(seen)) <= 3
    assert (
        web.data['loadbalancers']['balance']['vip_address'] == made['loadbalancers'][0].vip_address
    )

    new = web.grow(50)
    with openstack.services['octavia'].watch() as seen:
        grown = web.added(new)

    assert grown['action']['data']['status'] == 'OK', grown['action']['data']['reason']
    assert len(remaining(openstack, web.name)['members']) == 70
    assert len(updates(seen)) == 1
    details = grown['decisions'][0]['details']
    assert (len(details['added']), details['updates'], details['failed']) == (50, 1, {})

    before = remaining(openstack, web.name)
    with openstack.services['octavia'].watch() as seen:
        planned = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 20}, dry_run=True)
    assert updates(seen) == []
    assert remaining(openstack, web.name) == before
    with openstack.services['octavia'].watch() as seen:
        shrunk = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 20})

    gone = shrunk['action']['data']['deletion']['candidates']
    assert planned['action']['data']['deletion']['candidates'] == gone
    assert planned['decisions'][0]['details']['updates'] == 1
    assert len(updates(seen)) <= 1
    staying = {node['data']['lb_member'] for node in web.nodes if node['id'] not in gone}
    assert {member.id for member in remaining(openstack, web.name)['members']} == staying
    assert len(staying) == 50

    web.remove(gone)
    detached = web.detach()

    assert detached['status'] == 'OK', detached['reason']
    assert not any(remaining(openstack, web.name).values())
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

    assert web.attach()['status'] == 'OK'
    assert len(list(octavia.members(pool.id))) == 5
    assert web.policy['data']['LoadBalancingPolicy']['data']['preexisting'] is True
    shrunk = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 2})
    assert shrunk['action']['data']['status'] == 'OK'
    web.remove(shrunk['action']['data']['deletion']['candidates'])
    assert len(list(octavia.members(pool.id))) == 3
    assert web.detach()['status'] == 'OK'

    [kept] = octavia.members(pool.id)
    assert (kept.id, kept.weight, kept.backup) == (foreign.id, 0, True)
    octavia.delete_load_balancer(balancer.id, cascade=True)


def test_floor_of_a_pool_without_a_monitor_spares_victims(openstack, cluster):
    """Octavia reports NO_MONITOR, which counts as online; one request reads all statuses."""
    web = cluster(4)
    web.policy = lb_policy('1.4', health_monitor=None, min_online='75%')
    assert web.attach()['status'] == 'OK'
    statuses = {member.operating_status for member in remaining(openstack, web.name)['members']}
    assert statuses == {'NO_MONITOR'}

    with openstack.services['octavia'].watch() as seen:
        planned = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 3}, dry_run=True)
    checked = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 3})

    assert len(matching(seen, 'GET', '/members')) == 1
    assert planned['action']['data'] == checked['action']['data']
    assert checked['action']['data']['deletion']['count'] == 1
    assert len(remaining(openstack, web.name)['members']) == 3
    assert web.detach()['status'] == 'OK'


def test_floor_of_a_pool_whose_members_are_offline_spares_no_victim(openstack, cluster):
    """Members that no health monitor has found healthy are OFFLINE, and may leave."""
    web = cluster(3)
    web.policy = lb_policy('1.4', min_online='100%')
    assert web.attach()['status'] == 'OK'
    statuses = {member.operating_status for member in remaining(openstack, web.name)['members']}
    assert statuses == {'OFFLINE'}

    checked = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 2})

    details = checked['decisions'][0]['details']
    assert (details['members'], details['online'], details['required_online']) == (3, 0, 3)
    assert checked['action']['data']['deletion']['count'] == 2
    assert len(remaining(openstack, web.name)['members']) == 1
    assert web.detach()['status'] == 'OK'
