"""The deletion policy through the chain."""

import pytest

from tests.requests import deletion_policy, node, nodes, region_policy, request, zone_policy

SCALE_IN = 'CLUSTER_SCALE_IN'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}


def deleted(reply):
    return reply['action']['data']['deletion']['candidates']


def test_the_reply_says_whom_and_how(check):
    policy = deletion_policy(grace_period=7, destroy_after_deletion=False, reduce_desired_capacity=False)

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
    assert deleted(check(request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'count': 5}))) == ['n1', 'n2']


@pytest.mark.parametrize('named', [['n3', 'n1'], {'n3': 'n8', 'n1': 'n9'}])
def test_nodes_that_the_action_names_die_in_its_order(check, named):
    reply = check(
        request('CLUSTER_DEL_NODES', [deletion_policy(hooks=HOOKS)], nodes(a=3), inputs={'candidates': named})
    )

    assert deleted(reply) == ['n3', 'n1']
    assert 'hooks' not in reply['action']['data']


def test_a_named_node_that_is_no_member_is_an_error(check):
    reply = check(
        request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1), inputs={'candidates': ['n1', 'n7', 'n8']})
    )

    assert reply['action']['data'] == {'status': 'ERROR', 'reason': 'Not a member of cluster c1: n7, n8'}


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

    assert [(d['outcome'], d['reason']) for d in reply['decisions']] == [('SKIPPED', 'The cluster does not shrink.')]


def test_it_takes_as_many_from_each_place_as_was_planned(check):
    members = [node(1, 'a', 'R1'), node(2, 'b', 'R1'), node(3, 'b', 'R1'), node(4, 'a', 'R2'), node(5, 'a', 'R2')]
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
    members = [node(1, 'a'), node(2, 'b', status='ERROR'), node(3, 'a'), node(4, 'b', created_at=None)]
    policies = [zone_policy('a', 'b'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 2}, explain='full'), zones=['a', 'b'])

    assert reply['decisions'][1]['details'] == {
        'reasons': {'oldest': 1, 'unhealthy': 1},
        'victims': [
            {'rank': 1, 'id': 'n1', 'place': 'a', 'reason': 'oldest', 'status': 'ACTIVE', 'tainted': False},
            {'rank': 2, 'id': 'n2', 'place': 'b', 'reason': 'unhealthy', 'status': 'ERROR', 'tainted': False},
        ],
        'spared': [
            {'rank': 3, 'id': 'n4', 'place': 'b', 'reason': 'never created', 'status': 'ACTIVE', 'tainted': False},
            {'rank': 4, 'id': 'n3', 'place': 'a', 'reason': 'oldest', 'status': 'ACTIVE', 'tainted': False},
        ],
    }
