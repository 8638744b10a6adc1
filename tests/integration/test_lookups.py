"""What a worker asks of real Keystone and Nova, how often, and what it makes of the answers."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.errors import InvalidSpec
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import deletion_policy, region_policy, request, zone_policy
from tests.integration import faults, trusts
from tests.integration.checks import (
    REGIONS,
    SERVERS,
    TOKENS,
    ZONES,
    ZONES_ONE,
    decided,
    ours,
    refused,
    scale_out,
)
from tests.integration.cloud import Cloud
from tests.integration.proxy import Proxy

Make = Callable[..., Endpoints]
Trust = Callable[..., str]
Put = Callable[..., Proxy]
MANY = 50
WAIT_S = 60
GRACE_S = 1
BOTH = [region_policy('RegionOne', 'RegionTwo'), zone_policy('az1', 'az2', 'az3', 'az4')]


def test_a_zone_that_is_disabled_gets_nothing_until_it_is_back(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    endpoints, asked = make_endpoints(), scale_out(openstack, trust())

    before = decided(endpoints.policy_check(asked))
    with openstack.zone_unavailable('az2'):
        during = decided(endpoints.policy_check(asked))
    after = decided(endpoints.policy_check(asked))

    assert before['creation']['zones'] == {'az1': 2, 'az2': 2, 'az3': 2}
    assert during['creation']['zones'] == {'az1': 3, 'az3': 3}
    assert after == before


def test_regions_are_planned_first_and_then_the_zones_of_each_ones_own_nova(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    asked = scale_out(openstack, trust(), BOTH, count=10)
    with openstack.nova('RegionOne').watch() as one, openstack.nova('RegionTwo').watch() as two:
        data = decided(make_endpoints().policy_check(asked))

    assert data['creation']['regions'] == {'RegionOne': 5, 'RegionTwo': 5}
    assert [
        (place['region_name'], place['zone'], place['count'])
        for place in data['creation']['places']
    ] == [
        ('RegionOne', 'az1', 2),
        ('RegionOne', 'az2', 2),
        ('RegionOne', 'az3', 1),
        ('RegionTwo', 'az1', 3),
        ('RegionTwo', 'az4', 2),
    ]
    assert len(data['placement']['placements']) == 10
    assert (len(ours(one, ZONES)), len(ours(two, ZONES))) == (1, 1)


def test_a_zone_that_is_disabled_in_one_region_stays_in_the_other(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    asked = scale_out(openstack, trust(), BOTH, count=10)

    with openstack.zone_unavailable('az1', 'RegionTwo'):
        places = decided(make_endpoints().policy_check(asked))['creation']['places']

    assert {(place['region_name'], place['zone']): place['count'] for place in places} == {
        ('RegionOne', 'az1'): 2,
        ('RegionOne', 'az2'): 2,
        ('RegionOne', 'az3'): 1,
        ('RegionTwo', 'az4'): 5,
    }


def test_creation_in_a_region_that_keystone_knows_without_a_nova_goes_to_the_others(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    """A region without a Nova has no usable zone, so that the other regions take its share."""
    endpoints, trust_id = make_endpoints(), trust()
    policies = [region_policy('RegionThree', 'RegionTwo'), zone_policy('az1')]
    alone = [region_policy('RegionThree', 'Nowhere'), zone_policy('az1')]

    data = decided(endpoints.policy_check(scale_out(openstack, trust_id, policies)))
    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id, alone)))

    assert data['creation']['places'] == [{'region_name': 'RegionTwo', 'zone': 'az1', 'count': 6}]
    assert reason == 'No availability zone found available.'


def test_a_nova_that_is_away_fails_only_the_plans_that_need_it(
    openstack: Cloud, make_endpoints: Make, trust: Trust, proxy: Put
) -> None:
    proxy('compute', 'RegionTwo').inject(faults.reset, times=float('inf'))
    endpoints, trust_id = make_endpoints(max_attempts=2), trust()

    assert decided(endpoints.policy_check(scale_out(openstack, trust_id)))['creation']['count'] == 6
    assert (
        decided(endpoints.policy_check(scale_out(openstack, trust_id, BOTH[:1])))['creation'][
            'count'
        ]
        == 6
    )
    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id, BOTH)))

    assert reason.startswith('Compute service unavailable after 2 attempts in ')
    assert reason.endswith('(region RegionTwo)')


def test_the_zones_of_five_hundred_servers_cost_one_listing_a_page(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    members = trusts.as_nodes(openstack.add_servers(500))
    policies = [zone_policy(('az1', 200), 'az2', 'az3'), deletion_policy('OLDEST_FIRST')]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 100})
    asked['cluster']['project'] = trusts.project_of(openstack)
    asked['credentials'] = {'trust_id': trust()}
    existing = len(list(openstack.connect('demo').compute.servers(details=False)))

    with openstack.nova('RegionOne').watch() as nova:
        data = decided(make_endpoints().policy_check(asked))

    assert data['deletion']['zones'] == {'az2': 50, 'az3': 50}
    assert len(data['deletion']['candidates']) == 100
    assert len(ours(nova, SERVERS)) <= -(-existing // 1000)
    assert len(ours(nova)) == len(ours(nova, SERVERS)) + 1, 'never a request a node'


def test_fifty_checks_at_once_cost_one_token_one_look_at_the_zones_and_one_listing(
    openstack: Cloud, make_endpoints: Make, trust: Trust, proxy: Put
) -> None:
    nova, begun = proxy('compute'), threading.Semaphore(0)
    members = trusts.as_nodes(openstack.add_servers(30))
    asked = scale_out(openstack, trust(), members=members)
    released = {
        what: threading.Event() for what in (SERVERS, ZONES)
    }  # in the order in which they are asked
    for what, event in released.items():
        nova.inject(faults.held(event), target=what, times=float('inf'))

    def clock() -> float:
        begun.release()
        return 0.0

    endpoints = make_endpoints(clock=clock, lookup_budget_s=WAIT_S)
    with openstack.services['keystone'].watch() as keystone, ThreadPoolExecutor(MANY) as threads:
        replies = [threads.submit(endpoints.policy_check, asked) for _ in range(MANY)]
        for _ in range(2 * MANY):
            assert begun.acquire(
                timeout=WAIT_S
            )  # at the start of each check, and at that of its policy
        for event in released.values():
            threading.Event().wait(GRACE_S)  # the last ones are on their way to the look-up
            event.set()
        data = [decided(reply.result(WAIT_S)) for reply in replies]

    assert all(one == data[0] for one in data)
    assert ours(keystone) == ['GET /v3', 'POST /v3/auth/tokens']
    assert sorted(ours(nova.requests)) == [
        'GET /v2.1/os-availability-zone',
        'GET /v2.1/servers/detail?limit=1000',
    ]


def test_answers_that_are_kept_are_not_asked_for_again(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    endpoints, asked = make_endpoints(validity_ttl_s=600), scale_out(openstack, trust(), BOTH)
    services = (
        openstack.services['keystone'],
        openstack.nova('RegionOne'),
        openstack.nova('RegionTwo'),
    )
    with services[0].watch() as keystone, services[1].watch() as one, services[2].watch() as two:
        for _ in range(MANY):
            decided(endpoints.policy_check(asked))

    assert (len(ours(keystone, TOKENS)), len(ours(keystone, REGIONS))) == (1, 1)
    assert (len(ours(one)), len(ours(two))) == (1, 1)


def test_a_spec_is_validated_against_all_regions_naming_all_that_is_unknown(
    openstack: Cloud, make_endpoints: Make
) -> None:
    endpoints = make_endpoints()
    known, unknown = zone_policy(*ZONES_ONE, 'az4'), zone_policy('az1', 'az7', 'az8')

    assert endpoints.policy_validate({'spec': known['spec'], 'check_resources': True})
    with pytest.raises(InvalidSpec, match='no usable availability zone `az7`, `az8`'):
        endpoints.policy_validate({'spec': unknown['spec'], 'check_resources': True})
    with pytest.raises(InvalidSpec, match='no usable region `R8`, `R9`'):
        endpoints.policy_validate(
            {'spec': region_policy('R8', 'RegionTwo', 'R9')['spec'], 'check_resources': True}
        )
