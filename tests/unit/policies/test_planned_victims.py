"""Deletions that follow the plans of placement policies, checked through the chain."""

import random

import pytest

from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy
from tests.unit.policies.replies import deleted

SCALE_IN = 'CLUSTER_SCALE_IN'


def test_victims_match_the_plan_by_region_and_zone(check):
    """Each zone of each region gives as many victims as the placement policies planned."""
    members = [
        node(1, 'a', 'R1'),
        node(2, 'b', 'R1'),
        node(3, 'b', 'R1'),
        node(4, 'a', 'R2'),
        node(5, 'a', 'R2'),
    ]
    regions = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': True}}}
    policies = [deletion_policy(), zone_policy('a', 'b'), region_policy('R1', 'R2')]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 3}), regions=regions)

    assert reply['action']['data']['deletion']['places'] == [
        {'region_name': 'R1', 'zone': 'a', 'count': 1},
        {'region_name': 'R1', 'zone': 'b', 'count': 1},
        {'region_name': 'R2', 'zone': 'a', 'count': 1},
    ]
    assert deleted(reply) == ['n1', 'n2', 'n4']


def test_region_with_nodes_of_unknown_zone_gives_its_share(check):
    """A region's share is met by its nodes of unknown zone."""
    members = [node(1, 'a', 'R1'), node(2, None, 'R1'), node(3, 'a', 'R2'), node(4, None, 'R2')]
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': True}}}
    policies = [region_policy(('R1', 100), ('R2', 100)), zone_policy('a'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 1}), regions=regions)

    assert reply['action']['data']['deletion']['regions'] == {'R1': 1}
    assert deleted(reply) == ['n2']


def test_plan_of_unknown_zones_alone_takes_those_nodes(check):
    """A plan without zones deletes nodes of unknown zone."""
    members = [node(1, 'a'), node(2, 'a'), node(3, 'b'), node(4, 'b'), node(5), node(6)]

    reply = check(
        request(SCALE_IN, [zone_policy('a', 'b'), deletion_policy()], members, inputs={'count': 2}),
        zones=['a', 'b'],
    )

    assert reply['action']['data']['deletion']['zones'] == {}
    assert deleted(reply) == ['n5', 'n6']
    assert reply['decisions'][0]['reason'] == '2 nodes of no known zone leave'


def test_plan_of_unknown_regions_alone_takes_those_nodes(check):
    """A plan without regions deletes nodes of unknown region."""
    members = [node(1, 'a'), node(2, 'b', 'R1'), node(3, 'b', 'R1')]
    policies = [region_policy('R1'), zone_policy('a', 'b'), deletion_policy()]

    reply = check(
        request(SCALE_IN, policies, members), regions={'R1': {'zones': {'a': True, 'b': True}}}
    )

    assert (
        reply['action']['data']['deletion']
        | {'candidates': ['n1'], 'regions': {}, 'zones': {}, 'places': []}
        == (reply['action']['data']['deletion'])
    )


@pytest.mark.parametrize('seed', range(150))
def test_removal_counts_are_met_in_random_clusters(check, seed):
    """In random clusters over three regions, each place gives exactly its removal count."""
    draw = random.Random(seed)
    regions = {
        'R1': {'zones': {'a': True, 'b': True}},
        'R2': {'zones': {'a': True}},
        'R3': {'zones': {'q': True}},
    }
    members = [
        node(n, draw.choice(['a', 'b', None, 'x']), draw.choice(['R1', 'R2', 'R3', None]))
        for n in range(1, draw.randint(2, 20))
    ]
    count = draw.randint(1, len(members))
    policies = [region_policy('R1', 'R2', 'R3'), zone_policy('a', 'b'), deletion_policy()]

    data = check(request(SCALE_IN, policies, members, inputs={'count': count}), regions=regions)[
        'action'
    ]['data']

    deletion, placed = data['deletion'], {n['id']: n['data'].get('placement', {}) for n in members}
    gone = [placed[victim] for victim in deletion['candidates']]
    assert data['status'] == 'OK'
    assert len(gone) == len(set(deletion['candidates'])) == count
    for region, share in deletion['regions'].items():
        assert sum(place.get('region_name') == region for place in gone) == share
    for entry in deletion['places']:
        matching = [
            p
            for p in gone
            if p.get('region_name') == entry['region_name']
            and p.get('zone') == entry.get('zone', p.get('zone'))
        ]
        assert len(matching) == entry['count']


LONG = 'k' * 1_000_000


@pytest.mark.parametrize(
    ('deletion', 'reason'),
    [
        ({'zones': {LONG: 1}}, f'1 node is to leave {"k" * 80}..., which holds 0.'),
        (
            {'zones': {LONG: -1}},
            f'Expected `int` >= 0, got `-1` - at `$.action.data.deletion.zones.{"k" * 80}...`',
        ),
        (
            {'places': [{'region_name': LONG, 'zone': LONG, 'count': 1}]},
            f'1 node is to leave {"k" * 80}... / {"k" * 80}..., which holds 0.',
        ),
    ],
    ids=['zones', 'malformed zones', 'places'],
)
def test_long_name_in_a_plan_is_shortened_in_the_reason(check, deletion, reason):
    """A name of a megabyte that an engine sends does not fill the log and the reply."""
    reply = check(request(SCALE_IN, [deletion_policy()], nodes(a=1), data={'deletion': deletion}))

    assert reply['action']['data']['reason'] == reason
