"""The nodes that an action would delete, with the reasons, for `placement-policy plan`."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import Action, CheckReply, CheckRequest, Decision
from placement_worker.policies.load_balancing.properties import NAME

LOAD_BALANCING = f'{NAME}-'
PLACES = {'regions', 'zones'}


def ids(request: CheckRequest, reply: CheckReply) -> Sequence[str]:
    """Return the ids of the nodes to delete, in the order of deletion.

    :raises InvalidInput: the inputs of the action are malformed.
    """
    chosen = _candidates(reply.action.data)
    if chosen is None and request.action.action == actions.CLUSTER_DEL_NODES:
        chosen = request.action.candidate_inputs.candidates
    return chosen or ()


def reason(node_id: str, request: CheckRequest, reply: CheckReply) -> str:
    """Return the reason to delete a node that no policy ranks, or an empty string."""
    if node_id in _named(request.action):
        return 'named by the action'
    if _candidates(request.action.data) is None and _is_by_load_balancing(reply.decisions):
        return 'chosen by load balancing'
    return ''


def _named(action: Action) -> Sequence[str]:
    """Return the ids of the nodes that the action names."""
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    return action.candidate_inputs.candidates or ()


def _is_by_load_balancing(decisions: Sequence[Decision]) -> bool:
    """Return whether load balancing was the first policy that could choose nodes."""
    choosers = (
        decision.policy_type
        for decision in decisions
        if decision.outcome == 'APPLIED' and not PLACES & decision.details.keys()
    )
    return next(choosers, '').startswith(LOAD_BALANCING)


def _candidates(data: Mapping[str, Any]) -> Any:
    decided = data.get(DELETION)
    return decided.get('candidates') if isinstance(decided, dict) else None
