"""What OpenStack clouds tell, to whom, and with how many requests."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud import deadline
from placement_worker.cloud.ports import Network, Subnet
from placement_worker.contract.model import Address, Credentials, ServerDetails
from placement_worker.errors import CredentialsRefused, InvalidInput, OutOfTime, ServiceFailed
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import balancing_policy, connected, request
from tests.unit.cloud import fake_services
from tests.unit.cloud.fake_services import answer, hang, server

TRUST = Credentials('trust-a')
TOKENS, ZONES, REGIONS, SERVERS = (
    '/auth/tokens',
    '/os-availability-zone',
    '/v3/regions',
    '/servers/detail',
)
MANY = 20
WAIT_S = 60


@pytest.fixture
def cloud(clouds):
    return clouds.acting_for(TRUST, 'project-a')


def at_once(call):
    """What each of many threads gets from a call, or what it raises."""
    gate = threading.Barrier(MANY)

    def run(_):
        gate.wait(WAIT_S)
        try:
            return call()
        except ServiceFailed as exc:
            return exc

    with ThreadPoolExecutor(MANY) as threads:
        return list(threads.map(run, range(MANY)))


def hold(services, path):
    """Let nobody through to a path; returns what opens it."""
    opened = threading.Event()
    services.before = lambda method, asked: opened.wait(WAIT_S) if asked.endswith(path) else None
    return opened


def test_zones_are_those_of_the_nova_of_each_region(cloud):
    assert cloud.zones(None) == cloud.zones('RegionOne') == {'az1': True, 'az2': False}
    assert cloud.zones('RegionTwo') == {'az3': True}


def test_a_region_that_the_catalog_does_not_know_has_nothing(cloud, services):
    assert cloud.zones('Nowhere') == {}
    assert cloud.servers('Nowhere', ['s1']) == {}
    assert cloud.network('Nowhere', 'net') is None
    assert services.count(TOKENS) == len(services.seen)


def test_a_configured_region_that_the_catalog_does_not_know_is_a_fault_of_the_configuration(
    make_clouds,
):
    cloud = make_clouds(region='Nowhere').acting_for(TRUST, 'project-a')

    with pytest.raises(
        ServiceFailed, match='no public endpoint of compute in region Nowhere; check region_name'
    ):
        cloud.zones(None)


def test_home_region_configured_is_the_configured_one_without_a_request(make_clouds, services):
    """The home region of nodes comes from the configuration alone, so that placing them needs no
    catalog.
    """
    cloud = make_clouds(region='RegionTwo').acting_for(TRUST, 'project-a')
    services.seen.clear()

    assert cloud.home_region == cloud.load_balancer_region == 'RegionTwo'
    assert not services.seen


@pytest.mark.parametrize('regions', [('RegionOne', 'RegionTwo'), ('RegionTwo', 'RegionOne')])
def test_without_a_configured_region_load_balancers_are_where_the_catalog_leads_first(
    make_clouds, monkeypatch, regions
):
    monkeypatch.setattr(fake_services, 'REGIONS', regions)
    cloud = make_clouds(region=None).acting_for(TRUST, 'project-a')

    assert cloud.home_region is None
    assert cloud.load_balancer_region == regions[0]
    assert cloud.zones(None) == cloud.zones(regions[0])


ELSEWHERE = {'n1': 'The node is in region RegionTwo, the load balancer in RegionOne'}


@pytest.mark.parametrize(
    ('configured', 'failed'), [(None, ELSEWHERE), ('RegionOne', ELSEWHERE), ('RegionTwo', {})]
)
def test_a_node_of_another_region_is_no_member_whether_or_not_a_region_is_configured(
    make_clouds, services, configured, failed
):
    services.networks = [{'id': 'net1', 'name': 'private'}]
    services.subnets = [
        {'id': 'sub1', 'name': 'private-subnet', 'network_id': 'net1', 'ip_version': 4}
    ]
    services.fail(
        '/lbaas/pools/p1', answer(200, {'pool': {'id': 'p1', 'provisioning_status': 'ACTIVE'}})
    )
    one = connected(1, data={'placement': {'region_name': 'RegionTwo'}})
    stored = {'loadbalancer': 'lb1', 'listener': None, 'pool': 'p1', 'healthmonitor': None}
    data = {'LoadBalancingPolicy': {'version': 1.1, 'data': stored}}
    asked = request(
        'NODE_CREATE', [balancing_policy(data=data)], [one], node=one, target='AFTER', dry_run=True
    )
    asked['credentials'] = {'trust_id': 'trust-a'}
    asked['cluster']['project'] = 'project-a'

    reply = Endpoints(make_clouds(region=configured), Registry.installed()).policy_check(asked)

    assert reply['decisions'][0]['details']['failed'] == failed


@pytest.mark.parametrize(
    ('there', 'wanted', 'found'),
    [('internal', ['admin', 'internal'], True), ('internal', ['public'], False)],
)
def test_endpoints_are_those_of_the_wanted_interfaces(services, make_clouds, there, wanted, found):
    services.interfaces = (there,)

    cloud = make_clouds(interfaces=wanted).acting_for(TRUST, 'project-a')

    assert (cloud.zones('RegionTwo') == {'az3': True}) is found


def test_regions_are_those_that_keystone_lists(cloud):
    assert cloud.regions() == {'RegionOne', 'RegionTwo'}


def test_servers_are_listed_page_by_page_and_only_until_all_are_found(cloud, services):
    services.servers = [server(f's{i}', zone=f'az{i}') for i in range(9)]

    found = cloud.servers(None, ['s3', 's0'])

    assert found['s3'] == ServerDetails('az3', {'net': [Address('10.0.0.5', 4)]})
    assert found.keys() == {'s0', 's3'}
    assert services.count(SERVERS) == 2
    assert cloud.servers(None, ['s8', 'gone']).keys() == {'s8'}
    assert services.count(SERVERS) == 2 + 5
    assert not [path for _, path, _ in services.seen if path.endswith(('s0', 's3', 's8', 'gone'))]


def test_nothing_is_asked_about_no_servers(cloud, services):
    assert cloud.servers(None, []) == {}
    assert services.count(SERVERS) == 0


def test_a_listing_that_repeats_itself_ends(cloud, services):
    page = {'servers': [server('s1')], 'servers_links': [{'rel': 'next'}]}
    services.fail(SERVERS, *[answer(200, page)] * 5)

    assert cloud.servers(None, ['s1', 's2']).keys() == {'s1'}
    assert services.count(SERVERS) == 2


def test_without_a_trust_nothing_is_asked(clouds, services):
    with pytest.raises(
        CredentialsRefused,
        match=r'has no trust: set `credentials\.trust_id` to a trust from the owner',
    ):
        clouds.acting_for(Credentials(), 'project-a')

    assert services.seen == []


def test_the_service_user_may_be_allowed_to_stand_in_and_then_asks_for_the_servers_of_the_project(
    make_clouds, services
):
    services.servers = [server('s1')]

    clouds = make_clouds(allow_service_credentials=True)

    assert clouds.acting_for(Credentials(), 'project-a').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000', 'all_tenants': '1', 'project_id': 'project-a'}
    assert clouds.acting_for(Credentials(), 'service').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000'}


def test_public_names_are_looked_up_by_the_service_user_without_leave_to_stand_in(clouds):
    cloud = clouds.acting_as_service()

    assert cloud.zones(None)['az1']
    assert cloud.regions()


@pytest.mark.parametrize('project', ['project-b', None])
def test_a_trust_of_another_project_is_refused_naming_both_and_nothing_is_asked(
    clouds, services, project
):
    with pytest.raises(
        CredentialsRefused,
        match=f'trust belongs to project project-a, but the cluster belongs to project {project}:',
    ):
        clouds.acting_for(TRUST, project)

    assert [path for _, path, _ in services.seen] == ['/v3/auth/tokens']


def test_a_warm_check_costs_no_token(clouds, services):
    for _ in range(3):
        clouds.acting_for(TRUST, 'project-a').zones(None)

    assert services.count(TOKENS) == 1
    assert services.count(ZONES) == 3


def test_a_token_that_is_about_to_expire_is_replaced(clouds, services):
    services.lifetime_s = 30
    cloud = clouds.acting_for(TRUST, 'project-a')

    cloud.zones(None)

    assert services.count(TOKENS) > 1


def test_many_whose_token_is_refused_get_one_new_token(clouds, services):
    cloud = clouds.acting_for(TRUST, 'project-a')
    services.tokens.clear()

    answers = at_once(lambda: clouds.acting_for(TRUST, 'project-a').network(None, 'net'))

    assert answers == [None] * MANY
    assert services.count(TOKENS) == 2
    assert cloud.zones(None)


def test_a_new_token_is_not_thrown_away_by_who_was_refused_with_the_old_one(clouds, services):
    cloud = clouds.acting_for(TRUST, 'project-a')
    opened = hold(services, f'/nova-RegionOne{ZONES}')

    with ThreadPoolExecutor() as threads:
        held = threads.submit(cloud.zones, 'RegionOne')
        while services.count(ZONES) < 1:
            pass
        services.tokens.clear()
        assert clouds.acting_for(TRUST, 'project-a').zones('RegionTwo') == {'az3': True}
        opened.set()

        assert held.result(WAIT_S) == {'az1': True, 'az2': False}
    assert services.count(TOKENS) == 2


def test_a_trust_that_was_deleted_is_told_without_its_id(clouds, services):
    cloud = clouds.acting_for(TRUST, 'project-a')
    del services.trusts['trust-a']

    with pytest.raises(ServiceFailed) as failed:
        cloud.zones(None)

    assert 'Identity service refused the request: HTTP 404' in str(failed.value)
    assert 'check that the trust exists' in str(failed.value)
    assert 'trust-a' not in str(failed.value)
    assert services.count(TOKENS) == 2


def test_the_trusts_that_were_used_last_are_kept(make_clouds, services):
    clouds = make_clouds(max_sessions=2)
    for trust in ('trust-a', 'trust-b', 'trust-a', 'trust-a2', 'trust-a'):
        clouds.acting_for(Credentials(trust), services.trusts[trust]).zones(None)
    assert services.count(TOKENS) == 3

    clouds.acting_for(Credentials('trust-b'), 'project-b')

    assert services.count(TOKENS) == 4


def test_checks_of_one_project_share_what_they_ask_at_once(clouds, services):
    opened = hold(services, ZONES)
    threading.Timer(0.5, opened.set).start()

    answers = at_once(lambda: clouds.acting_for(TRUST, 'project-a').zones(None))

    assert answers == [{'az1': True, 'az2': False}] * MANY
    assert services.count(TOKENS) == services.count(ZONES) == 1


def test_checks_of_one_project_share_the_failure_of_what_they_ask_at_once(clouds, services):
    opened = hold(services, ZONES)
    services.fail(ZONES, *[answer(503)] * 4)
    threading.Timer(0.5, opened.set).start()

    answers = at_once(lambda: clouds.acting_for(TRUST, 'project-a').zones(None))

    assert {str(one).partition(' in ')[0] for one in answers} == {
        'Compute service unavailable after 4 attempts'
    }
    assert services.count(ZONES) == 4


@pytest.mark.parametrize('path', [TOKENS, ZONES])
def test_a_check_whose_time_is_nearly_up_does_not_fail_those_that_wait_for_its_answer(
    clouds, services, path
):
    if path == ZONES:
        clouds.acting_for(TRUST, 'project-a')
    services.fail(path, hang)

    def zones(left_s):
        with deadline.until(time.monotonic() + left_s):
            return clouds.acting_for(TRUST, 'project-a').zones(None)

    with ThreadPoolExecutor() as threads:
        hurried = threads.submit(zones, 0.5)
        while services.count(path) < 1:
            pass
        waiting = [threads.submit(zones, WAIT_S) for _ in range(3)]

        assert [one.result(WAIT_S) for one in waiting] == [{'az1': True, 'az2': False}] * 3
        with pytest.raises(OutOfTime, match='unavailable after 1 attempt'):
            hurried.result(WAIT_S)


def test_projects_and_regions_do_not_share(clouds, services):
    opened = hold(services, ZONES)
    threading.Timer(0.5, opened.set).start()
    asking = [
        ('trust-a', 'project-a', None),
        ('trust-b', 'project-b', None),
        ('trust-a', 'project-a', 'RegionTwo'),
    ]

    with ThreadPoolExecutor() as threads:
        list(
            threads.map(
                lambda one: clouds.acting_for(Credentials(one[0]), one[1]).zones(one[2]), asking
            )
        )

    assert services.count(ZONES) == 3


def test_whose_trust_is_good_does_not_share_the_refusal_of_another_one(clouds, services):
    good, bad = (
        clouds.acting_for(Credentials(trust), 'project-a') for trust in ('trust-a2', 'trust-a')
    )
    del services.trusts['trust-a']
    opened = hold(services, ZONES)

    with ThreadPoolExecutor() as threads:
        refused = threads.submit(bad.zones, None)
        while services.count(ZONES) < 1:
            pass
        answered = threads.submit(good.zones, None)
        threading.Timer(0.3, opened.set).start()

        assert answered.result(WAIT_S) == {'az1': True, 'az2': False}
        with pytest.raises(ServiceFailed, match='the trust exists'):
            refused.result(WAIT_S)


def test_a_shared_listing_that_lacks_our_servers_is_made_again(clouds, services):
    services.servers = [
        server('s1'),
        server('building', addresses=()),
        server('s2'),
        server('s3'),
        server('s4'),
    ]
    opened = hold(services, SERVERS)

    with ThreadPoolExecutor() as threads:
        first = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1'])
        while services.count(SERVERS) < 1:
            pass
        other = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1', 's4'])
        same = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1'])
        threading.Timer(0.3, opened.set).start()

        assert first.result(WAIT_S).keys() == same.result(WAIT_S).keys() == {'s1'}
        assert other.result(WAIT_S).keys() == {'s1', 's4'}
    assert services.count(SERVERS) == 1 + 3


def test_answers_about_zones_and_regions_are_kept_as_long_as_configured(make_clouds, services):
    clouds = make_clouds(validity_ttl_s=60)
    services.servers = [server('s1')]
    for _ in range(2):
        cloud = clouds.acting_for(TRUST, 'project-a')
        cloud.zones(None)
        cloud.regions()
        cloud.servers(None, ['s1'])

    assert (services.count(ZONES), services.count(REGIONS), services.count(SERVERS)) == (1, 1, 2)


def test_nothing_is_kept_by_default_and_a_failure_never(make_clouds, clouds, services):
    for _ in range(2):
        clouds.acting_for(TRUST, 'project-a').zones(None)
    assert services.count(ZONES) == 2
    keeping = make_clouds(validity_ttl_s=60).acting_for(TRUST, 'project-a')
    services.fail(ZONES, answer(403))

    with pytest.raises(ServiceFailed):
        keeping.zones(None)

    assert keeping.zones(None)


NET_ID, SUBNET_ID = '11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'


@pytest.mark.parametrize('name_or_id', ['private-subnet', SUBNET_ID])
def test_a_subnet_is_found_by_name_and_by_id_with_its_network(cloud, services, name_or_id):
    services.networks = [{'id': NET_ID, 'name': 'private'}]
    services.subnets = [
        {'id': SUBNET_ID, 'name': 'private-subnet', 'network_id': NET_ID, 'ip_version': 6}
    ]

    assert cloud.subnet(None, name_or_id) == Subnet(
        SUBNET_ID, 'private-subnet', Network(NET_ID, 'private'), 6
    )
    assert cloud.subnet(None, 'unknown') is None


def test_a_name_of_several_networks_is_told(cloud, services):
    services.networks = [{'id': NET_ID, 'name': 'twin'}, {'id': SUBNET_ID, 'name': 'twin'}]

    with pytest.raises(
        InvalidInput, match=r'2 networks have the name `twin` \(region RegionOne\): use the id'
    ):
        cloud.network(None, 'twin')
    assert cloud.network(None, NET_ID) == Network(NET_ID, 'twin')
