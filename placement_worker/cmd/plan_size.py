"""The number of nodes that an action creates or deletes, whether or not a policy decides on it."""

import sys
from collections.abc import Mapping
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData, Kind
from placement_worker.contract.model import CheckRequest
from placement_worker.planning import sizing
from placement_worker.planning.sizing import Size

_ANY_SIZE = sys.maxsize  # the worker checks its own limit


def of(request: CheckRequest, data: Mapping[str, Any]) -> Size:
    """Return how many nodes the engine creates or deletes if it follows a reply.

    :param data: the action's data in the reply.
    :raises InvalidInput: no policy decides on the action, and its inputs are malformed.
    """
    kinds: tuple[Kind, ...] = (CREATION, DELETION)
    for kind in kinds:
        if count := _decided(data, kind):
            return Size(kind, count)
    action, cluster = request.action, request.cluster
    held = len(cluster.nodes)
    if action.action == actions.CLUSTER_CREATE:
        return Size(CREATION, max(cluster.desired_capacity - held, 0))
    if action.action == actions.CLUSTER_DELETE:
        return Size(DELETION, held)
    if action.action == actions.CLUSTER_REPLACE_NODES:  # existing nodes take the places of others
        return Size(DELETION, 0)
    size = sizing.size_of(action, ActionData(data), cluster, _ANY_SIZE)
    return size if size.kind == CREATION else Size(DELETION, min(size.count, held))


def _decided(data: Mapping[str, Any], kind: Kind) -> int:
    """Return the number of nodes that policies decided on; without a `count` it is 1."""
    decided = data.get(kind)
    count = decided.get('count', 1) if isinstance(decided, dict) else 0
    return count if isinstance(count, int) else 0
