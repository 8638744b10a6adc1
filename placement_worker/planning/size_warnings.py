"""Warnings about the number of nodes that an action adds or removes."""

from collections.abc import Mapping

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import Action, CheckRequest, Cluster
from placement_worker.errors import Rejected
from placement_worker.formats.text import counted
from placement_worker.planning import protection
from placement_worker.planning.protection import Protection
from placement_worker.planning.resizing import asked_size, bound_of, desired_size, exceeds
from placement_worker.planning.sizing import current_nodes, size_of

REGARDLESS_OF_MIN_SIZE = (actions.CLUSTER_RESIZE, actions.CLUSTER_REPLACE_NODES)
"""The actions that the engine does not refuse below min_size."""
GROWING = frozenset({actions.CLUSTER_SCALE_OUT, actions.NODE_CREATE})
"""The actions that only add nodes."""


def warnings_of(
    request: CheckRequest,
    data: ActionData,
    max_nodes: int,
    protections: Mapping[str, Protection],
) -> list[str]:
    """Return the sentences about a resize that a bound changes, and about too few or many nodes.

    :param data: the action's data after all policies have decided.
    :param protections: the protected nodes, by id; if no policy has chosen victims, the engine
        must not choose them.
    """
    action, cluster = request.action, request.cluster
    try:
        if action.action in GROWING:
            return _too_many(action, cluster, data, max_nodes)
        asked = _removed(action, cluster, data, max_nodes)
        removed = min(asked, len(cluster.nodes) - len(protections))
        found = [
            _percentage_of_nothing(action, cluster),
            _limited(action, cluster, max_nodes),
            _emptied(action, cluster, removed),
            _too_few_left(action, cluster, removed),
            _too_few_leave(cluster, asked, removed, protections),
        ]
    except Rejected:  # the invalid value did not matter to any policy
        return []
    return [warning for warning in found if warning]


def is_below_min_size(action: Action, cluster: Cluster, removed: int) -> bool:
    """Return whether the engine will refuse to remove so many nodes of the cluster."""
    if action.action in REGARDLESS_OF_MIN_SIZE or not 0 < removed <= len(cluster.nodes):
        return False
    return len(cluster.nodes) - removed < cluster.min_size


def excess_removal(count: int, cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence if more nodes are to be removed than the cluster has."""
    held = len(cluster.nodes)
    if count <= held:
        return ()
    return (f'The action asks to remove {counted(count, "node")}, but the cluster has {held}',)


def _percentage_of_nothing(action: Action, cluster: Cluster) -> str | None:
    if not _is_undecided_resize(action) or cluster.nodes:
        return None
    number = action.resize_inputs.number
    if not number or action.resize_inputs.adjustment_type != 'CHANGE_IN_PERCENTAGE':
        return None
    return (
        f'The resize asks to {"add" if number > 0 else "remove"} {abs(number)}% of 0 nodes, and '
        'a percentage of 0 is 0; use CHANGE_IN_CAPACITY or EXACT_CAPACITY'
    )


def _limited(action: Action, cluster: Cluster, max_nodes: int) -> str | None:
    if not _is_undecided_resize(action):
        return None
    current, inputs = len(cluster.nodes), action.resize_inputs
    asked, desired = asked_size(inputs, current), desired_size(inputs, cluster, max_nodes)
    if asked == desired:
        return None
    is_reversed = (asked - current) * (desired - current) < 0
    return (
        f'The resize asks to {_change(asked - current)}; '
        f'{bound_of(inputs, asked, desired)} ({desired}) '
        f'{"reverses" if is_reversed else "limits"} it to {_change(desired - current)}'
    )


def _is_undecided_resize(action: Action) -> bool:
    is_decided = CREATION in action.data or DELETION in action.data
    return action.action == actions.CLUSTER_RESIZE and not is_decided


def _change(difference: int) -> str:
    """Return a change of the size as a command, e.g. "add 1 node"."""
    if not difference:
        return 'change nothing'
    return f'{"add" if difference > 0 else "remove"} {counted(abs(difference), "node")}'


def _emptied(action: Action, cluster: Cluster, removed: int) -> str | None:
    held = len(cluster.nodes)
    if not held or action.action == actions.CLUSTER_REPLACE_NODES:
        return None
    if removed < held:
        return None
    which = 'the only node' if held == 1 else f'all {held} nodes'
    return f'The action removes {which} of the cluster'


def _too_few_left(action: Action, cluster: Cluster, removed: int) -> str | None:
    removed = min(removed, len(cluster.nodes))
    if not is_below_min_size(action, cluster, removed):
        return None
    left = counted(len(cluster.nodes) - removed, 'node')
    return (
        f"The action leaves {left}, fewer than the cluster's min_size ({cluster.min_size}): the "
        'engine must refuse it'
    )


def _too_few_leave(
    cluster: Cluster, asked: int, removed: int, protections: Mapping[str, Protection]
) -> str | None:
    wanted = min(asked, len(cluster.nodes))
    return protection.too_few(removed, wanted, protections) if removed < wanted else None


def _too_many(action: Action, cluster: Cluster, data: ActionData, max_nodes: int) -> list[str]:
    created = size_of(action, data, cluster, max_nodes).count
    size = len(current_nodes(action, cluster)) + created
    if not created or not exceeds(size, cluster.max_size):
        return []
    return [
        f"The action leads to {counted(size, 'node')}, more than the cluster's max_size "
        f'({cluster.max_size}): the engine must refuse it'
    ]


def _removed(action: Action, cluster: Cluster, data: ActionData, max_nodes: int) -> int:
    candidates = data.deletion.candidate_count
    if candidates is not None:
        return candidates
    size = size_of(action, data, cluster, max_nodes)
    return size.count if size.kind == DELETION else 0
