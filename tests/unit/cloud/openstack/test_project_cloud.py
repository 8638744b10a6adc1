"""The cloud of a project: credentials, endpoints, lookups, and those that checks share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.ports import Network, Subnet
from placement_worker.contract.model import Address, Credentials, ServerDetails
from placement_worker.errors import CredentialsRefused, InvalidInput, ServiceFailed
from tests.unit.cloud import fake_services
from tests.unit.cloud.fake_services import (
    MANY,
    REGION_LIST,
    SERVERS,
    TOKENS,
    TRUST,
    WAIT_S,
    ZONES,
    at_once,
    hang,
    hold,
    respond,
    server,
)
from tests.waiting import wait_for


@pytest.mark.parametrize('fault', [None, respond(503)])
def test_concurrent_lookups_of_project_send_one_request(clouds, services, fault):
    """Concurrent checks of a project share one token and one request, or its failure."""
    opened = hold(services, ZONES)
    services.fail(ZONES, *[fault] * 4 if fault else [])
    threading.Timer(2, opened.set).start()

    results = at_once(lambda: clouds.acting_for(TRUST, 'project-a').zones(None))

    assert services.count(TOKENS) == 1
    if fault:
        reasons = {str(one).partition(' in ')[0] for one in results}
        assert reasons == {'Compute service unavailable after 4 attempts'}
        assert services.count(ZONES) == 4
    else:
        assert results == [{'az1': True, 'az2': False}] * MANY
        assert services.count(ZONES) == 1


def test_lookups_of_other_project_or_region_are_not_shared(clouds, services):
    """Lookups of different projects or regions send separate requests."""
    opened = hold(services, ZONES)
    threading.Timer(0.5, opened.set).start()
    asking = [
        ('trust-a', 'project-a', None),
        ('trust-b', 'project-b', None),
        ('trust-a', 'project-a', 'RegionTwo'),
    ]

    def ask(asked):
        trust, project, region = asked
        return clouds.acting_for(Credentials(trust), project).zones(region)

    with ThreadPoolExecutor() as threads:
        list(threads.map(ask, asking))

    assert services.count(ZONES) == 3


def test_shared_lookup_refused_is_repeated_with_own_trust(clouds, services):
    """A check with a valid trust succeeds although the shared lookup was refused."""
    good, bad = (
        clouds.acting_for(Credentials(trust), 'project-a') for trust in ('trust-a2', 'trust-a')
    )
    del services.trusts['trust-a']
    opened = hold(services, ZONES)

    with ThreadPoolExecutor() as threads:
        refused = threads.submit(bad.zones, None)
        wait_for(lambda: services.count(ZONES))
        repeated = threads.submit(good.zones, None)
        threading.Timer(0.3, opened.set).start()

        assert repeated.result(WAIT_S) == {'az1': True, 'az2': False}
        with pytest.raises(ServiceFailed, match='the trust exists'):
            refused.result(WAIT_S)


SERVER_IDS = ('s2', 's3', 's4')


def test_shared_listing_without_wanted_servers_is_repeated(clouds, services):
    """A check lists servers again if the shared listing lacks some of its servers."""
    services.servers = [server('s1'), server('building', addresses=()), *map(server, SERVER_IDS)]
    opened = hold(services, SERVERS)

    with ThreadPoolExecutor() as threads:
        first = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1'])
        wait_for(lambda: services.count(SERVERS))
        other = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1', 's4'])
        same = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1'])
        threading.Timer(0.3, opened.set).start()

        assert first.result(WAIT_S).keys() == same.result(WAIT_S).keys() == {'s1'}
        assert other.result(WAIT_S).keys() == {'s1', 's4'}
    assert services.count(SERVERS) == 1 + 3


@pytest.mark.parametrize(
    ('options', 'counts'), [({}, [2, 2, 2]), ({'validity_ttl_s': 60}, [1, 1, 2])]
)
def test_zones_and_regions_are_cached_only_if_configured(make_clouds, services, options, counts):
    """Zones and regions are cached for the configured time; servers and failures never are."""
    clouds = make_clouds(**options)
    services.servers = [server('s1')]
    services.fail(ZONES, respond(403))
    with pytest.raises(ServiceFailed):
        clouds.acting_for(TRUST, 'project-a').zones(None)
    services.seen.clear()

    for _ in range(2):
        cloud = clouds.acting_for(TRUST, 'project-a')
        cloud.zones(None)
        cloud.regions()
        cloud.servers(None, ['s1'])

    assert [services.count(path) for path in (ZONES, REGION_LIST, SERVERS)] == counts


def test_lookups_of_check_share_one_time_budget(make_clouds, services):
    """A lookup after the time budget of its check is spent sends no request."""
    cloud = make_clouds(budget_s=3).acting_for(TRUST, 'project-a')
    services.fail(ZONES, hang)
    with pytest.raises(ServiceFailed, match='not respond in time'):
        cloud.zones(None)

    with pytest.raises(
        ServiceFailed, match='Identity service not called: no time left for lookups'
    ):
        cloud.regions()

    assert services.count('/regions') == 0


def test_octavia_in_region_without_endpoint_fails(clouds):
    """A region without a load-balancer endpoint is named in the error."""
    with pytest.raises(ServiceFailed, match='no load-balancer service in region Nowhere'):
        clouds.acting_for(TRUST, 'project-a').octavia('Nowhere')


def test_acting_for_without_trust_is_refused(clouds, services):
    """A request without a trust is refused, and nothing is sent."""
    with pytest.raises(
        CredentialsRefused,
        match=r'has no trust: set `credentials\.trust_id` to a trust from the owner',
    ):
        clouds.acting_for(Credentials(), 'project-a')

    assert services.seen == []


def test_acting_for_without_trust_if_allowed_uses_service_user(make_clouds, services):
    """If configured, the service user lists the servers of the cluster's project."""
    services.servers = [server('s1')]

    clouds = make_clouds(allow_service_credentials=True)

    assert clouds.acting_for(Credentials(), 'project-a').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000', 'all_tenants': '1', 'project_id': 'project-a'}
    assert clouds.acting_for(Credentials(), 'service').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000'}


@pytest.mark.parametrize('project', ['project-b', None])
def test_acting_for_with_trust_of_other_project_is_refused(clouds, services, project):
    """A trust of another project is refused, and the reason names both projects."""
    with pytest.raises(
        CredentialsRefused,
        match=f'trust belongs to project project-a, but the cluster belongs to project {project}:',
    ):
        clouds.acting_for(TRUST, project)

    assert [path for _, path, _ in services.seen] == ['/v3/auth/tokens']


def test_servers_listing_ends_when_all_are_found(cloud, services):
    """Servers are listed page by page, and no page follows after all were found."""
    services.servers = [server(f's{i}', zone=f'az{i}') for i in range(9)]

    found = cloud.servers(None, ['s3', 's0'])

    assert found['s3'] == ServerDetails('az3', {'net': [Address('10.0.0.5', 4, 'fixed')]})
    assert found.keys() == {'s0', 's3'}
    assert services.count(SERVERS) == 2
    assert cloud.servers(None, ['s8', 'gone']).keys() == {'s8'}
    assert services.count(SERVERS) == 2 + 5
    assert not [path for _, path, _ in services.seen if path.endswith(('s0', 's3', 's8', 'gone'))]


def test_servers_listing_with_repeated_page_ends(cloud, services):
    """A listing ends if Nova returns the same page again; an empty lookup sends no request."""
    assert cloud.servers(None, []) == {}
    page = {'servers': [server('s1')], 'servers_links': [{'rel': 'next'}]}
    services.fail(SERVERS, *[respond(200, page)] * 5)

    assert cloud.servers(None, ['s1', 's2']).keys() == {'s1'}
    assert services.count(SERVERS) == 2


NET_ID, SUBNET_ID = '11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'


@pytest.mark.parametrize('name_or_id', ['private-subnet', SUBNET_ID])
def test_subnet_is_found_by_name_and_by_id(cloud, services, name_or_id):
    """A lookup by name or id returns the subnet with its network, or None."""
    services.networks = [{'id': NET_ID, 'name': 'private'}]
    of_subnet = {'id': SUBNET_ID, 'name': 'private-subnet', 'ip_version': 6, 'cidr': 'fd00::/64'}
    services.subnets = [{**of_subnet, 'network_id': NET_ID}]

    assert cloud.subnet(None, name_or_id) == Subnet(**of_subnet, network=Network(NET_ID, 'private'))
    assert cloud.subnet(None, 'unknown') is None


def test_network_with_ambiguous_name_is_refused(cloud, services):
    """A name of several networks is refused, and an id is not ambiguous."""
    services.networks = [{'id': NET_ID, 'name': 'twin'}, {'id': SUBNET_ID, 'name': 'twin'}]

    with pytest.raises(
        InvalidInput, match=r'2 networks have the name `twin` \(region RegionOne\): use the id'
    ):
        cloud.network(None, 'twin')
    assert cloud.network(None, NET_ID) == Network(NET_ID, 'twin')


def test_acting_as_service_lists_zones_and_regions(clouds):
    """The service user can always look up zones, and the regions that Keystone lists."""
    cloud = clouds.acting_as_service()

    assert cloud.zones(None)['az1']
    assert cloud.regions() == {'RegionOne', 'RegionTwo'}


def test_endpoint_of_unknown_region_is_none(cloud, services):
    """A lookup in a region without an endpoint returns nothing and sends no request."""
    assert cloud.zones('Nowhere') == {}
    assert cloud.servers('Nowhere', ['s1']) == {}
    assert cloud.network('Nowhere', 'net') is None
    assert services.count(TOKENS) == len(services.seen)


def test_endpoint_of_unknown_configured_region_names_options(make_clouds):
    """An error about an unknown configured region names the options to check."""
    cloud = make_clouds(region='Nowhere').acting_for(TRUST, 'project-a')

    with pytest.raises(ServiceFailed) as failed:
        cloud.zones(None)

    assert str(failed.value) == (
        'The catalog has no public endpoint of compute in region Nowhere; check region_name and '
        'valid_interfaces in [service_auth], or region_name and interface in clouds.yaml; '
        'openstack catalog list shows the endpoints'
    )


def test_home_region_configured_needs_no_request(make_clouds, services):
    """The configured region is the home region, without a request for the catalog."""
    cloud = make_clouds(region='RegionTwo').acting_for(TRUST, 'project-a')
    services.seen.clear()

    assert cloud.home_region == cloud.load_balancer_region == 'RegionTwo'
    assert not services.seen


@pytest.mark.parametrize('regions', [('RegionOne', 'RegionTwo'), ('RegionTwo', 'RegionOne')])
def test_home_region_not_configured_is_first_of_catalog(make_clouds, monkeypatch, regions):
    """Without a configured region, load balancers use the first region of the catalog."""
    monkeypatch.setattr(fake_services, 'REGIONS', regions)
    cloud = make_clouds(region=None).acting_for(TRUST, 'project-a')

    assert cloud.home_region is None
    assert cloud.load_balancer_region == regions[0]
    assert cloud.zones(None) == cloud.zones(regions[0])


@pytest.mark.parametrize(
    ('there', 'wanted', 'found'),
    [('internal', ['admin', 'internal'], True), ('internal', ['public'], False)],
)
def test_endpoint_has_a_configured_interface(services, make_clouds, there, wanted, found):
    """Endpoints of other interfaces than the configured ones are ignored."""
    services.interfaces = (there,)

    cloud = make_clouds(interfaces=wanted).acting_for(TRUST, 'project-a')

    assert (cloud.zones('RegionTwo') == {'az3': True}) is found
