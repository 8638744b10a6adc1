"""The deletion policy, checked through the chain."""

import pytest

from tests.factories import deletion_policy, node, nodes, request
from tests.unit.policies.replies import deleted

SCALE_IN = 'CLUSTER_SCALE_IN'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}


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


def test_resize_that_grows_is_skipped(check):
    """The policy skips a resize that adds nodes."""
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1}

    reply = check(request('CLUSTER_RESIZE', [deletion_policy()], nodes(a=2), inputs=inputs))

    assert [(d['outcome'], d['reason']) for d in reply['decisions']] == [
        ('SKIPPED', 'The cluster does not shrink.')
    ]


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


def test_error_for_many_unknown_nodes_lists_ten(check):
    """The error for a thousand unknown nodes lists ten and the number of the others."""
    named = [f's{n}' for n in range(1000)]

    reply = check(
        request('CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=1), inputs={'candidates': named})
    )

    assert reply['action']['data']['reason'].endswith('s8, s9 and 990 more')


def test_node_delete_of_a_node_outside_the_cluster_is_an_error(check):
    """NODE_DELETE of a node outside the cluster ends in ERROR and names the node."""
    reply = check(request('NODE_DELETE', [deletion_policy()], [node(1)], node=node(9)))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Not a member of cluster c1: n9',
    )
