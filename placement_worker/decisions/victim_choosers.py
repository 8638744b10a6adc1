"""The reasons of victims that the deletion policy did not choose."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import Action, CheckReply, CheckRequest, Decision
from placement_worker.formats.text import shortened
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement

OWN_TYPES = frozenset({Deletion.name, LoadBalancing.name, RegionPlacement.name, ZonePlacement.name})
"""The policy types of this package; a plugin cannot replace them."""
PLACES = {'regions', 'zones'}


def reason(node_id: str, request: CheckRequest, reply: CheckReply) -> str:
    """Return the reason to delete a node that the deletion policy did not choose, or ''."""
    if node_id in _named(request.action):
        return 'named by the action'
    if candidates(request.action.data) is not None:
        return ''
    if found := _plugin(reply.decisions):
        return f'chosen by {found.policy_name or found.policy_id}: {shortened(found.reason)}'
    return 'chosen by load balancing' if _is_by_load_balancing(reply.decisions) else ''


def candidates(data: Mapping[str, Any]) -> Any:
    """Return the list of victims in the data of an action, valid or not, or None."""
    decided = data.get(DELETION)
    return decided.get('candidates') if isinstance(decided, dict) else None


def _named(action: Action) -> Sequence[str]:
    """Return the ids of the nodes that the action names."""
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    return action.candidate_inputs.candidates or ()


def _plugin(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision of the only plugin that could choose victims, or None.

    A decision does not say what it wrote, so that of one of several plugins is unknown.
    """
    found: list[Decision] = []
    for one in decisions:
        name = one.policy_type.rpartition('-')[0]
        if name == Deletion.name and one.outcome == 'APPLIED':
            break
        if name not in OWN_TYPES and one.outcome == 'APPLIED':
            found.append(one)
    return found[0] if len(found) == 1 else None


def _is_by_load_balancing(decisions: Sequence[Decision]) -> bool:
    """Return whether load balancing was the first policy that could choose nodes."""
    choosers = (
        decision.policy_type
        for decision in decisions
        if decision.outcome == 'APPLIED' and not PLACES & decision.details.keys()
    )
    return next(choosers, '').startswith(f'{LoadBalancing.name}-')
