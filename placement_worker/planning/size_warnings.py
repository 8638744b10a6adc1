"""Warnings about the number of nodes that an action adds or removes."""

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import Action, CheckRequest, Cluster
from placement_worker.errors import Rejected
from placement_worker.formats import plurals
from placement_worker.planning.resizing import asked_size, bound_of, desired_size
from placement_worker.planning.sizing import Size, size_of


def warnings_of(request: CheckRequest, data: ActionData, max_nodes: int) -> list[str]:
    """Return a sentence if a bound changes a resize, and one if the action empties the cluster.

    :param data: the action's data after all policies have decided.
    """
    action, cluster = request.action, request.cluster
    try:
        found = [_limited(action, cluster, max_nodes), _emptied(action, cluster, data, max_nodes)]
    except Rejected:  # no policy read the value that is wrong
        return []
    return [warning for warning in found if warning]


def trimmed(size: Size, cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence if more nodes are to be removed than the cluster has."""
    held = len(cluster.nodes)
    if size.kind == CREATION or size.count <= held:
        return ()
    return (f'The action asks to remove {plurals.nodes(size.count)}, but the cluster has {held}',)


def _limited(action: Action, cluster: Cluster, max_nodes: int) -> str | None:
    if (
        action.action != actions.CLUSTER_RESIZE
        or CREATION in action.data
        or DELETION in action.data
    ):
        return None
    current = len(cluster.nodes)
    asked, desired = (
        asked_size(action.resize_inputs, current),
        desired_size(action.resize_inputs, cluster, max_nodes),
    )
    if asked == desired:
        return None
    verb = 'reverses it to' if (asked - current) * (desired - current) < 0 else 'limits it to'
    bound = bound_of(action.resize_inputs, asked, desired)
    return f'The resize asks to {_change(asked - current)}; {bound} ({desired}) {verb} {_change(desired - current)}'


def _change(difference: int) -> str:
    """Return a change of the size as a command, e.g. "add 1 node"."""
    if not difference:
        return 'change nothing'
    return f'{"add" if difference > 0 else "remove"} {plurals.nodes(abs(difference))}'


def _emptied(action: Action, cluster: Cluster, data: ActionData, max_nodes: int) -> str | None:
    held = len(cluster.nodes)
    if not held or action.action == actions.CLUSTER_REPLACE_NODES:
        return None
    removed = data.deletion.candidate_count
    if removed is None:
        size = size_of(action, data, cluster, max_nodes)
        removed = size.count if size.kind == DELETION else 0
    if removed < held:
        return None
    return (
        f'The action removes {"the only node" if held == 1 else f"all {held} nodes"} of the cluster'
    )
