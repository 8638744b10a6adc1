"""Ignore a deletion in an action that adds nodes: an action either adds or removes nodes."""

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckRequest
from placement_worker.formats.text import counted
from placement_worker.policies.base import State
from placement_worker.policies.victim_selection import check_deletable

ADDING = frozenset({actions.CLUSTER_SCALE_OUT, actions.CLUSTER_RESIZE, actions.NODE_CREATE})
"""Actions that add nodes; a resize may also remove nodes."""


def warning(request: CheckRequest, state: State) -> str | None:
    """Return a sentence about a decided deletion that the action ignores; None if it ignores none.

    :raises InvalidInput: a named node is not a member of the cluster, or a value is malformed.
    :raises NodeProtected: a named node is protected.
    """
    if request.action.action not in ADDING or DELETION not in state.data:
        return None
    size = state.size(request)
    if size.kind != CREATION:
        return None
    check_deletable(state.action_data.deletion.candidates or [], request, state)
    return (
        f'The action adds {counted(size.count, "node")} and removes none, so it ignores '
        'data.deletion: remove nodes by an action of their own'
    )
