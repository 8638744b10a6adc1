"""Ignore a deletion in an action that adds nodes: an action either adds or removes nodes."""

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckRequest
from placement_worker.formats.text import counted
from placement_worker.policies.base import State
from placement_worker.policies.victim_selection import check_deletable

ADDING = frozenset({actions.CLUSTER_SCALE_OUT, actions.CLUSTER_RESIZE, actions.NODE_CREATE})
"""Actions that add nodes; a resize may also remove nodes."""


def ignored(request: CheckRequest, state: State) -> list[str]:
    """Return the keys of a deletion that an action ignores because it adds nodes.

    The result is a part of `data.deletion` and, for a resize, `inputs.candidates`. It is empty for
    an action that adds no nodes.

    :raises InvalidInput: a named node is not a member of the cluster, or a value is malformed.
    :raises NodeProtected: a named node is protected.
    """
    action = request.action
    if action.action not in ADDING:
        return []
    is_resize = action.action == actions.CLUSTER_RESIZE
    present = {
        'data.deletion': DELETION in state.data,
        'inputs.candidates': is_resize and bool(action.inputs.get('candidates')),
    }
    if not any(present.values()) or state.size(request).kind != CREATION:
        return []
    check_deletable(state.action_data.deletion.candidates or [], request, state)
    if present['inputs.candidates']:
        check_deletable(action.candidate_inputs.candidates or [], request, state)
    return [key for key, is_present in present.items() if is_present]


def warning(keys: list[str], request: CheckRequest, state: State) -> str:
    """Return a sentence about the keys that the action ignores."""
    added = counted(state.size(request).count, 'node')
    return (
        f'The action adds {added} and removes none, so it ignores {" and ".join(keys)}: '
        'remove nodes by an action of their own'
    )
