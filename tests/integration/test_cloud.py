"""The guarantees that the test cloud gives to the other tests of this folder."""

import pytest
from openstack.connection import Connection
from openstack.exceptions import ServiceDisabledException

from tests.integration.cloud import Cloud
from tests.integration.service import matching

WAIT_S = 60


def zones(connection: Connection) -> dict[str, bool]:
    return {zone.name: zone.state['available'] for zone in connection.compute.availability_zones()}


def test_zones_of_regions_are_separate(openstack: Cloud) -> None:
    """Each region has its own availability zones."""
    assert zones(openstack.connect('demo')) == {'az1': True, 'az2': True, 'az3': True}
    assert zones(openstack.connect('demo', region='RegionTwo')) == {'az1': True, 'az4': True}


def test_region_without_nova_is_listed_by_keystone(openstack: Cloud) -> None:
    """Keystone lists a region that has no compute endpoint."""
    connection = openstack.connect('demo', region='RegionThree')

    assert {region.id for region in connection.identity.regions()} == {
        'RegionOne',
        'RegionThree',
        'RegionTwo',
    }
    with pytest.raises(ServiceDisabledException):
        connection.compute.get('/os-availability-zone')


def test_zone_unavailable_affects_one_region(openstack: Cloud) -> None:
    """A zone can be disabled in one region without an effect on the others."""
    with openstack.zone_unavailable('az1'):
        assert zones(openstack.connect('demo')) == {'az1': False, 'az2': True, 'az3': True}
        assert zones(openstack.connect('demo', region='RegionTwo')) == {'az1': True, 'az4': True}

    assert zones(openstack.connect('demo'))['az1']


def test_add_servers_assigns_addresses_of_networks(openstack: Cloud) -> None:
    """Servers have addresses in all requested networks, in their order."""
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


def test_servers_of_other_user_are_hidden(openstack: Cloud) -> None:
    """A user cannot list the servers of another project."""
    [server] = openstack.add_servers(1, user='other')

    assert server.id in {seen.id for seen in openstack.connect('other').compute.servers()}
    assert server.id not in {seen.id for seen in openstack.connect('demo').compute.servers()}


def test_add_servers_creates_hundreds(openstack: Cloud) -> None:
    """One call creates a hundred servers that their owner can list."""
    made = {server.id for server in openstack.add_servers(100)}

    assert len(made) == 100
    assert made <= {
        server.id for server in openstack.connect('demo').compute.servers(details=False)
    }


def test_trust_grants_zones_and_load_balancers_of_owner(
    openstack: Cloud,
) -> None:
    """A trust lets the service user list zones and create load balancers for the owner."""
    trusted = openstack.connect_by_trust(openstack.make_trust('demo'))

    made = trusted.load_balancer.create_load_balancer(
        name='of-a-trust', vip_subnet_id=openstack.subnets['private-subnet']
    )
    trusted.load_balancer.wait_for_load_balancer(made.id, wait=WAIT_S)
    assert zones(trusted) == {'az1': True, 'az2': True, 'az3': True}
    assert made.project_id == openstack.session('demo').get_project_id()

    trusted.load_balancer.delete_load_balancer(made.id, cascade=True)
    trusted.load_balancer.wait_for_delete(made, wait=WAIT_S)


def test_service_user_without_trust_cannot_create(openstack: Cloud) -> None:
    """Without a trust, the service user can read zones but cannot create load balancers."""
    connection = openstack.connect('placement-worker', project='service')

    assert zones(connection) == {'az1': True, 'az2': True, 'az3': True}
    wanted = {'loadbalancer': {'vip_subnet_id': openstack.subnets['private-subnet']}}
    assert connection.load_balancer.post('/lbaas/loadbalancers', json=wanted).status_code == 403


def test_load_balancer_in_region_without_octavia_fails(openstack: Cloud) -> None:
    """Load balancers are unavailable in a region without Octavia."""
    with pytest.raises(ServiceDisabledException):
        openstack.connect('demo', region='RegionTwo').load_balancer.get('/lbaas/loadbalancers')


def test_watch_records_requests_of_one_service(openstack: Cloud) -> None:
    """The harness records the requests of each service separately."""
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
