"""The wait between the removal of pool members and the deletion of their nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.cmd.plan_victims import LOAD_BALANCING
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import Decision


def wait_s(data: Mapping[str, Any], decisions: Sequence[Decision]) -> int:
    """Return the seconds from the removal of members to the deletion of their nodes.

    The result is 0 if no member leaves a pool.

    :param data: the action's data in the reply.
    """
    deletion = data.get(DELETION)
    grace_period = deletion.get('grace_period') if isinstance(deletion, dict) else None
    leaving = any(
        decision.policy_type.startswith(LOAD_BALANCING) and decision.details.get('removed')
        for decision in decisions
    )
    return grace_period if leaving and isinstance(grace_period, int) else 0


def sentence(seconds: int) -> str:
    """Return the wait in words."""
    return f'members leave now, nodes are deleted {seconds} s later'
