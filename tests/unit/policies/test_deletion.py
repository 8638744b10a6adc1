"""The deletion policy through the chain."""

import random

import pytest

from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

SCALE_IN = 'CLUSTER_SCALE_IN'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}


def deleted(reply):
    return reply['action']['data']['deletion']['candidates']


def test_the_reply_says_whom_and_how(check):
    policy = deletion_policy(
        grace_period=7, destroy_after_deletion=False, reduce_desired_capacity=False
    )

    reply = check(request(SCALE_IN, [policy], nodes(a=3), inputs={'count': 2}))

    assert reply['action']['data'] == {
        'deletion': {
            'count': 2,
            'candidates': ['n1', 'n2'],
            'destroy_after_deletion': False,
            'grace_period': 7,
            'reduce_desired_capacity': False,
        },
        'status': 'OK',
        'reason': 'Candidates generated',
    }


def test_what_others_said_of_the_deletion_stays(check):
    data = {'deletion': {'count': 1, 'mark': 'x'}, 'other': 1}

    reply = check(request(SCALE_IN, [deletion_policy()], nodes(a=2), data=data))

    assert reply['action']['data']['deletion']['mark'] == 'x'
    assert reply['action']['data']['other'] == 1


def test_more_than_there_are_means_all(check):
    assert deleted(
        check(request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'count': 5}))
    ) == ['n1', 'n2']


@pytest.mark.parametrize('named', [['n3', 'n1'], {'n3': 'n8', 'n1': 'n9'}])
def test_nodes_that_the_action_names_die_in_its_order(check, named):
    reply = check(
        request(
            'CLUSTER_DEL_NODES',
            [deletion_policy(hooks=HOOKS)],
            nodes(a=3),
            inputs={'candidates': named},
        )
    )

    assert deleted(reply) == ['n3', 'n1']
    assert 'hooks' not in reply['action']['data']


def test_a_named_node_that_is_no_member_is_an_error(check):
    reply = check(
        request(
            'CLUSTER_DEL_NODES',
            [deletion_policy()],
            nodes(a=1),
            inputs={'candidates': ['n1', 'n7', 'n8']},
        )
    )

    assert reply['action']['data'] == {
        'status': 'ERROR',
        'reason': 'Not a member of cluster c1: n7, n8',
    }


def test_deleting_nodes_without_naming_any_is_an_error(check):
    reply = check(request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1)))

    assert reply['action']['data']['reason'] == (
        'Expected the nodes to delete, got none - at `$.action.inputs.candidates`'
    )


def test_a_node_delete_deletes_its_node(check):
    reply = check(request('NODE_DELETE', [deletion_policy(hooks=HOOKS)], nodes(a=2), node=node(2)))

    assert deleted(reply) == ['n2']
    assert 'hooks' not in reply['action']['data']


def test_hooks_are_told_of_victims_that_were_chosen(check):
    reply = check(request(SCALE_IN, [deletion_policy(hooks=HOOKS)], nodes(a=2)))

    assert reply['action']['data']['hooks'] == {
        'type': 'webhook',
        'timeout': 5,
        'params': {'queue': '', 'url': 'http://here/'},
    }


def test_version_1_0_has_no_hooks(check):
    reply = check(request(SCALE_IN, [deletion_policy(version='1.0')], nodes(a=2)))

    assert deleted(reply) == ['n1']


def test_a_resize_that_grows_is_none_of_its_business(check):
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1}

    reply = check(request('CLUSTER_RESIZE', [deletion_policy()], nodes(a=2), inputs=inputs))

    assert [(d['outcome'], d['reason']) for d in reply['decisions']] == [
        ('SKIPPED', 'The cluster does not shrink.')
    ]


def test_it_takes_as_many_from_each_place_as_was_planned(check):
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
        {'region_name': 'R1', 'zone': 'b', 'count': 2},
        {'region_name': 'R2', 'zone': 'a', 'count': 1},
    ]
    assert deleted(reply) == ['n2', 'n3', 'n4']


def test_a_region_whose_nodes_have_no_known_zone_gives_just_its_share(check):
    members = [node(1, 'a', 'R1'), node(2, None, 'R1'), node(3, 'a', 'R2'), node(4, None, 'R2')]
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': True}}}
    policies = [region_policy(('R1', 100), ('R2', 100)), zone_policy('a'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 1}), regions=regions)

    assert reply['action']['data']['deletion']['regions'] == {'R2': 1}
    assert deleted(reply) == ['n4']


def test_full_explanation_ranks_each_victim_and_shows_the_first_spared(check):
    members = [
        node(1, 'a'),
        node(2, 'b', status='ERROR'),
        node(3, 'a'),
        node(4, 'b', created_at=None),
    ]
    policies = [zone_policy('a', 'b'), deletion_policy()]

    reply = check(
        request(SCALE_IN, policies, members, inputs={'count': 3}, explain='full'), zones=['a', 'b']
    )

    assert reply['decisions'][1]['details'] == {
        'reasons': {'never created': 1, 'oldest': 1, 'unhealthy': 1},
        'victims': [
            {
                'rank': 1,
                'id': 'n1',
                'place': 'a',
                'reason': 'oldest',
                'status': 'ACTIVE',
                'tainted': False,
            },
            {
                'rank': 2,
                'id': 'n2',
                'place': 'b',
                'reason': 'unhealthy',
                'status': 'ERROR',
                'tainted': False,
            },
            {
                'rank': 3,
                'id': 'n4',
                'place': 'b',
                'reason': 'never created',
                'status': 'ACTIVE',
                'tainted': False,
            },
        ],
        'spared': [
            {
                'rank': 4,
                'id': 'n3',
                'place': 'a',
                'reason': 'oldest',
                'status': 'ACTIVE',
                'tainted': False,
            },
        ],
    }


def test_a_plan_that_takes_only_nodes_of_unknown_zone_takes_them(check):
    members = [node(1, 'a'), node(2, 'a'), node(3, 'b'), node(4, 'b'), node(5), node(6)]

    reply = check(
        request(SCALE_IN, [zone_policy('a', 'b'), deletion_policy()], members, inputs={'count': 2}),
        zones=['a', 'b'],
    )

    assert reply['action']['data']['deletion']['zones'] == {}
    assert deleted(reply) == ['n5', 'n6']
    assert reply['decisions'][0]['reason'] == '2 nodes of no known zone leave'


def test_a_plan_that_takes_only_nodes_of_unknown_region_takes_them(check):
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
def test_every_quota_is_met_whatever_the_cluster(check, seed):
    """Random clusters over two regions with zones, some nodes unplaced, some regions without usable
    zones.
    """
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


@pytest.mark.parametrize('decided', [None, 'x', 5, []])
@pytest.mark.parametrize(
    'action', ['CLUSTER_DEL_NODES', 'NODE_DELETE', 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE']
)
def test_a_decision_that_is_no_map_is_named(check, action, decided):
    more = {'node': node(1)} if action == 'NODE_DELETE' else {'inputs': {'candidates': ['n1']}}

    reply = check(
        request(action, [deletion_policy()], nodes(a=1), data={'deletion': decided}, **more)
    )

    assert reply['action']['data']['status'] == 'ERROR'
    assert ' - at `$.action.data.deletion`' in reply['action']['data']['reason']


def test_no_named_candidates_leave_the_choice_to_the_policy(check):
    reply = check(
        request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'candidates': [], 'count': 1})
    )

    assert deleted(reply) == ['n1']


def test_many_strangers_are_not_all_listed(check):
    named = [f's{n}' for n in range(1000)]

    reply = check(
        request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1), inputs={'candidates': named})
    )

    assert reply['action']['data']['reason'].endswith('s8, s9 and 990 more')


def kept(candidates, count=None, **decided):
    """The data that an earlier policy left which has chosen these nodes."""
    return {
        'deletion': {
            'candidates': candidates,
            **({} if count is None else {'count': count}),
            **decided,
        }
    }


@pytest.mark.parametrize(
    ('count', 'victims'), [(None, ['n4', 'n2']), (2, ['n4', 'n2']), (1, ['n4', 'n2'])]
)
def test_candidates_of_an_earlier_policy_are_kept(check, count, victims):
    """Nodes that an earlier policy chose stay the victims if `count` asks for no more."""
    reply = check(
        request(
            SCALE_IN, [deletion_policy()], nodes(a=5), data=kept(victims, count), explain='full'
        )
    )

    assert (deleted(reply), reply['action']['data']['deletion']['count']) == (victims, len(victims))
    details = reply['decisions'][0]['details']
    assert details['reasons'] == {'chosen by an earlier policy': 2}
    assert [(row['rank'], row['id'], row['reason']) for row in details['victims']] == [
        (1, 'n4', 'chosen by an earlier policy'),
        (2, 'n2', 'chosen by an earlier policy'),
    ]


def test_candidates_of_an_earlier_policy_fewer_than_count_are_filled_up(check):
    """The criteria choose the rest of `count` after the nodes that an earlier policy chose."""
    reply = check(
        request(SCALE_IN, [deletion_policy()], nodes(a=5), data=kept(['n4'], 3), explain='full')
    )

    assert deleted(reply) == ['n4', 'n1', 'n2']
    details = reply['decisions'][0]['details']
    assert details['reasons'] == {'chosen by an earlier policy': 1, 'oldest': 2}
    assert [(row['rank'], row['id']) for row in details['victims']] == [
        (1, 'n4'),
        (2, 'n1'),
        (3, 'n2'),
    ]
    assert [(row['rank'], row['id']) for row in details['spared']] == [(4, 'n3'), (5, 'n5')]


@pytest.mark.parametrize(
    ('chosen', 'count', 'zones', 'victims'),
    [
        (['n4'], 3, {'a': 2, 'b': 1}, ['n4', 'n1', 'n2']),
        (['n4', 'n5'], 3, {'a': 2, 'b': 1}, ['n4', 'n5', 'n1']),
        (['n1'], 2, {'b': 1}, ['n1', 'n4']),
    ],
)
def test_candidates_of_an_earlier_policy_count_within_the_quota_of_their_place(
    check, chosen, count, zones, victims
):
    """The quota of a place is less by the nodes of it that an earlier policy chose."""
    data = kept(chosen, count, zones=zones)

    assert (
        deleted(check(request(SCALE_IN, [deletion_policy()], nodes(a=3, b=3), data=data)))
        == victims
    )


def test_candidates_of_an_earlier_policy_that_are_no_members_are_an_error(check):
    """A chosen node outside the cluster is an error that names the node."""
    reply = check(request(SCALE_IN, [deletion_policy()], nodes(a=2), data=kept(['n1', 'n9'])))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Not a member of cluster c1: n9',
    )


def test_candidates_of_an_earlier_policy_come_before_those_of_the_inputs(check):
    """A policy that narrowed down the nodes that the user named has the last word."""
    named = {'candidates': ['n1', 'n2', 'n3']}
    data = kept(['n2'], 1)

    assert deleted(
        check(
            request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=3), inputs=named, data=data)
        )
    ) == ['n2']


def test_candidates_of_an_earlier_policy_get_hooks(check):
    """Nodes that a policy chose get hooks, whichever policy chose them."""
    reply = check(request(SCALE_IN, [deletion_policy(hooks=HOOKS)], nodes(a=2), data=kept(['n2'])))

    assert (deleted(reply), reply['action']['data']['hooks']) == (
        ['n2'],
        HOOKS | {'params': {'queue': '', **HOOKS['params']}},
    )


def test_a_node_outside_the_cluster_is_not_deleted(check):
    """A NODE_DELETE of a node that is not a member of the cluster ends in ERROR and names the
    node.
    """
    stranger = node(9)

    reply = check(request('NODE_DELETE', [deletion_policy()], [node(1)], node=stranger))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Not a member of cluster c1: n9',
    )
