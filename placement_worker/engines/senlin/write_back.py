"""Write the worker's decisions to Senlin's database and to the objects of its engine."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from senlin.common import exception
from senlin.objects import action as actions
from senlin.objects import cluster as clusters
from senlin.objects import node as nodes

from placement_worker.contract.model import ClusterPatch, NodePatch


def failure(names: Sequence[str | None], reason: str) -> str:
    """Return the reason of a failed action in the form of Senlin's policy check.

    :param names: the names of the policies that failed; none if the request itself did.
    """
    if not names:
        return reason
    listed = ', '.join(f"'{name}'" for name in names)
    return f'Failed policy {listed}: {reason}'


def write_action(action: Any, data: Mapping[str, Any]) -> None:
    """Replace the action's data."""
    action.data.clear()
    action.data.update(data)
    actions.Action.update(action.context, action.id, {'data': action.data})


def write_nodes(context: Any, patches: Mapping[str, NodePatch], held: Iterable[Any]) -> None:
    """Change nodes, except for those that were deleted meanwhile.

    :param held: Senlin's node objects that the engine continues to use.
    """
    objects = {node.id: node for node in held}
    for node_id, patch in patches.items():
        values: dict[str, Any] = {'data': patch.data}
        if patch.status is not None:
            values.update(status=patch.status, status_reason=patch.status_reason)
        try:
            nodes.Node.update(context, node_id, dict(values))
        except exception.ResourceNotFound:
            continue
        if node_id in objects:
            for name, value in values.items():
                setattr(objects[node_id], name, value)


def write_cluster(context: Any, cluster_id: str, patch: ClusterPatch | None, held: Any) -> None:
    """Replace the data of the cluster, if they changed.

    :param held: Senlin's cluster object, which the engine stores later; None without one.
    """
    if patch is None:
        return
    clusters.Cluster.update(context, cluster_id, {'data': patch.data})
    if held is not None:
        held.data = patch.data


def merge_placement(before: Any, after: Any) -> Any:
    """Merge a placement with that of earlier policies for the same nodes.

    Senlin's affinity policy replaces the whole list, which is the plan for the engine's new nodes.

    :param before: `action.data['placement']` before a policy has run, or None.
    :param after: the same after the policy has run.
    """
    if not before or not after:
        return after
    entries = zip(chain(before['placements'], repeat({})), after['placements'], strict=False)
    return {**after, 'placements': [{**old, **new} for old, new in entries]}
