"""Lookups that checks of one project share."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud import time_budget
from placement_worker.contract.model import Credentials
from placement_worker.errors import OutOfTime, ServiceFailed
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import connected, load_balancing_policy, request
from tests.unit.cloud.concurrency import MANY, WAIT_S, at_once, hold
from tests.unit.cloud.fake_services import (
    REGION_LIST,
    SERVERS,
    TOKENS,
    TRUST,
    ZONES,
    hang,
    respond,
    server,
)
from tests.waiting import wait_for


def test_regions_come_from_keystone(cloud):
    """The regions are those that Keystone lists."""
    assert cloud.regions() == {'RegionOne', 'RegionTwo'}


def test_concurrent_lookups_of_project_send_one_request(clouds, services):
    """Concurrent checks of a project share one token and one request."""
    opened = hold(services, ZONES)
    threading.Timer(0.5, opened.set).start()

    results = at_once(lambda: clouds.acting_for(TRUST, 'project-a').zones(None))

    assert results == [{'az1': True, 'az2': False}] * MANY
    assert services.count(TOKENS) == services.count(ZONES) == 1


def test_concurrent_lookups_of_project_share_failure(clouds, services):
    """Concurrent checks of a project share the failure of their request."""
    opened = hold(services, ZONES)
    services.fail(ZONES, *[respond(503)] * 4)
    threading.Timer(0.5, opened.set).start()

    results = at_once(lambda: clouds.acting_for(TRUST, 'project-a').zones(None))

    assert {str(one).partition(' in ')[0] for one in results} == {
        'Compute service unavailable after 4 attempts'
    }
    assert services.count(ZONES) == 4


@pytest.mark.parametrize('path', [TOKENS, ZONES])
def test_shared_lookup_out_of_time_is_repeated_by_others(clouds, services, path):
    """A check with little time left does not fail the checks that wait for its lookup."""
    if path == ZONES:
        clouds.acting_for(TRUST, 'project-a')
    services.fail(path, hang)

    def zones(left_s):
        with time_budget.until(time.monotonic() + left_s):
            return clouds.acting_for(TRUST, 'project-a').zones(None)

    def hurried_zones():
        while True:
            try:
                return zones(0.5)
            except OutOfTime:  # on a busy machine perhaps before the request
                if services.count(path):
                    raise

    with ThreadPoolExecutor() as threads:
        hurried = threads.submit(hurried_zones)
        wait_for(lambda: services.count(path))
        waiting = [threads.submit(zones, WAIT_S) for _ in range(3)]

        assert [one.result(WAIT_S) for one in waiting] == [{'az1': True, 'az2': False}] * 3
        with pytest.raises(OutOfTime, match='unavailable after 1 attempt'):
            hurried.result(WAIT_S)


def test_lookups_of_other_project_or_region_are_not_shared(clouds, services):
    """Lookups of different projects or regions send separate requests."""
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


def test_shared_listing_without_wanted_servers_is_repeated(clouds, services):
    """A check lists servers again if the shared listing lacks some of its servers."""
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
        wait_for(lambda: services.count(SERVERS))
        other = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1', 's4'])
        same = threads.submit(clouds.acting_for(TRUST, 'project-a').servers, None, ['s1'])
        threading.Timer(0.3, opened.set).start()

        assert first.result(WAIT_S).keys() == same.result(WAIT_S).keys() == {'s1'}
        assert other.result(WAIT_S).keys() == {'s1', 's4'}
    assert services.count(SERVERS) == 1 + 3


def test_zones_and_regions_are_cached_if_configured(make_clouds, services):
    """Zones and regions are cached for the configured time, and servers are not."""
    clouds = make_clouds(validity_ttl_s=60)
    services.servers = [server('s1')]
    for _ in range(2):
        cloud = clouds.acting_for(TRUST, 'project-a')
        cloud.zones(None)
        cloud.regions()
        cloud.servers(None, ['s1'])

    assert (services.count(ZONES), services.count(REGION_LIST), services.count(SERVERS)) == (
        1,
        1,
        2,
    )


def test_lookups_are_not_cached_by_default_and_failures_never(make_clouds, clouds, services):
    """By default nothing is cached, and a failure is never cached."""
    for _ in range(2):
        clouds.acting_for(TRUST, 'project-a').zones(None)
    assert services.count(ZONES) == 2
    keeping = make_clouds(validity_ttl_s=60).acting_for(TRUST, 'project-a')
    services.fail(ZONES, respond(403))

    with pytest.raises(ServiceFailed):
        keeping.zones(None)

    assert keeping.zones(None)


def test_lookups_of_check_share_one_time_budget(make_clouds, services):
    """A lookup after the time budget of its check is spent sends no request."""
    cloud = make_clouds(budget_s=1).acting_for(TRUST, 'project-a')
    services.fail(ZONES, hang)
    with pytest.raises(ServiceFailed, match='not respond in time'):
        cloud.zones(None)

    with pytest.raises(
        ServiceFailed, match='Identity service not called: no time left for lookups'
    ):
        cloud.regions()

    assert services.count('/regions') == 0


ELSEWHERE = {'n1': 'The node is in region RegionTwo, the load balancer in RegionOne'}


@pytest.mark.parametrize(
    ('configured', 'failed'), [(None, ELSEWHERE), ('RegionOne', ELSEWHERE), ('RegionTwo', {})]
)
def test_member_in_other_region_fails_with_and_without_configured_region(
    make_clouds, services, configured, failed
):
    """A node in another region than the load balancer is not added as a member."""
    services.networks = [{'id': 'net1', 'name': 'private'}]
    services.subnets = [
        {'id': 'sub1', 'name': 'private-subnet', 'network_id': 'net1', 'ip_version': 4}
    ]
    services.fail(
        '/lbaas/pools/p1', respond(200, {'pool': {'id': 'p1', 'provisioning_status': 'ACTIVE'}})
    )
    one = connected(1, data={'placement': {'region_name': 'RegionTwo'}})
    stored = {'loadbalancer': 'lb1', 'listener': None, 'pool': 'p1', 'healthmonitor': None}
    data = {'LoadBalancingPolicy': {'version': 1.1, 'data': stored}}
    asked = request(
        'NODE_CREATE',
        [load_balancing_policy(data=data)],
        [one],
        node=one,
        target='AFTER',
        dry_run=True,
    )
    asked['credentials'] = {'trust_id': 'trust-a'}
    asked['cluster']['project'] = 'project-a'

    reply = Endpoints(make_clouds(region=configured), Registry.installed()).policy_check(asked)

    assert reply['decisions'][0]['details']['failed'] == failed


def test_octavia_in_region_without_endpoint_fails(clouds):
    """A region without a load-balancer endpoint is named in the error."""
    with pytest.raises(ServiceFailed, match='no load-balancer service in region Nowhere'):
        clouds.acting_for(TRUST, 'project-a').octavia('Nowhere')
