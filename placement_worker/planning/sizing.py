"""The number of nodes that an action creates or deletes, the same for all policies.

:source: senlin/common/scaleutils.py of release 16.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData, Kind
from placement_worker.contract.model import Action, Cluster, Node
from placement_worker.errors import SizeOutOfBounds
from placement_worker.formats.text import counted
from placement_worker.planning.resizing import desired_size, limit_of, too_large

_OF_ONE_NODE: Mapping[str, Kind] = {actions.NODE_CREATE: CREATION, actions.NODE_DELETE: DELETION}
_OF_CANDIDATES = (actions.CLUSTER_DEL_NODES, actions.CLUSTER_REPLACE_NODES)
_CHANGES: Mapping[str, tuple[Kind, ...]] = {
    actions.CLUSTER_SCALE_OUT: (CREATION,),
    actions.CLUSTER_SCALE_IN: (DELETION,),
    actions.CLUSTER_RESIZE: (CREATION, DELETION),
}
"""Action -> the changes that another policy may have decided; the first of any nodes counts."""


@dataclass(frozen=True, slots=True)
class Size:
    """`count` nodes, >= 0, to create (`creation`) or to delete (`deletion`).

    `limit`: the bound of the cluster's size that changed the number asked for, in words.
    """

    kind: Kind
    count: int
    limit: str = field(default='', compare=False)

    def explained(self, reason: str) -> str:
        """Return the reason with the bound that contributed to it."""
        return f'{reason.rstrip(".")}; {self.limit}' if self.limit else reason


def size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    """Return how many nodes the action creates or deletes.

    :param data: the action's data after the policies that ran before.
    :param max_nodes: the maximum size of a cluster after a creation.
    :raises InvalidInput: a value in `inputs` or `data` is malformed.
    :raises SizeOutOfBounds: the size afterwards is not allowed, in Senlin's words.
    """
    held = len(current_nodes(action, cluster))
    size = _size_of(action, data, cluster, max_nodes)
    if action.action == actions.CLUSTER_RESIZE:
        _check_named(action, data, size)
    if size.kind == CREATION and size.count and held + size.count > max_nodes:
        raise too_large(held + size.count, max_nodes)
    return size


def with_size_of_resize(
    action: Action, data: ActionData, cluster: Cluster, max_nodes: int
) -> Mapping[str, Any]:
    """Return the data of a resize with its number of nodes, as Senlin's engine adds it.

    Without it, an engine that follows `inputs` would exceed the bounds that trim the resize. Data
    of a resize that a policy decided stay as they are.

    :raises Rejected: as `size_of`.
    """
    if CREATION in data.data or DELETION in data.data:
        return data.data
    size = size_of(action, data, cluster, max_nodes)
    return {**data.data, size.kind: {'count': size.count}}


def current_nodes(action: Action, cluster: Cluster) -> list[Node]:
    """Return the nodes that exist; the cluster may already list the one of a NODE_CREATE."""
    if action.action != actions.NODE_CREATE or action.node is None:
        return cluster.nodes
    return [node for node in cluster.nodes if node.id != action.node.id]


def _size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    if action.action in _OF_ONE_NODE:
        return Size(_OF_ONE_NODE[action.action], 1)
    decided = _named(action, data) or _decided(action, data)
    if decided is not None:
        return decided
    if action.action == actions.CLUSTER_RESIZE:
        return _size_of_resize(action, cluster, max_nodes)
    if action.action in _CHANGES:
        return Size(_CHANGES[action.action][0], action.scale_inputs.count)
    if action.action in _OF_CANDIDATES:
        return Size(DELETION, len(action.candidate_inputs.candidates or ()))
    return Size(CREATION, 0)


def _named(action: Action, data: ActionData) -> Size | None:
    """Return the size of a scale-in that names its nodes, or None; the names replace the count."""
    if action.action != actions.CLUSTER_SCALE_IN or not action.candidate_inputs.candidates:
        return None
    chosen = data.deletion.candidate_count or len(action.candidate_inputs.candidates)
    return Size(DELETION, chosen)


def _decided(action: Action, data: ActionData) -> Size | None:
    changes = data.decided(_CHANGES.get(action.action, ())) if data.data else []
    if not changes:
        return None
    sizes = [Size(change.kind, change.count) for change in changes]
    return next((size for size in sizes if size.count), sizes[0])


def _check_named(action: Action, data: ActionData, size: Size) -> None:
    """Check that a resize removes all nodes that its inputs name, unless victims are decided.

    :raises SizeOutOfBounds: its number, or a bound, removes fewer.
    """
    named = action.candidate_inputs.candidates or ()
    removed = size.count if size.kind == DELETION else 0
    if len(named) > removed and not data.deletion.candidates:
        raise SizeOutOfBounds(
            f'The action names {counted(len(named), "node")} to delete, but removes only {removed}.'
        )


def _size_of_resize(action: Action, cluster: Cluster, max_nodes: int) -> Size:
    desired = desired_size(action.resize_inputs, cluster, max_nodes)
    limit = limit_of(action.resize_inputs, cluster, desired)
    change = desired - len(cluster.nodes)
    return Size(CREATION, change, limit) if change >= 0 else Size(DELETION, -change, limit)
