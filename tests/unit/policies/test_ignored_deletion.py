"""An action that adds nodes: the deletion that it ignores."""

import pytest

from tests.factories import deletion_policy, node, nodes, request, zone_policy

RESIZE = 'CLUSTER_RESIZE'
GROW = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1}
DECIDED = {'creation': {'count': 2}, 'deletion': {'count': 1, 'candidates': ['n1']}}
IGNORED = 'The action adds {} and removes none, so it ignores {}: remove nodes by an action of '
IGNORED += 'their own'
CHAINS = pytest.mark.parametrize(
    'policies',
    [[deletion_policy()], [zone_policy('a')], [zone_policy('a'), deletion_policy()]],
)


@CHAINS
def test_deletion_in_a_growing_resize_is_left_out_with_a_warning(check, policies):
    """The reply to a resize that adds nodes shows no deletion, and a warning says so once."""
    reply = check(request(RESIZE, policies, nodes(a=2), data=DECIDED), zones=['a'])

    assert reply['action']['data']['status'] == 'OK'
    assert reply['action']['data']['creation']['count'] == 2
    assert 'deletion' not in reply['action']['data']
    assert reply['warnings'] == [IGNORED.format('2 nodes', 'data.deletion')]


@pytest.mark.parametrize(
    ('action', 'more', 'added'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 2}}, '2 nodes'),
        ('NODE_CREATE', {'node': node(3)}, '1 node'),
    ],
)
def test_deletion_in_an_action_that_only_adds_is_left_out_with_a_warning(
    check, action, more, added
):
    """The reply to a scale-out or to the creation of a node shows no deletion, and says so once."""
    data = {'deletion': DECIDED['deletion']}

    reply = check(request(action, [zone_policy('a')], nodes(a=2), data=data, **more), zones=['a'])

    assert reply['action']['data']['status'] == 'OK'
    assert 'deletion' not in reply['action']['data']
    assert reply['warnings'] == [IGNORED.format(added, 'data.deletion')]


@CHAINS
def test_named_nodes_of_a_growing_resize_are_an_error(check, policies):
    """A resize that removes fewer nodes than it names fails, also if it removes none."""
    named = {**GROW, 'candidates': ['n1']}

    reply = check(request(RESIZE, policies, nodes(a=2), inputs=named), zones=['a'])

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'The action names 1 node to delete, but removes only 0.',
    )


@CHAINS
def test_protected_node_in_a_growing_resize_is_refused(check, policies):
    """A protected node that a growing resize carries as a victim is an error."""
    members = [node(1, 'a', metadata={'protected': 'true'}), node(2, 'a')]

    reply = check(request(RESIZE, policies, members, data=DECIDED), zones=['a'])

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Protected nodes must not be deleted: n1 is protected; remove their protection first',
    )


def test_unknown_victim_of_a_growing_resize_is_refused(check):
    """A victim that is not a member of the cluster is an error in a growing resize, too."""
    data = {'creation': {'count': 1}, 'deletion': {'candidates': ['n7']}}

    reply = check(request(RESIZE, [deletion_policy()], nodes(a=2), data=data))

    assert reply['action']['data']['reason'] == 'Not a member of cluster c1: n7'


@pytest.mark.parametrize(
    'data', [{'deletion': DECIDED['deletion']}, {**DECIDED, 'creation': {'count': 0}}]
)
def test_deletion_in_a_shrinking_resize_is_kept(check, data):
    """A resize that creates no node keeps its decided victims, without this warning."""
    reply = check(request(RESIZE, [deletion_policy()], nodes(a=2), data=data))

    assert reply['action']['data']['deletion']['candidates'] == ['n1']
    assert reply['warnings'] == []
