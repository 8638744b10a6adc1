"""Zone placement through the chain: what the reply says, and when the policy keeps out."""

import json

import pytest

from placement_worker.errors import InvalidRequest
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'


def decision(reply):
    (only,) = reply['decisions']
    return only


def test_a_creation_says_count_zones_and_an_entry_a_node(check):
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


def test_a_deletion_says_count_and_zones_and_leaves_out_zeros(check):
    reply = check(request(SCALE_IN, [zone_policy('a', 'b')], nodes(a=3, b=1)), zones=['a', 'b'])

    assert reply['action']['data']['deletion'] == {'count': 1, 'zones': {'a': 1}}


def test_the_table_explains_every_place(check):
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


def test_who_wants_no_explanation_gets_none(check):
    reply = check(request(SCALE_OUT, [zone_policy('a')], explain='none'), zones=['a'])

    assert decision(reply)['details'] == {}


def test_nodes_of_unknown_zone_go_first_and_stand_under_no_zone(check):
    members = [node(1, 'a'), node(2), node(3)]

    reply = check(request(SCALE_IN, [zone_policy('a')], members, inputs={'count': 3}), zones=['a'])

    assert reply['action']['data']['deletion'] == {'count': 3, 'zones': {'a': 1}}
    assert decision(reply)['details']['unplaced'] == 2


def test_a_zone_comes_from_the_servers_details_or_else_from_nova(check):
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


def test_a_node_that_is_created_is_told_its_zone_and_keeps_what_else_it_knows(check):
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
def test_a_profile_that_names_a_zone_is_followed(check, where):
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'b'}}
    new = node(9, profile=profile) if where == 'node' else node(9)
    more = {} if where == 'node' else {'profile': profile}

    reply = check(request('NODE_CREATE', [zone_policy('a')], node=new, **more), zones=['a'])

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert decision(reply)['reason'] == 'The profile asks for availability zone b.'
    assert reply['action']['data'] == {'status': 'OK', 'reason': 'Completed policy checking.'}


def test_an_empty_zone_in_a_profile_counts_as_none(check):
    profile = {
        'type': 'os.nova.server-1.0',
        'properties': {'availability_zone': '', 'context': None},
    }

    reply = check(
        request('NODE_CREATE', [zone_policy('a')], node=node(9), profile=profile), zones=['a']
    )

    assert decision(reply)['outcome'] == 'APPLIED'


def test_what_affinity_said_of_each_node_stays(check):
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
    ('action', 'zones'), [(SCALE_OUT, {'a': False}), (SCALE_OUT, {'x': True}), (SCALE_IN, {})]
)
def test_without_a_usable_zone_there_is_no_plan(check, action, zones):
    reply = check(request(action, [zone_policy('a')], nodes(a=2)), zones=zones)

    assert reply['action']['data']['reason'] == 'No availability zone found available.'
    assert decision(reply)['outcome'] == 'FAILED'


def test_a_zone_that_is_down_is_no_reason_to_kill_its_nodes(check):
    reply = check(
        request(SCALE_IN, [zone_policy('a', 'b')], nodes(a=2, b=2)), zones={'a': False, 'b': False}
    )

    assert reply['action']['data']['deletion'] == {'count': 1, 'zones': {'b': 1}}


def test_the_policy_keeps_out_of_clusters_of_other_profiles(check):
    reply = check(
        request(SCALE_OUT, [zone_policy('a')], profile={'type': 'os.heat.stack-1.0'}), zones=['a']
    )

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert (
        decision(reply)['reason']
        == 'senlin.policy.zone_placement does not support profile type os.heat.stack-1.0.'
    )


def test_nothing_to_create_is_nothing_to_decide(check):
    reply = check(request(SCALE_OUT, [zone_policy('a')], inputs={'count': 0}), zones=[])

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert reply['action']['data']['status'] == 'OK'


def test_zones_alone_are_those_of_the_clusters_region(check):
    profile = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R2'}}}
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}

    reply = check(request(SCALE_OUT, [zone_policy('a', 'b')], profile=profile), regions=regions)

    assert reply['action']['data']['creation']['zones'] == {'b': 1}


def test_with_regions_planned_zones_are_planned_inside_each(check):
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


def test_a_created_node_is_told_region_and_zone(check):
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
def test_shares_of_regions_that_are_not_those_of_the_count_are_refused(
    check, action, kind, regions, total
):
    data = {kind: {'count': 2, 'regions': regions}}

    reply = check(
        request(action, [zone_policy('a')], nodes(a=5), data=data),
        regions={'R1': {'zones': {'a': True}}},
    )

    assert reply['action']['data']['reason'] == (
        f'Expected a plan for 2 nodes, got one for {total} - at `$.action.data.{kind}.regions`'
    )


@pytest.mark.parametrize('digits', [20, 400, 4400])
def test_a_number_beyond_reason_is_refused_and_not_repeated(check, digits):
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


def test_what_an_earlier_plan_said_does_not_linger(check):
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


def test_a_region_without_a_usable_zone_has_a_row_too(check):
    policies = [region_policy('R1'), zone_policy('a')]

    members = [node(1, 'q', 'R1'), node(2, 'q', 'R1')]
    reply = check(request(SCALE_IN, policies, members), regions={'R1': {'zones': {'q': True}}})

    (row,) = reply['decisions'][1]['details']['zones']
    assert (row['region_name'], row['current'], row['planned'], row['final'], row['note']) == (
        'R1',
        2,
        1,
        1,
        'no usable zone',
    )


def test_a_plan_that_cannot_be_made_says_how_much_was_possible(check):
    reply = check(
        request(SCALE_IN, [zone_policy('a')], nodes(a=2), inputs={'count': 3}), zones=['a']
    )

    assert decision(reply)['details'] == {'asked': 3, 'possible': 2}


@pytest.mark.parametrize(
    ('count', 'reason'),
    [(1, '1 node is created without a zone'), (3, '3 nodes are created without a zone')],
)
def test_nodes_that_another_plan_creates_in_regions_without_a_usable_zone_are_told_as_such(
    check, count, reason
):
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
def test_a_resize_that_a_bound_cuts_says_which_bound(
    check, inputs, bounds, zone_reason, deletion_reason
):
    asked = request(
        'CLUSTER_RESIZE', [zone_policy('a'), deletion_policy()], nodes(a=4), inputs=inputs
    )
    asked['cluster'].update(bounds)

    reply = check(asked, zones=['a'])

    assert [decision['reason'] for decision in reply['decisions']] == [zone_reason, deletion_reason]
    assert 'limited' not in reply['action']['data']['reason']
