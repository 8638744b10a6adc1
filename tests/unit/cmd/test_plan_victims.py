"""The nodes that an action would delete, with the reasons."""

import pytest

from placement_worker.cmd import plan_comparison
from placement_worker.cmd.plan_changes import Changes
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply, CheckRequest
from tests.factories import connected, deletion_policy, request
from tests.simulated_octavia import Lab


@pytest.fixture
def changes_of():
    """Return a function that plans an action on two members of a pool."""

    def plan(action: str, *policies, **more) -> Changes:
        lab = Lab()
        policy, members = lab.attached([connected(1), connected(2)])
        asked = request(action, [policy, *policies], members, dry_run=True, **more)
        reply = codec.decode(lab.check(asked), CheckReply)
        return plan_comparison.compare(codec.decode(asked, CheckRequest), reply)

    return plan


def reasons(changes: Changes) -> list[str]:
    return [victim.reason for victim in changes.victims]


def test_reason_of_a_victim_that_load_balancing_chose_names_load_balancing(changes_of):
    """A plan does not claim that the action names a node that load balancing chose."""
    assert reasons(changes_of('CLUSTER_SCALE_IN', inputs={'count': 1})) == [
        'chosen by load balancing'
    ]


def test_reason_of_a_victim_that_the_action_names_is_the_action(changes_of):
    """A plan says so if the action names the node to delete."""
    changes = changes_of('CLUSTER_DEL_NODES', inputs={'candidates': ['n2']})

    assert [victim.id for victim in changes.victims] == ['n2']
    assert reasons(changes) == ['named by the action']


def test_reason_of_the_node_of_node_delete_is_the_action(changes_of):
    """The action names the node of NODE_DELETE."""
    changes = changes_of('NODE_DELETE', deletion_policy(), node=connected(2))

    assert reasons(changes) == ['named by the action']


def test_reason_of_a_victim_that_was_chosen_before_is_empty(changes_of):
    """A plan gives no reason for a node that the data of the action names already."""
    data = {'deletion': {'count': 1, 'candidates': ['n1']}}

    assert reasons(changes_of('CLUSTER_SCALE_IN', inputs={'count': 1}, data=data)) == ['']


def test_reason_of_a_victim_that_another_policy_chose_is_not_load_balancing(changes_of):
    """A reply without ranks does not attribute the choice of another policy to load balancing."""
    assert reasons(changes_of('CLUSTER_SCALE_IN', deletion_policy(), inputs={'count': 1})) == ['']
