"""The deletion policy, checked through the chain."""

import random

import pytest

from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

SCALE_IN = 'CLUSTER_SCALE_IN'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}


def deleted(reply):
    """Return the ids of the victims."""
    return reply['action']['data']['deletion']['candidates']


def test_deletion_reply_has_victims_and_properties(check):
    """The reply holds the victims, their number and the properties of the policy."""
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


def test_deletion_keeps_unknown_keys_of_the_data(check):
    """Keys that the worker does not know stay in the data and in its `deletion`."""
    data = {'deletion': {'count': 1, 'mark': 'x'}, 'other': 1}

    reply = check(request(SCALE_IN, [deletion_policy()], nodes(a=2), data=data))

    assert reply['action']['data']['deletion']['mark'] == 'x'
    assert reply['action']['data']['other'] == 1


def test_deletion_of_more_nodes_than_exist_takes_all(check):
    """A count beyond the size of the cluster deletes all nodes."""
    assert deleted(
        check(request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'count': 5}))
    ) == ['n1', 'n2']


@pytest.mark.parametrize('named', [['n3', 'n1'], {'n3': 'n8', 'n1': 'n9'}])
def test_named_nodes_are_the_victims_in_their_order(check, named):
    """Nodes that the action names are the victims, in its order and without hooks."""
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


def test_named_node_outside_the_cluster_is_an_error(check):
    """Named nodes outside the cluster end the check in ERROR; the reason lists them."""
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


def test_del_nodes_without_candidates_is_an_error(check):
    """CLUSTER_DEL_NODES without candidates ends in ERROR and names the missing input."""
    reply = check(request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1)))

    assert reply['action']['data']['reason'] == (
        'Expected the nodes to delete, got none - at `$.action.inputs.candidates`'
    )


def test_node_delete_has_its_node_as_the_victim(check):
    """NODE_DELETE deletes the node of the action, without hooks."""
    reply = check(request('NODE_DELETE', [deletion_policy(hooks=HOOKS)], nodes(a=2), node=node(2)))

    assert deleted(reply) == ['n2']
    assert 'hooks' not in reply['action']['data']


@pytest.mark.parametrize(
    ('action', 'inputs'),
    [
        (SCALE_IN, {}),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -2}),
    ],
)
def test_named_nodes_of_a_scaling_action_are_the_victims_without_a_warning(check, action, inputs):
    """A scaling action may name its victims, and its reply warns of nothing."""
    named = {**inputs, 'candidates': ['n3', 'n1']}

    reply = check(request(action, [deletion_policy()], nodes(a=3), inputs=named))

    assert (deleted(reply), reply['warnings']) == (['n3', 'n1'], [])


def test_named_nodes_of_a_node_delete_are_the_victims_without_a_warning(check):
    """NODE_DELETE deletes the nodes that its inputs name, as Senlin's policy does."""
    named = {'candidates': ['n1']}

    reply = check(
        request('NODE_DELETE', [deletion_policy()], nodes(a=2), node=node(2), inputs=named)
    )

    assert (deleted(reply), reply['warnings']) == (['n1'], [])


def test_chosen_victims_get_the_configured_hooks(check):
    """Hooks of the policy are in the reply if the policy chose the victims."""
    reply = check(request(SCALE_IN, [deletion_policy(hooks=HOOKS)], nodes(a=2)))

    assert reply['action']['data']['hooks'] == {
        'type': 'webhook',
        'timeout': 5,
        'params': {'queue': '', 'url': 'http://here/'},
    }


def test_version_1_0_needs_no_hooks(check):
    """A policy of version 1.0 chooses victims as version 1.1 does."""
    reply = check(request(SCALE_IN, [deletion_policy(version='1.0')], nodes(a=2)))

    assert deleted(reply) == ['n1']


def test_resize_that_grows_is_skipped(check):
    """The policy skips a resize that adds nodes."""
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1}

    reply = check(request('CLUSTER_RESIZE', [deletion_policy()], nodes(a=2), inputs=inputs))

    assert [(d['outcome'], d['reason']) for d in reply['decisions']] == [
        ('SKIPPED', 'The cluster does not shrink.')
    ]


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
        {'region_name': 'R1', 'zone': 'b', 'count': 2},
        {'region_name': 'R2', 'zone': 'a', 'count': 1},
    ]
    assert deleted(reply) == ['n2', 'n3', 'n4']


def test_region_with_nodes_of_unknown_zone_gives_its_share(check):
    """A region's share is met by its nodes of unknown zone."""
    members = [node(1, 'a', 'R1'), node(2, None, 'R1'), node(3, 'a', 'R2'), node(4, None, 'R2')]
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': True}}}
    policies = [region_policy(('R1', 100), ('R2', 100)), zone_policy('a'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 1}), regions=regions)

    assert reply['action']['data']['deletion']['regions'] == {'R2': 1}
    assert deleted(reply) == ['n4']


def test_full_explanation_ranks_each_victim_and_shows_the_first_spared(check):
    """A full explanation ranks all victims and the next nodes, each with its reason."""
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


@pytest.mark.parametrize('decided', [None, 'x', 5, []])
@pytest.mark.parametrize(
    'action', ['CLUSTER_DEL_NODES', 'NODE_DELETE', 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE']
)
def test_deletion_data_of_another_type_are_an_error(check, action, decided):
    """A `deletion` that is not a map ends in ERROR; the reason names its path."""
    more = {'node': node(1)} if action == 'NODE_DELETE' else {'inputs': {'candidates': ['n1']}}

    reply = check(
        request(action, [deletion_policy()], nodes(a=1), data={'deletion': decided}, **more)
    )

    assert reply['action']['data']['status'] == 'ERROR'
    assert ' - at `$.action.data.deletion`' in reply['action']['data']['reason']


def test_empty_candidates_leave_the_choice_to_the_policy(check):
    """An empty list of candidates leaves the choice to the criteria."""
    reply = check(
        request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'candidates': [], 'count': 1})
    )

    assert deleted(reply) == ['n1']


def test_error_for_many_unknown_nodes_lists_ten(check):
    """The error for a thousand unknown nodes lists ten and the number of the others."""
    named = [f's{n}' for n in range(1000)]

    reply = check(
        request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1), inputs={'candidates': named})
    )

    assert reply['action']['data']['reason'].endswith('s8, s9 and 990 more')


def kept(candidates, count=None, **decided):
    """Return the data of an earlier policy that chose these nodes."""
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
def test_candidates_of_an_earlier_policy_count_towards_their_removal_count(
    check, chosen, count, zones, victims
):
    """Nodes that an earlier policy chose reduce the removal count of their place."""
    data = kept(chosen, count, zones=zones)

    assert (
        deleted(check(request(SCALE_IN, [deletion_policy()], nodes(a=3, b=3), data=data)))
        == victims
    )


def test_candidates_of_an_earlier_policy_outside_the_cluster_are_an_error(check):
    """A chosen node outside the cluster is an error that names the node."""
    reply = check(request(SCALE_IN, [deletion_policy()], nodes(a=2), data=kept(['n1', 'n9'])))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Not a member of cluster c1: n9',
    )


def test_candidates_of_an_earlier_policy_come_before_those_of_the_inputs(check):
    """Nodes that an earlier policy chose take precedence over those that the user named."""
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


def test_node_delete_of_a_node_outside_the_cluster_is_an_error(check):
    """NODE_DELETE of a node outside the cluster ends in ERROR and names the node."""
    reply = check(request('NODE_DELETE', [deletion_policy()], [node(1)], node=node(9)))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Not a member of cluster c1: n9',
    )
