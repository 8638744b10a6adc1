"""Lookups in Nova."""

from placement_worker.contract.model import Address, ServerDetails
from tests.unit.cloud.fake_services import SERVERS, respond, server


def test_zones_of_region_come_from_its_nova(cloud):
    """Each region has the zones that its own Nova lists."""
    assert cloud.zones(None) == cloud.zones('RegionOne') == {'az1': True, 'az2': False}
    assert cloud.zones('RegionTwo') == {'az3': True}


def test_servers_listing_ends_when_all_are_found(cloud, services):
    """Servers are listed page by page, and no page follows after all were found."""
    services.servers = [server(f's{i}', zone=f'az{i}') for i in range(9)]

    found = cloud.servers(None, ['s3', 's0'])

    assert found['s3'] == ServerDetails('az3', {'net': [Address('10.0.0.5', 4)]})
    assert found.keys() == {'s0', 's3'}
    assert services.count(SERVERS) == 2
    assert cloud.servers(None, ['s8', 'gone']).keys() == {'s8'}
    assert services.count(SERVERS) == 2 + 5
    assert not [path for _, path, _ in services.seen if path.endswith(('s0', 's3', 's8', 'gone'))]


def test_servers_without_ids_sends_no_request(cloud, services):
    """An empty lookup of servers sends no request."""
    assert cloud.servers(None, []) == {}
    assert services.count(SERVERS) == 0


def test_servers_listing_with_repeated_page_ends(cloud, services):
    """A listing ends if Nova returns the same page again."""
    page = {'servers': [server('s1')], 'servers_links': [{'rel': 'next'}]}
    services.fail(SERVERS, *[respond(200, page)] * 5)

    assert cloud.servers(None, ['s1', 's2']).keys() == {'s1'}
    assert services.count(SERVERS) == 2
