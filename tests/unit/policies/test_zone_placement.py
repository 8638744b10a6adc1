"""The zone placement policy, checked through the chain."""

import json

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidRequest
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'


def decision(reply):
    (only,) = reply['decisions']
    return only


def test_creation_has_counts_by_zone_and_one_entry_per_node(check):
    """A creation has the count of each zone and one placement entry per node."""
    reply = check(
        request(SCALE_OUT, [zone_policy('a', ('b', 200))], nodes(a=1), inputs={'count': 3}),
        zones=['a', 'b'],
    )

    assert reply['action']['data'] == {
        'creation': {'count': 3, 'zones': {'b': 3}},
        'placement': {'count': 3, 'placements': [{'zone': 'b'}] * 3},
        'status': 'OK',
        'reason': 'Completed policy checking.',
    }


def test_deletion_has_counts_by_zone_without_zeros(check):
    """A deletion has the counts of the zones that lose nodes."""
    reply = check(request(SCALE_IN, [zone_policy('a', 'b')], nodes(a=3, b=1)), zones=['a', 'b'])

    assert reply['action']['data']['deletion'] == {'count': 1, 'zones': {'a': 1}}


def test_details_have_a_row_per_listed_and_unlisted_zone(check):
    """The details show each zone with its counts, its ideal share and a note."""
    reply = check(
        request(SCALE_OUT, [zone_policy('a', ('b', 200))], nodes(a=1, x=1), inputs={'count': 2}),
        zones={'a': True, 'b': False},
    )

    assert decision(reply)['reason'] == '2 nodes go to 1 zone'
    assert decision(reply)['details'] == {
        'zones': [
            {
                'name': 'a',
                'weight': 100,
                'cap': -1,
                'usable': True,
                'current': 1,
                'ideal': 3.0,
                'planned': 2,
                'final': 3,
                'note': '',
            },
            {
                'name': 'b',
                'weight': 200,
                'cap': -1,
                'usable': False,
                'current': 0,
                'ideal': 0.0,
                'planned': 0,
                'final': 0,
                'note': 'unavailable',
            },
            {
                'name': 'x',
                'weight': 0,
                'cap': -1,
                'usable': False,
                'current': 1,
                'ideal': 0.0,
                'planned': 0,
                'final': 1,
                'note': 'not listed',
            },
        ],
        'unplaced': 0,
    }


def test_details_without_explanation_are_empty(check):
    """A request with `explain: none` gets no details."""
    reply = check(request(SCALE_OUT, [zone_policy('a')], explain='none'), zones=['a'])

    assert decision(reply)['details'] == {}


def test_deletion_of_nodes_of_unknown_zone_comes_first(check):
    """Nodes of unknown zone leave first and count under no zone."""
    members = [node(1, 'a'), node(2), node(3)]

    reply = check(request(SCALE_IN, [zone_policy('a')], members, inputs={'count': 3}), zones=['a'])

    assert reply['action']['data']['deletion'] == {'count': 3, 'zones': {'a': 1}}
    assert decision(reply)['details']['unplaced'] == 2


def test_zone_of_a_node_comes_from_its_data_details_or_nova(check):
    """The zone comes from the node's data, else the server's details, else Nova."""
    members = [
        node(1, details={'OS-EXT-AZ:availability_zone': 'a'}),
        node(2, physical_id='s2'),
        node(3, physical_id='s3', data={'placement': {'zone': 'b'}}),
    ]
    servers = {'s2': {'availability_zone': 'a'}, 's3': {'availability_zone': 'a'}}

    reply = check(
        request(SCALE_IN, [zone_policy('a', 'b')], members), zones=['a', 'b'], servers=servers
    )

    assert [(row['name'], row['current']) for row in decision(reply)['details']['zones']] == [
        ('a', 2),
        ('b', 1),
    ]


def test_node_create_records_the_zone_and_keeps_other_data(check):
    """A new node's data get the zone; other keys of the data stay."""
    new = node(9, data={'placement': {'servergroup': 'g1'}, 'other': 1}, status='INIT')

    reply = check(
        request('NODE_CREATE', [zone_policy('a', 'b')], [*nodes(a=1), new], node=new),
        zones=['a', 'b'],
    )

    assert reply['action']['data']['creation'] == {'count': 1, 'zones': {'b': 1}}
    assert reply['nodes'] == {
        'n9': {'data': {'placement': {'servergroup': 'g1', 'zone': 'b'}, 'other': 1}}
    }


@pytest.mark.parametrize('where', ['node', 'cluster'])
def test_node_create_with_a_zone_in_its_profile_is_skipped(check, where):
    """The policy leaves a new node in the zone that the profile of node or cluster names."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'b'}}
    new = node(9, profile=profile) if where == 'node' else node(9)
    more = {} if where == 'node' else {'profile': profile}

    reply = check(request('NODE_CREATE', [zone_policy('a')], node=new, **more), zones=['a'])

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert decision(reply)['reason'] == 'The profile asks for availability zone b.'
    assert reply['action']['data'] == {'status': 'OK', 'reason': 'Completed policy checking.'}


def test_node_create_with_an_empty_zone_in_its_profile_is_planned(check):
    """An empty zone in a profile counts as absent."""
    profile = {
        'type': 'os.nova.server-1.0',
        'properties': {'availability_zone': '', 'context': None},
    }

    reply = check(
        request('NODE_CREATE', [zone_policy('a')], node=node(9), profile=profile), zones=['a']
    )

    assert decision(reply)['outcome'] == 'APPLIED'


def test_creation_keeps_unknown_keys_of_placement_entries(check):
    """Keys that an affinity policy wrote to the entries of new nodes stay."""
    data = {'placement': {'count': 2, 'placements': [{'servergroup': 'g1'}, {'servergroup': 'g1'}]}}

    reply = check(
        request(SCALE_OUT, [zone_policy('a', 'b')], inputs={'count': 2}, data=data),
        zones=['a', 'b'],
    )

    assert reply['action']['data']['placement']['placements'] == [
        {'servergroup': 'g1', 'zone': 'a'},
        {'servergroup': 'g1', 'zone': 'b'},
    ]


@pytest.mark.parametrize(
    ('action', 'zones', 'warnings'),
    [
        (SCALE_OUT, {'a': False}, []),
        (
            SCALE_OUT,
            {'a1': True},
            ['The cloud does not know availability zone "a"; it has "a1"'],
        ),
        (SCALE_IN, {}, ['The cloud does not know availability zone "a"; it has none']),
    ],
)
def test_check_without_a_usable_zone_is_an_error(check, action, zones, warnings):
    """Without a zone to create in or to delete from the check fails, and names unknown zones."""
    reply = check(request(action, [zone_policy('a')], nodes(a=2)), zones=zones)

    assert reply['action']['data']['reason'] == 'No availability zone found available.'
    assert decision(reply)['outcome'] == 'FAILED'
    assert reply['warnings'] == warnings


def test_removal_of_more_nodes_than_there_are_warns_of_the_numbers(check):
    """The prescribed reason hides the numbers, so a warning has them."""
    asked = request(SCALE_IN, [zone_policy('a')], nodes(a=3), inputs={'count': 20})

    reply = check(asked, zones=['a'])

    assert reply['action']['data']['reason'] == 'There is no feasible plan to handle all nodes.'
    assert reply['warnings'] == [
        'The action asks to remove 20 nodes, but the placement policy finds 3'
    ]


def test_deletion_treats_unavailable_zones_as_usable(check):
    """A zone that is unavailable keeps its weight when nodes are deleted."""
    reply = check(
        request(SCALE_IN, [zone_policy('a', 'b')], nodes(a=2, b=2)), zones={'a': False, 'b': False}
    )

    assert reply['action']['data']['deletion'] == {'count': 1, 'zones': {'b': 1}}


def test_cluster_of_another_profile_type_is_skipped(check):
    """The policy skips clusters of profile types that it does not support."""
    reply = check(
        request(SCALE_OUT, [zone_policy('a')], profile={'type': 'os.heat.stack-1.0'}), zones=['a']
    )

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert (
        decision(reply)['reason']
        == 'senlin.policy.zone_placement does not support profile type os.heat.stack-1.0.'
    )


def test_creation_of_no_nodes_is_skipped(check):
    """The policy skips a creation of no nodes, even without zones."""
    reply = check(request(SCALE_OUT, [zone_policy('a')], inputs={'count': 0}), zones=[])

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert reply['action']['data']['status'] == 'OK'


def test_node_create_records_region_and_zone(check):
    """A new node's data get both the region and the zone."""
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]

    reply = check(
        request('NODE_CREATE', policies, [node(1, 'a', 'R1')], node=node(9)), regions=regions
    )

    assert reply['nodes'] == {'n9': {'data': {'placement': {'region_name': 'R2', 'zone': 'b'}}}}


@pytest.mark.parametrize(
    ('action', 'kind', 'regions', 'total'),
    [
        (SCALE_OUT, 'creation', {'R1': 10**18}, 10**18),
        (SCALE_OUT, 'creation', {'R1': 1}, 1),
        (SCALE_OUT, 'creation', {}, 0),
        (SCALE_IN, 'deletion', {'R1': 3}, 3),
    ],
)
def test_region_shares_that_do_not_match_the_count_are_refused(check, action, kind, regions, total):
    """Shares of an earlier policy that do not match the count end the check in ERROR."""
    data = {kind: {'count': 2, 'regions': regions}}

    reply = check(
        request(action, [zone_policy('a')], nodes(a=5), data=data),
        regions={'R1': {'zones': {'a': True}}},
    )

    assert reply['action']['data']['reason'] == (
        f'Expected a plan for 2 nodes, got one for {total} - at `$.action.data.{kind}.regions`'
    )


@pytest.mark.parametrize('digits', [20, 400, 4400])
def test_huge_number_is_refused_without_repeating_it(check, digits):
    """A number beyond 64 bits is refused by an error that does not repeat it."""
    for more in ({'inputs': {'count': 'HUGE'}}, {'data': {'creation': {'count': 'HUGE'}}}):
        text = json.dumps(request(SCALE_OUT, [zone_policy('a')], **more)).replace(
            '"HUGE"', '9' * digits
        )

        try:
            reason = json.loads(check(text, zones=['a']))['action']['data']['reason']
        except InvalidRequest as exc:
            reason = str(exc)

        assert 'a number beyond 64 bits' in reason or 'ut of range' in reason
        assert len(reason) < 200


@pytest.mark.parametrize('priorities', [(100, None), (None, None), (300, 300), (200, 400)])
def test_regions_are_planned_before_zones_whatever_the_priorities(check, priorities):
    """Region placement runs before zone placement whatever the priorities of the bindings."""
    zones, regions = (
        zone_policy('a', 'b', priority=priorities[0]),
        region_policy('R1', 'R2', priority=priorities[1]),
    )
    cloud = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}

    reply = check(request(SCALE_OUT, [zones, regions], inputs={'count': 2}), regions=cloud)

    assert [d['policy_name'] for d in reply['decisions']] == ['region_placement', 'zone_placement']
    assert reply['action']['data']['placement']['placements'] == [
        {'region_name': 'R1', 'zone': 'a'},
        {'region_name': 'R2', 'zone': 'b'},
    ]


def test_earlier_plan_is_replaced_and_unknown_keys_stay(check):
    """A new plan replaces all keys of an earlier one; other keys stay."""
    data = {
        'creation': {
            'count': 2,
            'zones': {'old': 2},
            'places': [{'region_name': 'old', 'count': 2}],
            'kept': 1,
        },
        'placement': {'placements': [{'zone': 'old', 'servergroup': 'g'}]},
    }
    policies = [region_policy('R1'), zone_policy('a')]

    reply = check(request(SCALE_OUT, policies, data=data), regions={'R1': {'zones': {'a': True}}})[
        'action'
    ]['data']

    assert reply['creation'] == {
        'count': 2,
        'kept': 1,
        'regions': {'R1': 2},
        'zones': {'a': 2},
        'places': [{'region_name': 'R1', 'zone': 'a', 'count': 2}],
    }
    placed = {'region_name': 'R1', 'zone': 'a'}
    assert reply['placement']['placements'] == [{'servergroup': 'g', **placed}, placed]


def test_infeasible_plan_has_the_possible_number_in_its_details(check):
    """The details of an infeasible plan show how many nodes were asked for and possible."""
    reply = check(
        request(SCALE_IN, [zone_policy('a')], nodes(a=2), inputs={'count': 3}), zones=['a']
    )

    assert decision(reply)['details'] == {
        'asked': 3,
        'possible': 2,
        'missing': 1,
        'places': [{'name': 'a', 'current': 2, 'cap': -1, 'possible': 2, 'note': ''}],
    }


@pytest.mark.parametrize(
    ('count', 'reason'),
    [(1, '1 node is created without a zone'), (3, '3 nodes are created without a zone')],
)
def test_reason_names_nodes_created_without_a_zone(check, count, reason):
    """Nodes planned in regions without a usable zone are created without a zone."""
    data = {'creation': {'count': count, 'regions': {'R1': count}}}

    reply = check(
        request(SCALE_OUT, [zone_policy('a')], data=data), regions={'R1': {'zones': {'b': True}}}
    )

    assert decision(reply)['reason'] == reason


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'zone_reason', 'deletion_reason'),
    [
        (
            {'adjustment_type': 'EXACT_CAPACITY', 'number': 50},
            {'max_size': 6},
            "2 nodes go to 1 zone; limited to 6 in all by the cluster's max_size",
            'The cluster does not shrink.',
        ),
        (
            {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -4, 'min_size': 3},
            {},
            "1 node leaves 1 zone; limited to 3 in all by the request's min_size",
            'Candidates generated',
        ),
        (
            {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1},
            {'max_size': 4},
            "No node is to be created or deleted; limited to 4 in all by the cluster's max_size",
            "The cluster does not shrink; limited to 4 in all by the cluster's max_size",
        ),
        (
            {'adjustment_type': 'EXACT_CAPACITY', 'number': 6},
            {'max_size': 6},
            '2 nodes go to 1 zone',
            'The cluster does not shrink.',
        ),
    ],
)
def test_reasons_of_a_resize_name_the_bound_that_limits_it(
    check, inputs, bounds, zone_reason, deletion_reason
):
    """The reasons name the bound that limits a resize, and whether cluster or request set it."""
    asked = request(
        'CLUSTER_RESIZE', [zone_policy('a'), deletion_policy()], nodes(a=4), inputs=inputs
    )
    asked['cluster'].update(bounds)

    reply = check(asked, zones=['a'])

    assert [decision['reason'] for decision in reply['decisions']] == [zone_reason, deletion_reason]
    assert 'limited' not in reply['action']['data']['reason']


class Asked:
    """A cloud of two regions that notes whose zones were looked up."""

    def __init__(self, zones):
        """Set the zones by region."""
        self.by_region, self.looked_up = zones, []

    def regions(self):
        """Return the regions that a service may use."""
        return {'R1', 'R2'}

    def zones(self, region):
        """Return the zones of a region."""
        self.looked_up.append(region)
        return self.by_region[region]


@pytest.mark.parametrize(
    ('zones', 'looked_up'),
    [
        ({None: {'a': True}}, [None]),
        ({None: {'a': False}, 'R1': {'a': True}}, [None, 'R1']),
        ({None: {}, 'R1': {}, 'R2': {'a': True}}, [None, 'R1', 'R2']),
    ],
)
def test_check_resources_looks_in_regions_until_all_zones_are_found(registry, zones, looked_up):
    """A zone may be in any region; further regions are not asked once all zones are found."""
    cloud = Asked(zones)

    registry.policy(Spec(**zone_policy('a')['spec']), '$.spec').check_resources(cloud)

    assert cloud.looked_up == looked_up
