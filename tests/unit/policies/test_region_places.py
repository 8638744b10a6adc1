"""Regions without a usable zone: creations avoid them, deletions keep their weight."""

import pytest

from tests.factories import deletion_policy, node, region_policy, request, zone_policy

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'
BOTH = [region_policy('R1', 'R2'), zone_policy('a', 'b')]
R2_IS_OUT = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': False, 'q': True}}}


def notes(decision):
    return {row['name']: (row['usable'], row['note']) for row in decision['details']['regions']}


def test_creation_in_a_region_without_usable_zone_goes_to_the_other_regions(check):
    """A region without an available listed zone gets no node; its share goes to the others."""
    members = [node(1, 'a', 'R1'), node(2, 'a', 'R2')]

    reply = check(request(SCALE_OUT, BOTH, members, inputs={'count': 3}), regions=R2_IS_OUT)

    assert reply['action']['data']['creation'] == {
        'count': 3,
        'regions': {'R1': 3},
        'zones': {'a': 1, 'b': 2},
        'places': [
            {'region_name': 'R1', 'zone': 'a', 'count': 1},
            {'region_name': 'R1', 'zone': 'b', 'count': 2},
        ],
    }
    assert notes(reply['decisions'][0]) == {'R1': (True, ''), 'R2': (False, 'no usable zone')}


@pytest.mark.parametrize('action', [SCALE_OUT, 'NODE_CREATE'])
def test_creation_without_a_usable_zone_in_any_region_is_an_error(check, action):
    """With no region left, the reason is that of zone placement."""
    regions = {'R1': {'zones': {'q': True}}, 'R2': {'zones': {'a': False}}}
    more = {'node': node(9)} if action == 'NODE_CREATE' else {}

    reply = check(request(action, BOTH, **more), regions=regions)

    assert reply['action']['data'] == {
        'status': 'ERROR',
        'reason': 'No availability zone found available.',
    }


def test_creation_for_zones_named_by_numbers_finds_them_in_their_regions(check):
    """A zone whose name the spec writes as a number is usable in the regions that know it."""
    policies = [region_policy('R1', 'R2'), zone_policy('1')]
    policies[1]['spec']['properties'] = {'zones': [{'name': 1}]}
    regions = {'R1': {'zones': {'1': True}}, 'R2': {'zones': {'2': True}}}

    reply = check(request(SCALE_OUT, policies, inputs={'count': 2}), regions=regions)

    assert reply['action']['data']['creation']['places'] == [
        {'region_name': 'R1', 'zone': '1', 'count': 2}
    ]


def test_creation_whose_usable_regions_are_full_has_no_feasible_plan(check):
    """The share of a region without usable zones does not exceed the caps of the others."""
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]
    policies[0]['spec']['properties']['regions'][0]['cap'] = 2

    reply = check(request(SCALE_OUT, policies, inputs={'count': 3}), regions=R2_IS_OUT)

    assert reply['action']['data']['reason'] == 'There is no feasible plan to handle all nodes.'
    assert reply['decisions'][0]['details'] == {
        'asked': 3,
        'possible': 2,
        'missing': 1,
        'places': [
            {'name': 'R1', 'current': 0, 'cap': 2, 'possible': 2, 'note': ''},
            {'name': 'R2', 'current': 0, 'cap': -1, 'possible': 0, 'note': 'no usable zone'},
        ],
    }


def test_deletion_in_a_region_without_usable_zone_keeps_its_weight(check):
    """A region without usable zones keeps its share, and gives nodes whatever their zone."""
    regions = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'q': True}}}
    members = [node(n, 'a', 'R1') for n in (1, 2, 3)] + [node(n, 'q', 'R2') for n in (4, 5, 6)]

    reply = check(
        request(SCALE_IN, [*BOTH, deletion_policy()], members, inputs={'count': 2}), regions=regions
    )

    assert reply['action']['data']['deletion']['places'] == [
        {'region_name': 'R1', 'zone': 'a', 'count': 1},
        {'region_name': 'R2', 'count': 1},
    ]
    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n4']


@pytest.mark.parametrize(
    'policies',
    [
        [region_policy('R1', 'R2')],
        [region_policy('R1', 'R2'), zone_policy('a', 'b', enabled=False)],
    ],
)
def test_creation_without_enabled_zone_placement_needs_no_zones(check, policies):
    """Zones do not matter to region placement unless zone placement is bound and enabled."""
    reply = check(request(SCALE_OUT, policies, inputs={'count': 2}), regions=R2_IS_OUT)

    assert reply['action']['data']['creation']['regions'] == {'R1': 1, 'R2': 1}


def test_creation_for_a_profile_that_zone_placement_skips_needs_no_zones(check):
    """Zone placement that does not support the profile type does not affect region placement."""
    asked = request(SCALE_OUT, BOTH, inputs={'count': 2}, profile={'type': 'os.heat.stack-1.0'})

    reply = check(asked, regions=R2_IS_OUT)

    assert reply['action']['data']['creation']['regions'] == {'R1': 1, 'R2': 1}


@pytest.mark.parametrize(('zone', 'region'), [('q', 'R2'), ('q:host', 'R2'), ('b', 'R1')])
def test_creation_of_a_node_whose_profile_names_its_zone_goes_to_a_region_that_has_it(
    check, zone, region
):
    """A new node goes to a region where the zone of its profile is available, listed or not."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': zone}}
    members = [node(1, 'a', 'R1' if region == 'R1' else 'R2')]

    reply = check(
        request('NODE_CREATE', BOTH, members, node=node(9, profile=profile)), regions=R2_IS_OUT
    )

    assert reply['nodes'] == {'n9': {'data': {'placement': {'region_name': region, 'zone': zone}}}}


def test_creation_of_a_node_whose_zone_no_region_has_is_an_error(check):
    """A new node whose zone is available in no listed region ends the check in ERROR."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'gone'}}

    reply = check(request('NODE_CREATE', BOTH, node=node(9, profile=profile)), regions=R2_IS_OUT)

    assert reply['action']['data']['reason'] == 'No availability zone found available.'
    assert reply['warnings'] == [
        'The cloud does not know availability zone "gone"; it has "a", "b", "q"',
    ]
