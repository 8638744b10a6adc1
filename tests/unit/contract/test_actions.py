"""The actions of Senlin."""

import pytest

from placement_worker.contract import actions


@pytest.mark.parametrize(
    ('action', 'cause', 'expected'),
    [
        ('NODE_CREATE', 'Derived Action', True),
        ('NODE_CREATE', 'RPC Request', False),
        ('NODE_CREATE', None, False),
        ('CLUSTER_SCALE_OUT', 'Derived Action', False),
    ],
)
def test_is_derived_of_an_action_depends_on_its_cause_and_target(action, cause, expected):
    """Only an action of a node with the cause of a derived action is a derived one."""
    assert actions.is_derived(action, cause) is expected


def test_all_contains_the_actions_of_nodes():
    """Each action that needs a node is an action of Senlin."""
    assert actions.OF_A_NODE < actions.ALL
