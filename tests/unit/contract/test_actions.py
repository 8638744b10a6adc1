"""The actions of Senlin."""

from placement_worker.contract import actions


def test_all_contains_the_actions_of_nodes():
    """Each action that needs a node is an action of Senlin."""
    assert actions.OF_A_NODE < actions.ALL
