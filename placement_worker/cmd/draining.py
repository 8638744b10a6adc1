"""The wait between the removal of pool members and the deletion of their nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Decision
from placement_worker.errors import InvalidInput
from placement_worker.policies.load_balancing.properties import NAME


def wait_s(data: Mapping[str, Any], decisions: Sequence[Decision]) -> int:
    """Return the seconds from the removal of members to the deletion of their nodes.

    The result is 0 if no member leaves a pool, or if the grace period is not an integer >= 0.

    :param data: the action's data in the reply.
    """
    leaving = any(
        decision.policy_type.startswith(f'{NAME}-') and decision.details.get('removed')
        for decision in decisions
    )
    try:
        return (ActionData(data).deletion.grace_period or 0) if leaving else 0
    except InvalidInput:  # versions before 1.4 of load balancing do not read the grace period
        return 0


def sentence(seconds: int) -> str:
    """Return the wait in words."""
    return f'members leave now, nodes are deleted {seconds} s later'
