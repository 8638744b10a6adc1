"""Ignore a deletion in a resize that adds nodes: a resize either adds or removes nodes."""

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckRequest
from placement_worker.formats.text import counted
from placement_worker.policies.base import State
from placement_worker.policies.victim_selection import check_deletable


def ignored(request: CheckRequest, state: State) -> list[str]:
    """Return the keys of a deletion that a resize ignores because it adds nodes.

    The result is a part of `data.deletion` and `inputs.candidates`; empty for any other action.

    :raises InvalidInput: a named node is not a member of the cluster, or a value is malformed.
    :raises NodeProtected: a named node is protected.
    """
    action = request.action
    if action.action != actions.CLUSTER_RESIZE:
        return []
    present = {
        'data.deletion': DELETION in state.data,
        'inputs.candidates': bool(action.inputs.get('candidates')),
    }
    if not any(present.values()) or state.size(request).kind != CREATION:
        return []
    check_deletable(state.action_data.deletion.candidates or (), request, state)
    check_deletable(action.candidate_inputs.candidates or (), request, state)
    return [key for key, is_present in present.items() if is_present]


def warning(keys: list[str], request: CheckRequest, state: State) -> str:
    """Return a sentence about the keys that a resize ignores."""
    added = counted(state.size(request).count, 'node')
    return (
        f'The resize adds {added} and removes none, so it ignores {" and ".join(keys)}: '
        'remove nodes by an action of their own'
    )
