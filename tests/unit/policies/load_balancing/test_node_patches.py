"""Tests for the patches of nodes."""

import pytest

from placement_worker.contract.model import Node, NodePatch
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_change import node_patch
from tests.factories import NOW

FAILURE = 'Failed in adding node into lb pool.'
STATE = State({}, None, 10, NOW, nodes={'n2': NodePatch({'b': 2})})


def patched(node, **change):
    return node_patch(STATE, node, **change)


@pytest.mark.parametrize(
    ('node', 'change', 'data'),
    [
        (Node('n1', data={'a': 1}), {'member_id': 'm1'}, {'a': 1, 'lb_member': 'm1'}),
        (Node('n1', data={'lb_member': 'm0'}), {'member_id': 'm1'}, {'lb_member': 'm1'}),
        (Node('n1', data={'a': 1, 'recovery': 'x'}), {'outdated': ('recovery',)}, {'a': 1}),
        (Node('n2', data={'b': 0}), {'member_id': 'm1'}, {'b': 2, 'lb_member': 'm1'}),
    ],
)
def test_patches_of_changed_data_continue_earlier_patches(node, change, data):
    """A patch has the whole new data, based on the patches of earlier policies."""
    assert patched(node, **change) == {node.id: NodePatch(data)}


@pytest.mark.parametrize('change', [{}, {'member_id': 'm1'}, {'outdated': ('recovery',)}])
def test_patches_of_unchanged_data_are_omitted(change):
    """A node whose data stay the same gets no patch."""
    assert patched(Node('n1', data={'lb_member': 'm1'}), **change) == {}


@pytest.mark.parametrize(
    ('status', 'reason', 'expected'),
    [
        ('ACTIVE', 'Created', ('WARNING', FAILURE)),
        ('WARNING', None, ('WARNING', FAILURE)),
        ('WARNING', 'No ping', ('WARNING', f'No ping. {FAILURE}')),
        ('WARNING', FAILURE, ('WARNING', FAILURE)),
        ('ERROR', None, ('ERROR', FAILURE)),
        ('ERROR', 'No host. ', ('ERROR', f'No host. {FAILURE}')),
        ('ERROR', f'No host. {FAILURE}', ('ERROR', f'No host. {FAILURE}')),
    ],
)
def test_patches_of_failed_node_keep_an_earlier_reason(status, reason, expected):
    """A failed node gets a warning; an unhealthy node keeps its status and its reason."""
    node = Node('n1', data={'a': 1}, status=status, status_reason=reason)

    assert patched(node, failure=FAILURE) == {'n1': NodePatch({'a': 1}, *expected)}


def test_patch_of_repaired_node_makes_it_active():
    """A warning of an earlier failure ends when the node has a member, old or new."""
    node = Node('n1', data={'lb_member': 'm1'}, status='WARNING', status_reason=FAILURE)

    assert patched(node, repaired=FAILURE) == {
        'n1': NodePatch({'lb_member': 'm1'}, 'ACTIVE', 'Succeeded in adding node into lb pool.')
    }


@pytest.mark.parametrize(
    ('status', 'reason'),
    [
        ('WARNING', None),
        ('WARNING', f'No ping. {FAILURE}'),
        ('ERROR', FAILURE),
        ('ACTIVE', FAILURE),
    ],
)
def test_patch_of_node_with_another_status_or_reason_keeps_its_status(status, reason):
    """Only the warning that the policy has written itself ends."""
    node = Node('n1', data={}, status=status, status_reason=reason)

    assert patched(node, member_id='m1', repaired=FAILURE) == {'n1': NodePatch({'lb_member': 'm1'})}
