"""Deletions whose victims an earlier policy chose, checked through the chain."""

import pytest

from tests.factories import deletion_policy, nodes, request
from tests.unit.policies.replies import deleted

SCALE_IN = 'CLUSTER_SCALE_IN'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}


def test_empty_candidates_leave_the_choice_to_the_policy(check):
    """An empty list of candidates leaves the choice to the criteria."""
    reply = check(
        request(SCALE_IN, [deletion_policy()], nodes(a=2), inputs={'candidates': [], 'count': 1})
    )

    assert deleted(reply) == ['n1']


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
