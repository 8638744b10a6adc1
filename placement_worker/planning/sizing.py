"""How many nodes an action creates or deletes: one answer for all policies.

:source: spec.md 2; seed 000, S1 to S3; senlin/common/scaleutils.py of release 16 (the texts are its
    own).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData, Kind
from placement_worker.contract.model import Action, Cluster, Node
from placement_worker.planning.resizing import check_total, desired_size, limit

_OF_ONE_NODE: Mapping[str, Kind] = {actions.NODE_CREATE: CREATION, actions.NODE_DELETE: DELETION}
_OF_CANDIDATES = (actions.CLUSTER_DEL_NODES, actions.CLUSTER_REPLACE_NODES)
_READS: Mapping[str, tuple[Kind, ...]] = {
    actions.CLUSTER_SCALE_OUT: (CREATION,),
    actions.CLUSTER_SCALE_IN: (DELETION,),
    actions.CLUSTER_RESIZE: (CREATION, DELETION),
}
"""Which decisions of other policies an action's size is read from; the first of more than no nodes
counts.
"""


@dataclass(frozen=True, slots=True)
class Size:
    """`count` nodes, >= 0, to create (`creation`) or to delete (`deletion`).

    `limit`: which bound of the cluster's size made it another number than was asked for, in words.
    """

    kind: Kind
    count: int
    limit: str = field(default='', compare=False)

    def explained(self, reason: str) -> str:
        """A reason, with the bound that has a share in it."""
        return f'{reason.rstrip(".")}; {self.limit}' if self.limit else reason


def size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    """Say how many nodes the action creates or deletes.

    :param data: the action's data as the policies before left it.
    :param max_nodes: what a creation may lead to at most, in nodes a cluster.
    :raises InvalidInput: a value in `inputs` or `data` is not what it has to be; the text names it.
    :raises SizeOutOfBounds: the size afterwards is not allowed; the texts are Senlin's.
    """
    size = _size_of(action, data, cluster, max_nodes)
    if size.kind == CREATION and size.count:
        check_total(len(members(action, cluster)) + size.count, max_nodes)
    return size


def members(action: Action, cluster: Cluster) -> list[Node]:
    """The nodes that are there now; one that is yet to be created is not, though it may be
    listed.
    """
    if action.action != actions.NODE_CREATE or action.node is None:
        return cluster.nodes
    return [node for node in cluster.nodes if node.id != action.node.id]


def _size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    if action.action in _OF_ONE_NODE:
        return Size(_OF_ONE_NODE[action.action], 1)
    decided = _decided(action, data)
    if decided is not None:
        return decided
    if action.action == actions.CLUSTER_RESIZE:
        desired = desired_size(action.resize_inputs, cluster, max_nodes)
        change, bound = desired - len(cluster.nodes), limit(action.resize_inputs, cluster, desired)
        return Size(CREATION, change, bound) if change >= 0 else Size(DELETION, -change, bound)
    if action.action in _READS:
        return Size(_READS[action.action][0], action.scale_inputs.count)
    if action.action in _OF_CANDIDATES:
        return Size(DELETION, len(action.candidate_inputs.candidates or ()))
    return Size(CREATION, 0)


def _decided(action: Action, data: ActionData) -> Size | None:
    """What another policy decided, if it did; it may have left out the count."""
    kinds = [kind for kind in _READS.get(action.action, ()) if kind in data]
    sizes = [Size(kind, data.change(kind).count) for kind in kinds]
    return next((size for size in sizes if size.count), sizes[0] if sizes else None)
