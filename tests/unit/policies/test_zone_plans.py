"""Plans of zones inside regions."""

from tests.factories import node, region_policy, request, zone_policy

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'


def test_zones_without_a_plan_by_region_are_those_of_the_profiles_region(check):
    """Without region placement, the zones are those of the region in the cluster's profile."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R2'}}}
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}

    reply = check(request(SCALE_OUT, [zone_policy('a', 'b')], profile=profile), regions=regions)

    assert reply['action']['data']['creation']['zones'] == {'b': 1}


def test_zones_are_planned_within_each_planned_region(check):
    """The share of each region is divided among its own zones."""
    regions = {
        'R1': {'zones': {'a': True, 'b': True}},
        'R2': {'zones': {'a': True}},
        'R3': {'zones': {'b': True}},
    }
    policies = [zone_policy('a', 'b'), region_policy('R1', 'R2', 'R3')]
    members = [node(1, 'a', 'R1'), node(2, 'a', 'R2')]

    data = check(request(SCALE_OUT, policies, members, inputs={'count': 5}), regions=regions)[
        'action'
    ]['data']

    assert data['creation'] == {
        'count': 5,
        'regions': {'R1': 2, 'R2': 1, 'R3': 2},
        'zones': {'a': 2, 'b': 3},
        'places': [
            {'region_name': 'R1', 'zone': 'a', 'count': 1},
            {'region_name': 'R1', 'zone': 'b', 'count': 1},
            {'region_name': 'R2', 'zone': 'a', 'count': 1},
            {'region_name': 'R3', 'zone': 'b', 'count': 2},
        ],
    }
    assert sorted(data['placement']['placements'], key=str) == [
        {'region_name': 'R1', 'zone': 'a'},
        {'region_name': 'R1', 'zone': 'b'},
        {'region_name': 'R2', 'zone': 'a'},
        {'region_name': 'R3', 'zone': 'b'},
        {'region_name': 'R3', 'zone': 'b'},
    ]


def test_details_have_a_row_for_a_region_without_usable_zone(check):
    """A region without usable zones has one row for all of its nodes."""
    policies = [region_policy('R1'), zone_policy('a')]

    members = [node(1, 'q', 'R1'), node(2, 'q', 'R1')]
    reply = check(request(SCALE_IN, policies, members), regions={'R1': {'zones': {'q': True}}})

    (row,) = reply['decisions'][1]['details']['zones']
    assert [row[key] for key in ('region_name', 'note')] == ['R1', 'no usable zone']
    assert [row[key] for key in ('current', 'planned', 'final')] == [2, 1, 1]
