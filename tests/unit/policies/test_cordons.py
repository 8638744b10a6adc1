"""Checks of clusters under cordons."""

import datetime
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.decisions import replay
from placement_worker.decisions.records import DecisionLog, Entry
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.planning.places import Cordon, cordons_in_force
from placement_worker.policies.registry import Registry
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    redistributing,
    refused,
    region_policy,
    request,
    spreading,
    zone_policy,
)
from tests.unit.policies.strategies import members_in

ZONES, REGIONS = ('a', 'b', 'c'), ('R1', 'R2')
CLOUD = {
    'regions': {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': True, 'c': True}}},
    'home_region': 'R1',
}

REGISTRY = Registry.installed()

UNTIL = NOW + datetime.timedelta(days=1)


def cordon(**more):
    return Cordon(until=more.pop('until', UNTIL), **more)


def endpoints(cloud, *cordons, **more):
    """Return endpoints at NOW while these cordons are in the operator's file."""
    in_force = cordons_in_force(cordons, NOW)
    settings = WorkerSettings(now=lambda: NOW, cordons=lambda _: in_force, **more)
    return Endpoints(cloud, REGISTRY, settings)


def decide(asked, *cordons, cloud=CLOUD, **more):
    return endpoints(Inventory.parse(cloud, 'test'), *cordons, **more).policy_check(asked)


def scale_out(*policies, members=(), count=2, **more):
    return request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': count}, **more)


def scale_in(*policies, members, count, **more):
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': count}, **more)


NEW = 'NODE_CREATE'
NOTE = 'cordoned until 2026-01-02T12:00:00Z'
A, A_AND_B, R1_AND_R2 = zone_policy('a'), zone_policy('a', 'b'), region_policy('R1', 'R2')


def rows(reply, kind='zones'):
    return {row['name']: row for row in reply['decisions'][0]['details'][kind]}


IN_A, IN_B = {'zones': {'a': 2}}, {'zones': {'b': 2}}
IN_R2, IN_C = {'regions': {'R2': 2}}, {'places': [{'region_name': 'R2', 'zone': 'c', 'count': 2}]}
A_UNAVAILABLE, A_UNKNOWN = {'zones': {'a': False, 'b': True}}, {'zones': {'b': True}}
ON_A, ON_B = cordon(zone='a'), cordon(zone='b')
NO_ZONE_OF_R1 = f'no usable zone: zone a is {NOTE}, zone b of region R1 is {NOTE}'


@pytest.mark.parametrize(
    ('policies', 'cordons', 'cloud', 'creation', 'notes'),
    [
        ([A_AND_B], [cordon(zone='a', reason='move')], CLOUD, IN_B, {'a': f'{NOTE} (move)'}),
        ([A_AND_B], [cordon(zone='a', region='R1')], CLOUD, IN_B, {'a': NOTE}),
        ([A], [cordon(zone='a', region='R2')], CLOUD, IN_A, {}),
        ([A], [cordon(zone='a', until=NOW)], CLOUD, IN_A, {}),
        ([R1_AND_R2], [cordon(region='R1', reason='move')], CLOUD, IN_R2, {'R1': f'{NOTE} (move)'}),
        ([R1_AND_R2, zone_policy('a', 'b', 'c')], [ON_A, cordon(zone='b', region='R1')], CLOUD,
         IN_C, {'R1': NO_ZONE_OF_R1}),
        # The end of the cordon would not open the zone.
        ([A_AND_B], [ON_A], A_UNAVAILABLE, IN_B, {'a': f'unavailable, {NOTE}'}),
        ([A_AND_B], [ON_A], A_UNKNOWN, IN_B, {'a': 'unknown to the cloud'}),
    ],
    ids=[
        *('zone', 'zone of home', 'zone elsewhere', 'ended', 'region', 'all zones of a region'),
        *('unavailable', 'unknown'),
    ],
)  # fmt: skip
def test_creation_goes_to_the_places_without_a_cordon(policies, cordons, cloud, creation, notes):
    """A cordoned place gets no node, keeps its nodes, and its row says until when and why."""
    reply = decide(scale_out(*policies), *cordons, cloud=cloud)

    found = reply['action']['data']['creation']
    assert {key: found[key] for key in creation} == creation
    shown = rows(reply, 'regions' if R1_AND_R2 in policies else 'zones').items()
    assert {name: row['note'] for name, row in shown if row['note']} == notes
    assert {name for name, row in shown if not row['usable']} == set(notes)


NO_ZONE = 'No availability zone found available'
NO_REGION = 'No region is found usable'
INFEASIBLE = 'There is no feasible plan to handle all nodes.'
PLANNED = {'creation': {'count': 3, 'regions': {'R1': 3}}}
R1_IS_OUT = {'regions': {'R1': {'zones': {'a': False}}, 'R2': {'zones': {'a': True}}}}
ALL_UNAVAILABLE = {'zones': {'a': False, 'b': False}}
ON_R1, ON_BOTH = cordon(region='R1'), f'zone a is {NOTE}, zone b is {NOTE}'
FIRE = cordon(zone='a', reason='fire \x1b[2J')
FULL = region_policy(('R1', 100, 1))
SHORT = (
    'No node can be created: a (unavailable), b (short of capacity until 2026-01-01T12:04:00Z); '
    'the latest failure was "No valid host was found. There are not enough hosts available."; '
    'the next probe is possible at 2026-01-01T12:04:00Z'
)
SKEWED = 'Zone b would hold 4 nodes, ideal 2.0, allowed skew 1: zone a is unavailable'
IN_SHORT = {'cloud': A_UNAVAILABLE, 'members': [refused(9, 'b')]}
STRICT = spreading(A_AND_B, mode='strict')


@pytest.mark.parametrize(
    ('policies', 'cordons', 'more', 'reason'),
    [
        ([A_AND_B], [FIRE, ON_B], {},
         f'{NO_ZONE}: zone a is {NOTE} (fire \\u001b[2J), zone b is {NOTE}'),
        ([R1_AND_R2], [cordon(region='R2', reason='flood'), ON_R1], {},
         f'{NO_REGION}: region R1 is {NOTE}, region R2 is {NOTE} (flood)'),
        ([region_policy('R1'), A_AND_B], [ON_A, ON_B], {}, f'{NO_ZONE}: {ON_BOTH}'),
        ([R1_AND_R2, zone_policy('b')], [ON_R1], {}, f'{NO_ZONE}: region R1 is {NOTE}'),
        ([A_AND_B], [ON_R1], {}, f'{NO_ZONE}: region R1 is {NOTE}'),
        ([A], [ON_R1], {'data': PLANNED}, f'{NO_ZONE}: region R1 is {NOTE}'),
        # An operator who lifts a named cordon gets the node.
        ([A_AND_B], [ON_A], {'cloud': ALL_UNAVAILABLE}, f'{NO_ZONE}.'),
        ([R1_AND_R2, A], [ON_R1, cordon(region='R2')], {'cloud': R1_IS_OUT},
         f'{NO_REGION}: region R2 is {NOTE}'),
        ([region_policy('R1'), A], [ON_R1], {'cloud': R1_IS_OUT}, f'{NO_ZONE}.'),
        ([redistributing(A_AND_B)], [ON_A], IN_SHORT, SHORT),
        ([FULL], [ON_R1], {'members': [node(1, 'a', 'R1')]}, INFEASIBLE),
        ([FULL], [ON_R1], {}, f'{NO_REGION}: region R1 is {NOTE}'),
        ([STRICT], [ON_A], {'cloud': A_UNAVAILABLE, 'members': nodes(b=1)}, SKEWED),
    ],
    ids=[
        *('zones', 'regions', 'zones of a region', 'region with the zone', 'home region'),
        *('planned', 'unavailable zones', 'one region with a zone', 'no usable zone'),
        *('shortage', 'cap', 'below the cap', 'skew'),
    ],
)  # fmt: skip
def test_creation_that_fails_names_the_cordons_whose_end_would_help(
    policies, cordons, more, reason
):
    """The error names place, end and reason of each of these cordons, escaped."""
    more = {**more}
    cloud = more.pop('cloud', CLOUD)

    reply = decide(scale_out(*policies, count=3, **more), *cordons, cloud=cloud)

    data, details = reply['action']['data'], reply['decisions'][-1]['details']
    assert (data['status'], data['reason']) == ('ERROR', reason)
    named = [f'{one["place"]} is {NOTE}' in reason for one in details.get('cordons', ())]
    assert named == [True] * reason.count(NOTE)


A_HOST, ZONE_C = {'availability_zone': 'a:host1'}, {'availability_zone': 'c'}
IN_R1 = {'context': {'region_name': 'R1'}}


@pytest.mark.parametrize(
    ('policies', 'properties', 'own', 'asked', 'cordoned', 'regions'),
    [
        ([A_AND_B], A_HOST, {'zone': 'a'}, 'availability zone a:host1', 'zone a', None),
        ([region_policy('R1')], IN_R1, {'region': 'R1'}, 'region R1', 'region R1', None),
        # Region placement does not refuse the zone, either.
        ([R1_AND_R2, A], ZONE_C, {'zone': 'c'}, 'availability zone c', 'zone c', {'R2': 1}),
    ],
    ids=['zone', 'region', 'region of the zone'],
)
def test_new_node_with_a_cordoned_place_in_its_profile_is_created_there_with_a_warning(
    policies, properties, own, asked, cordoned, regions
):
    """The user's choice stands, and the reply warns of the cordon."""
    profile = {'type': 'os.nova.server-1.0', 'properties': properties}

    reply = decide(request(NEW, policies, node={'id': 'new', 'profile': profile}), cordon(**own))

    assert reply['decisions'][-1]['outcome'] == 'SKIPPED'
    assert reply['action']['data'].get('creation', {}).get('regions') == regions
    assert reply['warnings'] == [
        f'The profile asks for {asked}, and {cordoned} is {NOTE}; the node is created there all '
        'the same'
    ]


OF_REGIONS = [node(n, None, 'R2' if n < 5 else 'R1') for n in range(1, 10)]


@pytest.mark.parametrize(
    ('policies', 'members', 'evacuated', 'deletion'),
    [
        ([A_AND_B], nodes(a=5, b=3), {'zone': 'b'}, {'zones': {'a': 1, 'b': 3}}),
        ([R1_AND_R2], OF_REGIONS, {'region': 'R2'}, {'regions': {'R2': 4}}),
        ([A_AND_B], nodes(a=5, b=3), {'region': 'R1'}, {'zones': {'a': 3, 'b': 1}}),
    ],
    ids=['zone', 'region', 'all zones'],
)
def test_evacuated_place_is_emptied_before_others_lose_nodes(
    policies, members, evacuated, deletion
):
    """Healthy nodes of an evacuated place leave before healthy nodes of fuller places.

    Of two cordons of the place, the last end and the stronger effect count.
    """
    asked = scale_in(*policies, members=members, count=4)

    ends_early = cordon(**evacuated, until=NOW + datetime.timedelta(hours=1), evacuate=True)
    reply = decide(asked, cordon(**evacuated, reason='move'), ends_early)

    found = reply['action']['data']['deletion']
    assert {key: found[key] for key in deletion} == deletion
    row = list(rows(reply, 'zones' if 'zones' in deletion else 'regions').values())[-1]
    assert (row['usable'], row['ideal'], row['note']) == (False, 0, f'{NOTE} (move)')


@pytest.mark.parametrize(
    ('policies', 'own', 'place'),
    [
        ([A_AND_B], {'zone': 'b'}, 'zone b'),
        ([R1_AND_R2], {'region': 'R2'}, 'region R2'),
        ([R1_AND_R2, zone_policy('a', 'c')], {'zone': 'c', 'region': 'R2'}, 'zone c'),
    ],
    ids=['zone', 'region', 'zone of a region'],
)
def test_evacuated_place_keeps_its_protected_nodes_with_a_warning(policies, own, place):
    """An operator sees that protection keeps a place from being emptied."""
    members = [
        node(1, 'a', 'R1'),
        node(2, 'b' if own == {'zone': 'b'} else 'c', 'R2', metadata={'protected': 'true'}),
        node(3, 'c', 'R2'),
    ]
    asked = scale_in(*policies, members=members, count=2)

    reply = decide(asked, cordon(**own, evacuate=True))

    assert (
        f'Cannot evacuate {place}: 1 protected node must not be deleted there' in reply['warnings']
    )


def test_decision_with_cordons_is_replayed_with_the_recorded_ones():
    """The record has the cordons in force, and a replay needs no cordon file."""
    lines = []
    asked = scale_out(zone_policy('a', 'b'), members=nodes(a=1), explain='full')

    decide(
        asked,
        cordon(zone='b', region='R1', reason='password=secret \u202e', evacuate=True),
        cordon(zone='a', until=NOW),
        recorder=DecisionLog(lines.append, None, {}),
    )

    entry = codec.decode_encoded(lines[0], Entry)
    assert [one.zone for one in entry.cordons] == ['b']
    assert replay.differences(entry, REGISTRY) == []
    without = json.loads(lines[0])
    del without['cordons']
    changed = codec.decode_encoded(json.dumps(without).encode(), Entry)
    assert replay.differences(changed, REGISTRY) != []


@st.composite
def cordons(draw, **fixed):
    """Draw cordons of zones, regions and zones of regions, some of which have ended."""
    drawn = []
    for _ in range(draw(st.integers(0, 4))):
        zone = draw(st.sampled_from([None, *ZONES]))
        region = draw(st.sampled_from([None, *REGIONS] if zone else REGIONS))
        until = draw(st.sampled_from([UNTIL, NOW]))
        evacuate = fixed.get('evacuate', draw(st.booleans()))
        drawn.append(Cordon(zone=zone, region=region, until=until, evacuate=evacuate))
    return drawn


STATES = [{}, {}, {'status': 'ERROR'}, {'metadata': {'protected': 'true'}}]
CLUSTERS = members_in([*ZONES, 'x', None], [*REGIONS, None], STATES)
POLICIES = st.sampled_from(
    [
        [zone_policy('a', 'b', ('c', 300))],
        [region_policy('R1', ('R2', 300))],
        [region_policy('R1', ('R2', 300)), zone_policy('a', 'b', ('c', 300))],
    ]
)


@settings(max_examples=3 * settings.default.max_examples)
@given(
    given=cordons(),
    members=CLUSTERS,
    policies=POLICIES | POLICIES.map(lambda policies: [*map(redistributing, policies)]),
    count=st.integers(1, 9),
)
def test_no_node_is_created_in_a_cordoned_place(given, members, policies, count):
    """Neither a placement nor a place to try next is one that a cordon in force covers."""
    reply = decide(scale_out(*policies, members=members, count=count), *given)

    placements = reply['action']['data'].get('placement', {}).get('placements', [])
    assert placements or reply['action']['data']['status'] == 'ERROR'
    alternatives = reply['action']['data'].get('creation', {}).get('alternatives', ())
    for place in [*placements, *(place for one in alternatives for place in one['retry'])]:
        at = place.get('region_name', 'R1'), place.get('zone')
        assert not any(one.covers(*at) for one in cordons_in_force(given, NOW))


@settings(max_examples=2 * settings.default.max_examples)
@given(given=cordons(evacuate=False), members=CLUSTERS, policies=POLICIES, count=st.integers(1, 9))
def test_cordon_without_evacuation_changes_no_deletion(given, members, policies, count):
    """The victims are those of the same deletion without cordons."""
    asked = scale_in(*policies, deletion_policy(), members=members, count=count)

    assert decide(asked, *given)['action']['data'] == decide(asked)['action']['data']


@settings(max_examples=2 * settings.default.max_examples)
@given(members=CLUSTERS, count=st.integers(1, 9), cordoned=st.sampled_from(ZONES))
def test_evacuated_zone_loses_its_nodes_first_within_each_group(members, count, cordoned):
    """No node of a listed zone leaves while an unprotected one of its group stays in the
    evacuated zone.
    """
    policies = [zone_policy(*ZONES), deletion_policy()]
    home = {'zones': dict.fromkeys(ZONES, True)}
    asked = scale_in(*policies, members=members, count=count)

    reply = decide(asked, cordon(zone=cordoned, evacuate=True), cloud=home)

    victims = set(reply['action']['data'].get('deletion', {}).get('candidates', ()))
    for status in ('ERROR', 'ACTIVE'):
        group = [one for one in members if one['status'] == status and 'metadata' not in one]
        staying = [one for one in group if _zone(one) == cordoned and one['id'] not in victims]
        others = [
            one for one in group if _zone(one) in set(ZONES) - {cordoned} and one['id'] in victims
        ]
        assert not staying or not others


def _zone(member):
    return member['data'].get('placement', {}).get('zone')


EAST_AND_WEST = {
    'regions': {
        'East': {'zones': {'east-1': True, 'east-2': True}},
        'West': {'zones': {'west-1': True}},
    },
    'home_region': 'East',
}
BOTH = [region_policy('East', 'West'), zone_policy('east-1', 'west-1')]
ZONE = (
    'The cordon of zone eastt-1{} has no effect in {}: there is no such zone (did you mean '
    '"east-1"?); there are {}; correct the cordon file{}'
)
OTHER = ', or name its region if another region has the zone'
OF_ZONE = ZONE.format('', 'the home region', 'east-1, east-2', OTHER)
REGION = (
    'The cordon of {} has no effect: the cloud has no region Eats (did you mean "East"?); there '
    'are East, West; correct the cordon file'
)
IN_BOTH = ZONE.format('', 'region East, region West', 'east-1, east-2, west-1', OTHER)
IN_EAST = ZONE.format(' of region East', 'region East', 'east-1, east-2', '')
IN_EATS = REGION.format('zone east-1 of region Eats')


class Recording:
    def __init__(self):
        self.cloud, self.requests = Inventory.parse(EAST_AND_WEST, 'test'), []

    def acting_for(self, *_):
        return self

    def __getattr__(self, name):
        self.requests.append(name)
        return getattr(self.cloud, name)


@pytest.fixture
def warnings(caplog):
    """Return a function that checks a scale-out twice, for its warnings and those of the log."""
    caplog.set_level(logging.WARNING)

    def decide(policies, *cordons, cloud=None):
        inventory = cloud or Inventory.parse(EAST_AND_WEST, 'test')
        worker = endpoints(inventory, *(cordon(**one) for one in cordons))
        asked = request('CLUSTER_SCALE_OUT', policies, nodes(**{'east-2': 2}))
        first, second = worker.policy_check(asked), worker.policy_check(asked)
        assert first['warnings'] == second['warnings']
        logged = [text for text in caplog.messages if text.startswith('The cordon of')]
        return first['warnings'], logged

    return decide


@pytest.mark.parametrize(
    ('policies', 'own', 'in_reply', 'in_log'),
    [
        # A misspelled cordon leaves a place of the policy open.
        ([zone_policy('east-1')], {'zone': 'eastt-1'}, True, OF_ZONE),
        (BOTH, {'zone': 'eastt-1'}, True, IN_BOTH),
        (BOTH, {'zone': 'eastt-1', 'region': 'East'}, True, IN_EAST),
        ([region_policy('East')], {'region': 'Eats'}, True, REGION.format('region Eats')),
        # Only the operator learns of a cordon that does not concern the cluster.
        ([zone_policy('east-2')], {'zone': 'eastt-1'}, False, OF_ZONE),
        ([region_policy('West')], {'region': 'Eats'}, False, REGION.format('region Eats')),
        (BOTH, {'zone': 'east-1', 'region': 'Eats'}, False, IN_EATS),
        # None is called unknown without a response of its part of the cloud.
        ([zone_policy('east-1', 'east-2')], {'zone': 'east-1'}, False, None),
        ([zone_policy('east-1')], {'zone': 'east-9', 'region': 'West'}, False, None),
        ([zone_policy('east-1')], {'region': 'Eats'}, False, None),
        (BOTH, {'zone': 'west-1'}, False, None),
        ([deletion_policy()], {'zone': 'east-9'}, False, None),
    ],
)
def test_cordon_of_an_unknown_place_warns_in_log_and_reply(
    warnings, policies, own, in_reply, in_log
):
    """The log warns once of a place that the cloud does not have, the reply if it matters."""
    texts = [in_log] if in_log else []

    assert warnings(policies, own) == (texts if in_reply else [], texts)


@pytest.mark.parametrize('policies', [[zone_policy('east-1')], BOTH], ids=['zones', 'both'])
def test_cordon_of_an_unknown_place_sends_no_request(warnings, policies):
    """The search for unknown places uses the responses that the policies requested."""
    usual, more = Recording(), Recording()

    warnings(policies, cloud=usual)
    warnings(policies, {'zone': 'eastt-1'}, cloud=more)

    assert more.requests == usual.requests
