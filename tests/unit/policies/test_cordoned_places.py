"""Cordons: no creation in a cordoned place, and evacuated places are emptied first."""

import json

import pytest

from placement_worker.decisions import replay
from placement_worker.decisions.records import DecisionLog
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    refused,
    region_policy,
    request,
    spreading,
    zone_policy,
)
from tests.unit.policies.cordons import (
    REGISTRY,
    cordon,
    decide,
    redistributing,
    scale_in,
    scale_out,
)

NEW = 'NODE_CREATE'
NOTE = 'cordoned until 2026-01-02T12:00:00Z'


def rows(reply, kind='zones'):
    """Return the rows of the first decision by name."""
    return {row['name']: row for row in reply['decisions'][0]['details'][kind]}


@pytest.mark.parametrize(
    'own',
    [{'zone': 'a'}, {'zone': 'a', 'region': 'R1'}],
    ids=['in every region', 'in the home region'],
)
def test_creation_with_cordoned_zone_goes_to_the_other_zones(own):
    """A cordoned zone gets no node, keeps its nodes, and its row says until when and why."""
    asked = scale_out(zone_policy('a', 'b'), members=nodes(a=1, b=1))

    reply = decide(asked, cordon(**own, reason='new switches'))

    assert reply['action']['data']['creation']['zones'] == {'b': 2}
    closed = rows(reply)['a']
    assert (closed['current'], closed['final'], closed['usable']) == (1, 1, False)
    assert closed['note'] == f'{NOTE} (new switches)'


def test_creation_with_cordon_of_other_region_ignores_it():
    """A zone of the same name in another region stays open."""
    reply = decide(scale_out(zone_policy('a')), cordon(zone='a', region='R2'))

    assert reply['action']['data']['creation']['zones'] == {'a': 2}


def test_creation_after_cordon_has_ended_uses_the_place():
    """A cordon has no effect at the time in `until` and later."""
    reply = decide(scale_out(zone_policy('a')), cordon(zone='a', until=NOW))

    assert reply['action']['data']['creation']['zones'] == {'a': 2}


def test_creation_with_cordoned_region_goes_to_the_other_regions():
    """A cordoned region gets no node, whatever its weight is."""
    asked = scale_out(region_policy(('R1', 900), 'R2'))

    reply = decide(asked, cordon(region='R1', reason='upgrade'))

    assert reply['action']['data']['creation']['regions'] == {'R2': 2}
    assert rows(reply, 'regions')['R1']['note'] == f'{NOTE} (upgrade)'


def test_creation_with_all_zones_of_a_region_cordoned_goes_to_the_other_regions():
    """Region placement leaves out a region in which zone placement could create no node."""
    asked = scale_out(region_policy('R1', 'R2'), zone_policy('a', 'b', 'c'))

    reply = decide(asked, cordon(zone='a'), cordon(zone='b', region='R1'))

    assert reply['action']['data']['creation']['places'] == [
        {'region_name': 'R2', 'zone': 'c', 'count': 2}
    ]
    assert rows(reply, 'regions')['R1']['note'] == (
        f'no usable zone: zone a is {NOTE}, zone b of region R1 is {NOTE}'
    )


def test_creation_with_zone_cordoned_by_its_region_goes_elsewhere():
    """A cordon of the home region closes its zones for zone placement alone."""
    reply = decide(scale_out(zone_policy('a', 'b')), cordon(region='R1', reason='move'))

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['action']['data']['reason'] == (
        f'No availability zone found available: region R1 is {NOTE} (move)'
    )


@pytest.mark.parametrize(
    ('policies', 'cordons', 'reason'),
    [
        (
            [zone_policy('a', 'b')],
            [{'zone': 'a', 'reason': 'fire \x1b[2J'}, {'zone': 'b'}],
            f'No availability zone found available: zone a is {NOTE} (fire \\u001b[2J), '
            f'zone b is {NOTE}',
        ),
        (
            [region_policy('R1', 'R2')],
            [{'region': 'R2', 'reason': 'flood'}, {'region': 'R1'}],
            f'No region is found usable: region R1 is {NOTE}, region R2 is {NOTE} (flood)',
        ),
        (
            [region_policy('R1'), zone_policy('a', 'b')],
            [{'zone': 'a'}, {'zone': 'b'}],
            f'No availability zone found available: zone a is {NOTE}, zone b is {NOTE}',
        ),
        (
            [region_policy('R1', 'R2'), zone_policy('b')],
            [{'region': 'R1'}],
            f'No availability zone found available: region R1 is {NOTE}',
        ),
    ],
    ids=['zones', 'regions', 'zones of the only region', 'the only region with the zone'],
)
def test_creation_with_all_places_cordoned_fails_and_names_the_cordons(policies, cordons, reason):
    """The error names place, end and reason of each cordon, escaped."""
    reply = decide(scale_out(*policies), *(cordon(**one) for one in cordons))

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['action']['data']['reason'] == reason


def test_creation_by_foreign_plan_in_cordoned_region_fails():
    """A region that another policy chose gets no node if all of its zones are cordoned."""
    asked = scale_out(zone_policy('a', 'b'), data={'creation': {'count': 2, 'regions': {'R1': 2}}})

    reply = decide(asked, cordon(region='R1'))

    assert reply['action']['data']['reason'] == (
        f'No availability zone found available: region R1 is {NOTE}'
    )


def test_creation_with_unavailable_and_cordoned_zone_notes_both():
    """An operator sees that the end of the cordon does not open the zone."""
    cloud = {'zones': {'a': False, 'b': True}}

    reply = decide(scale_out(zone_policy('a', 'b')), cordon(zone='a'), cloud=cloud)

    assert rows(reply)['a']['note'] == f'unavailable, {NOTE}'


def test_creation_with_cordoned_unknown_zone_calls_it_unknown():
    """A cordon does not hide that the cloud does not know a listed zone."""
    reply = decide(scale_out(zone_policy('a', 'x')), cordon(zone='x'), cloud={'zones': {'a': True}})

    assert rows(reply)['x']['note'] == 'unknown to the cloud'


@pytest.mark.parametrize(
    ('policy', 'properties', 'own', 'warning'),
    [
        (
            zone_policy('a', 'b'),
            {'availability_zone': 'a:host1'},
            {'zone': 'a'},
            f'The profile asks for availability zone a:host1, and zone a is {NOTE}',
        ),
        (
            region_policy('R1'),
            {'context': {'region_name': 'R1'}},
            {'region': 'R1'},
            f'The profile asks for region R1, and region R1 is {NOTE}',
        ),
    ],
    ids=['zone', 'region'],
)
def test_new_node_with_cordoned_place_in_its_profile_is_skipped_with_warning(
    policy, properties, own, warning
):
    """The user's choice stands, and the reply warns of the cordon."""
    profile = {'type': 'os.nova.server-1.0', 'properties': properties}

    reply = decide(request(NEW, [policy], node={'id': 'new', 'profile': profile}), cordon(**own))

    assert [one['outcome'] for one in reply['decisions']] == ['SKIPPED']
    assert reply['warnings'] == [f'{warning}; the node is created there all the same']


def test_new_node_with_open_place_in_its_profile_has_no_warning():
    """A cordon of another zone does not concern the node."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'b'}}

    reply = decide(
        request(NEW, [zone_policy('a', 'b')], node={'id': 'new', 'profile': profile}),
        cordon(zone='a'),
    )

    assert reply['warnings'] == []


def test_new_node_with_cordoned_zone_in_its_profile_gets_a_region():
    """A zone that the user names is refused by no policy, with region placement as well."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'c'}}
    policies = [region_policy('R1', 'R2'), zone_policy('a')]

    reply = decide(request(NEW, policies, node={'id': 'new', 'profile': profile}), cordon(zone='c'))

    assert reply['action']['data']['creation']['regions'] == {'R2': 1}
    assert len(reply['warnings']) == 1


def test_evacuated_zone_is_emptied_before_other_zones_lose_nodes():
    """Healthy nodes of an evacuated zone leave before healthy nodes of fuller zones."""
    policies = [zone_policy('a', 'b'), deletion_policy()]
    asked = scale_in(*policies, members=nodes(a=5, b=3), count=4)

    reply = decide(asked, cordon(zone='b', evacuate=True, reason='move'))

    assert reply['action']['data']['deletion']['zones'] == {'a': 1, 'b': 3}
    row = rows(reply)['b']
    assert (row['usable'], row['ideal'], row['note']) == (False, 0, f'{NOTE} (move)')


def test_unhealthy_nodes_leave_before_healthy_nodes_of_an_evacuated_zone():
    """Evacuation keeps the order of the groups, as for unlisted places."""
    members = [*nodes(a=2, b=2), node(5, 'a', status='ERROR')]
    asked = scale_in(zone_policy('a', 'b'), members=members, count=2)

    reply = decide(asked, cordon(zone='b', evacuate=True))

    assert reply['action']['data']['deletion']['zones'] == {'a': 1, 'b': 1}


def test_evacuated_region_is_emptied_before_other_regions_lose_nodes():
    """Nodes of an evacuated region leave first, and the deletion policy chooses them."""
    members = [node(1, None, 'R2'), *(node(n, None, 'R1') for n in range(2, 6))]
    policies = [region_policy('R1', 'R2'), deletion_policy()]

    reply = decide(
        scale_in(*policies, members=members, count=1), cordon(region='R2', evacuate=True)
    )

    assert reply['action']['data']['deletion']['candidates'] == ['n1']


def test_evacuated_zones_alone_give_nodes_as_well():
    """A scale-in is possible while all zones are evacuated."""
    asked = scale_in(zone_policy('a', 'b'), members=nodes(a=3, b=1), count=2)

    reply = decide(asked, cordon(region='R1', evacuate=True))

    assert reply['action']['data']['deletion']['zones'] == {'a': 2}


@pytest.mark.parametrize(
    ('policies', 'own', 'place'),
    [
        ([zone_policy('a', 'b')], {'zone': 'b'}, 'zone b'),
        ([region_policy('R1', 'R2')], {'region': 'R2'}, 'region R2'),
        (
            [region_policy('R1', 'R2'), zone_policy('a', 'c')],
            {'zone': 'c', 'region': 'R2'},
            'zone c',
        ),
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
        recorder=DecisionLog(lines.append),
    )

    entry = replay._entry(lines[0])
    assert [one.zone for one in entry.cordons] == ['b']
    assert replay.differences(entry, REGISTRY) == []
    without = json.loads(lines[0])
    del without['cordons']
    assert replay.differences(replay._entry(json.dumps(without).encode()), REGISTRY) != []


def test_retries_of_a_plan_leave_out_the_cordoned_zone():
    """An engine retries in the other open zones alone."""
    reply = decide(
        scale_out(redistributing(zone_policy(*'abc')), count=1),
        cordon(zone='b'),
        cloud={'zones': dict.fromkeys('abc', True)},
    )

    assert reply['action']['data']['creation']['alternatives'] == [
        {'place': {'zone': 'a'}, 'retry': [{'zone': 'c'}]}
    ]


@pytest.mark.parametrize(
    ('policies', 'cordons', 'cloud', 'members', 'reason'),
    [
        (
            [zone_policy('a', 'b')],
            [{'zone': 'a'}],
            {'zones': {'a': False, 'b': False}},
            [],
            'No availability zone found available.',
        ),
        (
            [region_policy('R1', 'R2'), zone_policy('a')],
            [{'region': 'R1'}, {'region': 'R2'}],
            {'regions': {'R1': {'zones': {'a': False}}, 'R2': {'zones': {'a': True}}}},
            [],
            f'No region is found usable: region R2 is {NOTE}',
        ),
        (
            [region_policy('R1'), zone_policy('a')],
            [{'region': 'R1'}],
            {'regions': {'R1': {'zones': {'a': False}}}},
            [],
            'No availability zone found available.',
        ),
        (
            [redistributing(zone_policy('a', 'b'))],
            [{'zone': 'a'}],
            {'zones': {'a': False, 'b': True}},
            [refused(9, 'b')],
            'No node can be created: a (unavailable), b (short of capacity until '
            '2026-01-01T12:04:00Z); the latest failure was "No valid host was found. There are not '
            'enough hosts available."; the next probe is possible at 2026-01-01T12:04:00Z',
        ),
        (
            [spreading(zone_policy('a', 'b'), mode='strict')],
            [{'zone': 'a'}],
            {'zones': {'a': False, 'b': True}},
            nodes(b=1),
            'Zone b would hold 4 nodes, ideal 2.0, allowed skew 1: zone a is unavailable',
        ),
    ],
    ids=['unavailable zones', 'one region with a zone', 'no usable zone', 'shortage', 'skew'],
)
def test_reason_names_a_cordon_only_if_its_end_would_help(
    policies, cordons, cloud, members, reason
):
    """An operator who lifts a named cordon gets the node."""
    asked = scale_out(*policies, members=members, count=3)

    reply = decide(asked, *(cordon(**one) for one in cordons), cloud=cloud)

    assert reply['action']['data']['reason'] == reason


def test_reason_names_no_cordon_of_a_region_that_is_full():
    """A cap refuses the node, whether the region is cordoned or not."""
    policy = region_policy('R1')
    policy['spec']['properties']['regions'][0]['cap'] = 1
    asked = scale_out(policy, members=[node(1, 'a', 'R1')])

    reply = decide(asked, cordon(region='R1'))

    assert reply['action']['data']['reason'] == 'There is no feasible plan to handle all nodes.'
