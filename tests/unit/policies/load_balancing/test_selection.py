"""Tests for selecting the nodes whose members change."""

import msgspec
import pytest

from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing import selection
from tests.factories import NOW, node, request


def check(action, **more):
    return msgspec.convert(request(action, [], [node(1), node(2)], **more), CheckRequest)


def state(asked):
    return State(ActionData(asked.action.data), None, 10, NOW)


@pytest.mark.parametrize(
    ('asked', 'node_ids'),
    [
        (check('CLUSTER_SCALE_IN', inputs={'count': 1}), None),
        (check('CLUSTER_DEL_NODES'), []),
        (check('CLUSTER_DEL_NODES', inputs={'candidates': ['n2']}), ['n2']),
        (check('CLUSTER_SCALE_IN', data={'deletion': {'candidates': ['n1']}}), ['n1']),
        (check('NODE_DELETE', node=node(2)), ['n2']),
        (check('CLUSTER_REPLACE_NODES', inputs={'candidates': {'n1': 'n3'}}), ['n1']),
    ],
)
def test_to_remove_returns_named_or_chosen_nodes(asked, node_ids):
    """The nodes are those that the action names or an earlier policy chose; None if neither."""
    assert selection.to_remove(asked, state(asked)) == node_ids


@pytest.mark.parametrize(
    ('count', 'protected', 'deleted'), [(1, 'false', 1), (2, 'true', 1), (5, 'false', 2)]
)
def test_deleted_count_is_at_most_the_number_of_unprotected_nodes(count, protected, deleted):
    """No more nodes are removed than the cluster has without the protected ones."""
    members = [node(1), node(2, metadata={'protected': protected})]
    asked = request('CLUSTER_SCALE_IN', [], members, inputs={'count': count})
    asked = msgspec.convert(asked, CheckRequest)

    assert selection.deleted_count(asked, state(asked)) == deleted


@pytest.mark.parametrize(
    ('asked', 'node_ids'),
    [
        (check('CLUSTER_SCALE_OUT', data={'creation': {'nodes': ['n2']}}), ['n2']),
        (check('NODE_CREATE', node=node(2)), ['n2']),
        (check('CLUSTER_REPLACE_NODES', inputs={'candidates': {'n1': 'n3'}}), ['n3']),
    ],
)
def test_to_add_returns_created_nodes(asked, node_ids):
    """The nodes are those that the action created."""
    assert selection.to_add(asked, state(asked)) == node_ids


@pytest.mark.parametrize(
    ('data', 'needed'),
    [({}, True), ({'lb_member': 'm'}, False), ({'lb_member': 'm', 'recovery': 'RECREATE'}, True)],
)
def test_needs_new_member_depends_on_member_and_recovery(data, needed):
    """A recovered node needs a new member if it has none or a new server."""
    asked = check('NODE_RECOVER', node=node(1, data=data) if data else node(1))

    assert selection.needs_new_member(state(asked), asked.action.node) == needed


def test_find_prefers_the_node_of_the_action():
    """The action's node precedes its copy in the cluster; unknown ids are returned apart."""
    asked = check('NODE_CREATE', node=node(2, name='new'))

    nodes, unknown = selection.find(asked, ['n2', 'n9'])

    assert ([one.name for one in nodes], unknown) == (['new'], ['n9'])
