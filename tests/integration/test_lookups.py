"""Lookups in Keystone and Nova: their number, and the plans that follow."""

import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import pytest

from placement_worker.cloud.single_flight import SingleFlight
from placement_worker.errors import InvalidSpec
from tests.factories import region_policy, zone_policy
from tests.integration import faults, trusts
from tests.integration.checks import (
    REGIONS,
    SERVERS,
    TOKENS,
    ZONES,
    ZONES_ONE,
    decided,
    refused,
    scale_out,
    sent,
)
from tests.waiting import wait_for

MANY = 50
WAIT_S = 120
BOTH = [region_policy('RegionOne', 'RegionTwo'), zone_policy('az1', 'az2', 'az3', 'az4')]


def test_disabled_zone_gets_no_nodes(openstack, make_endpoints, trust):
    """A disabled zone gets no nodes until it is enabled again."""
    endpoints, asked = make_endpoints(), scale_out(openstack, trust())

    before = decided(endpoints.policy_check(asked))
    with openstack.zone_unavailable('az2'):
        during = decided(endpoints.policy_check(asked))
    after = decided(endpoints.policy_check(asked))

    assert before['creation']['zones'] == {'az1': 2, 'az2': 2, 'az3': 2}
    assert during['creation']['zones'] == {'az1': 3, 'az3': 3}
    assert after == before


def test_nodes_are_spread_over_regions_then_zones(openstack, make_endpoints, trust):
    """Nodes are spread over regions first, and then over the zones of each region."""
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
    assert (len(sent(one, ZONES)), len(sent(two, ZONES))) == (1, 1)


def test_disabled_zone_of_one_region_is_used_in_the_other(openstack, make_endpoints, trust):
    """A zone that is disabled in one region gets nodes in the other."""
    asked = scale_out(openstack, trust(), BOTH, count=10)

    with openstack.zone_unavailable('az1', 'RegionTwo'):
        places = decided(make_endpoints().policy_check(asked))['creation']['places']

    assert {(place['region_name'], place['zone']): place['count'] for place in places} == {
        ('RegionOne', 'az1'): 2,
        ('RegionOne', 'az2'): 2,
        ('RegionOne', 'az3'): 1,
        ('RegionTwo', 'az4'): 5,
    }


def test_region_without_nova_gets_no_nodes(openstack, make_endpoints, trust):
    """A region without a Nova has no usable zone, so the other regions take its share."""
    endpoints, trust_id = make_endpoints(), trust()
    policies = [region_policy('RegionThree', 'RegionTwo'), zone_policy('az1')]
    alone = [region_policy('RegionThree', 'Nowhere'), zone_policy('az1')]

    data = decided(endpoints.policy_check(scale_out(openstack, trust_id, policies)))
    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id, alone)))

    assert data['creation']['places'] == [{'region_name': 'RegionTwo', 'zone': 'az1', 'count': 6}]
    assert reason == 'No availability zone found available.'


def test_nova_unavailable_fails_only_checks_that_use_it(openstack, make_endpoints, trust, proxy):
    """An unavailable Nova fails only the checks that need its region."""
    proxy('compute', 'RegionTwo').inject(faults.reset, times=float('inf'))
    endpoints, trust_id = make_endpoints(max_attempts=2), trust()

    for policies in ([], BOTH[:1]):
        data = decided(endpoints.policy_check(scale_out(openstack, trust_id, policies)))
        assert data['creation']['count'] == 6
    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id, BOTH)))

    assert reason.startswith('Compute service unavailable after 2 attempts in ')
    assert reason.endswith('(region RegionTwo)')


def sharing():
    """Return the largest number of threads that share one lookup now."""
    keys: Counter[str] = Counter()
    for top in sys._current_frames().values():
        frame: FrameType | None = top
        while frame is not None:
            if frame.f_code is SingleFlight.do.__code__:
                keys[repr(frame.f_locals['key'])] += 1
            frame = frame.f_back
    return max(keys.values(), default=0)


def test_concurrent_checks_share_token_and_lookups(openstack, make_endpoints, trust, proxy):
    """Fifty concurrent checks share one token and one request per lookup."""
    nova = proxy('compute')
    members = trusts.as_nodes(openstack.add_servers(30))
    asked = scale_out(openstack, trust(), members=members)
    held = []
    for target in (SERVERS, ZONES):  # in the order of lookups
        released = threading.Event()
        rule = nova.inject(faults.held(released), target=target, times=float('inf'))
        held.append((rule, released))

    endpoints = make_endpoints(lookup_budget_s=WAIT_S)
    with openstack.services['keystone'].watch() as keystone, ThreadPoolExecutor(MANY) as threads:
        replies = [threads.submit(endpoints.policy_check, asked) for _ in range(MANY)]
        for rule, released in held:
            wait_for(lambda rule=rule: rule.hits and sharing() == MANY)
            released.set()
        data = [decided(reply.result(WAIT_S)) for reply in replies]

    assert all(decision == data[0] for decision in data)
    assert sent(keystone) == ['GET /v3', 'POST /v3/auth/tokens']
    assert sorted(sent(nova.requests)) == [
        'GET /v2.1/os-availability-zone',
        'GET /v2.1/servers/detail?limit=1000',
    ]


def test_cached_lookups_are_not_repeated(openstack, make_endpoints, trust):
    """Zones and regions are requested once within their cache time."""
    endpoints, asked = make_endpoints(validity_ttl_s=600), scale_out(openstack, trust(), BOTH)
    with openstack.lookups() as (keystone, one), openstack.nova('RegionTwo').watch() as two:
        for _ in range(MANY):
            decided(endpoints.policy_check(asked))

    assert (len(sent(keystone, TOKENS)), len(sent(keystone, REGIONS))) == (1, 1)
    assert (len(sent(one)), len(sent(two))) == (1, 1)


def test_validate_names_all_unknown_places(openstack, make_endpoints):
    """A spec is validated against all regions, and the error names all unknown places."""
    endpoints = make_endpoints()
    known, unknown = zone_policy(*ZONES_ONE, 'az4'), zone_policy('az1', 'az7', 'az8')

    assert endpoints.policy_validate({'spec': known['spec'], 'check_resources': True})
    with pytest.raises(InvalidSpec, match=r'no usable availability zone "az7".*, "az8"'):
        endpoints.policy_validate({'spec': unknown['spec'], 'check_resources': True})
    with pytest.raises(InvalidSpec, match='no usable region "R8", "R9"'):
        endpoints.policy_validate(
            {'spec': region_policy('R8', 'RegionTwo', 'R9')['spec'], 'check_resources': True}
        )
