"""The harness holds what it promises to the other tests of this folder."""

import pytest
from openstack.connection import Connection
from openstack.exceptions import ServiceDisabledException

from tests.integration.cloud import Cloud
from tests.integration.service import matching

WAIT_S = 60


def zones(connection: Connection) -> dict[str, bool]:
    return {zone.name: zone.state['available'] for zone in connection.compute.availability_zones()}


def test_each_region_has_zones_of_its_own(openstack: Cloud) -> None:
    assert zones(openstack.connect('demo')) == {'az1': True, 'az2': True, 'az3': True}
    assert zones(openstack.connect('demo', region='RegionTwo')) == {'az1': True, 'az4': True}


def test_a_region_without_nova_is_known_all_the_same(openstack: Cloud) -> None:
    connection = openstack.connect('demo', region='RegionThree')

    assert {region.id for region in connection.identity.regions()} == {
        'RegionOne',
        'RegionThree',
        'RegionTwo',
    }
    with pytest.raises(ServiceDisabledException):
        connection.compute.get('/os-availability-zone')


def test_a_zone_can_be_made_unavailable_in_one_region_alone(openstack: Cloud) -> None:
    with openstack.zone_unavailable('az1'):
        assert zones(openstack.connect('demo')) == {'az1': False, 'az2': True, 'az3': True}
        assert zones(openstack.connect('demo', region='RegionTwo')) == {'az1': True, 'az4': True}

    assert zones(openstack.connect('demo'))['az1']


def test_servers_have_addresses_on_the_networks_asked_for(openstack: Cloud) -> None:
    made = openstack.add_servers(2, 'RegionTwo', networks=['other', 'private'])

    servers = [
        openstack.connect('demo', region='RegionTwo').compute.get_server(server.id)
        for server in made
    ]

    assert [server.availability_zone for server in servers] == ['az1', 'az4']
    for server, asked in zip(servers, made, strict=True):
        assert list(server.addresses) == ['other', 'private']
        cards = server.addresses.values()
        assert [address['addr'] for card in cards for address in card] == list(asked.addresses)
    assert [address['version'] for address in servers[0].addresses['private']] == [6, 4]


def test_a_user_sees_no_server_of_another(openstack: Cloud) -> None:
    [server] = openstack.add_servers(1, user='other')

    assert server.id in {seen.id for seen in openstack.connect('other').compute.servers()}
    assert server.id not in {seen.id for seen in openstack.connect('demo').compute.servers()}


def test_servers_are_made_by_the_hundred(openstack: Cloud) -> None:
    made = {server.id for server in openstack.add_servers(100)}

    assert len(made) == 100
    assert made <= {
        server.id for server in openstack.connect('demo').compute.servers(details=False)
    }


def test_who_is_trusted_lists_zones_and_keeps_load_balancers_as_the_one_who_trusts(
    openstack: Cloud,
) -> None:
    trusted = openstack.connect_by_trust(openstack.make_trust('demo'))

    made = trusted.load_balancer.create_load_balancer(
        name='of-a-trust', vip_subnet_id=openstack.subnets['private-subnet']
    )
    trusted.load_balancer.wait_for_load_balancer(made.id, wait=WAIT_S)
    assert zones(trusted) == {'az1': True, 'az2': True, 'az3': True}
    assert made.project_id == openstack.session('demo').get_project_id()

    trusted.load_balancer.delete_load_balancer(made.id, cascade=True)
    trusted.load_balancer.wait_for_delete(made, wait=WAIT_S)


def test_the_service_user_by_itself_reads_and_makes_nothing(openstack: Cloud) -> None:
    connection = openstack.connect('placement-worker', project='service')

    assert zones(connection) == {'az1': True, 'az2': True, 'az3': True}
    wanted = {'loadbalancer': {'vip_subnet_id': openstack.subnets['private-subnet']}}
    assert connection.load_balancer.post('/lbaas/loadbalancers', json=wanted).status_code == 403


def test_a_load_balancer_needs_a_region_that_has_octavia(openstack: Cloud) -> None:
    with pytest.raises(ServiceDisabledException):
        openstack.connect('demo', region='RegionTwo').load_balancer.get('/lbaas/loadbalancers')


def test_a_service_counts_the_requests_that_reach_it(openstack: Cloud) -> None:
    connection = openstack.connect('demo')
    connection.compute.get('/os-availability-zone')

    with openstack.nova('RegionOne').watch() as one, openstack.nova('RegionTwo').watch() as two:
        connection.compute.get('/os-availability-zone')
        connection.compute.get('/os-availability-zone?detail=no')

    assert [request.target for request in matching(one, 'GET', '/os-availability-zone')] == [
        '/v2.1/os-availability-zone',
        '/v2.1/os-availability-zone?detail=no',
    ]
    assert two == []
