"""What the worker decided, written where Senlin looks for it: its database, and the objects the
engine holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from senlin.common import exception
from senlin.objects import action as actions
from senlin.objects import cluster as clusters
from senlin.objects import node as nodes

from placement_worker.contract.model import ClusterPatch, NodePatch


def failure(names: Sequence[str | None], reason: str) -> str:
    """Return why an action fails, in the words of Senlin's policy check.

    :param names: of the policies that failed.
    """
    listed = ', '.join(f"'{name}'" for name in names)
    return f'Failed policy {listed}: {reason}'


def write_action(action: Any, data: Mapping[str, Any]) -> None:
    """Replace the action's data."""
    action.data.clear()
    action.data.update(data)
    actions.Action.update(action.context, action.id, {'data': action.data})


def write_nodes(context: Any, patches: Mapping[str, NodePatch], held: Iterable[Any]) -> None:
    """Change nodes; one that is gone meanwhile needs no change.

    :param held: Senlin's objects of nodes that the engine goes on with.
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
    """Replace the cluster's data, if they changed.

    :param held: Senlin's object of the cluster, which the engine stores later; None if it holds
        none.
    """
    if patch is None:
        return
    clusters.Cluster.update(context, cluster_id, {'data': patch.data})
    if held is not None:
        held.data = patch.data


def merge_placement(before: Any, after: Any) -> Any:
    """A placement with what an earlier policy said of the same nodes.

    Senlin's affinity replaces the whole list, and with it the plan that the engine creates nodes
    from.

    :param before: `action.data['placement']` or None.
    :param after: the same after another policy has run.
    """
    if not before or not after:
        return after
    entries = zip(chain(before['placements'], repeat({})), after['placements'], strict=False)
    return {**after, 'placements': [{**old, **new} for old, new in entries]}
