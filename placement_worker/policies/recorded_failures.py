"""The failures of deleted nodes, which the data of their cluster keep for later checks.

Failed nodes are the first victims, so a scale-in or a replacement would wipe the evidence of a
shortage, and the next node would go to the full place again. Placement policies need not handle the
action that deletes the nodes; the chain records their failures after all policies.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from placement_worker.cloud.stated_places import Location, stated_place
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import CheckRequest, ClusterPatch
from placement_worker.contract.placement_data import FAILURES, recorded_failures
from placement_worker.planning.shortage import Backoff, Memory, failures_after_deletion


def memory_of(request: CheckRequest, backoffs: Sequence[Backoff]) -> Memory:
    """Return the recorded failures of a cluster.

    :param backoffs: those of the enabled placement policies; the largest `max_s` ends a record.
    """
    failures = recorded_failures(request.cluster.data)
    return Memory(failures, max((one.max_s for one in backoffs), default=0))


def patch_after_deletion(
    request: CheckRequest,
    data: Mapping[str, Any],
    patch: ClusterPatch | None,
    backoffs: Sequence[Backoff],
    now: datetime.datetime,
) -> ClusterPatch | None:
    """Return the patch of the cluster that records the failures of deleted nodes, or None.

    :param data: the data of the action after all policies.
    :param patch: the patch of the policies, which is part of the result.
    """
    deleted = deleted_ids(request, data)
    if not backoffs or not deleted:
        return None
    nodes = {node.id: node for node in request.cluster.nodes}
    if request.action.node:  # may be a later version of a member
        nodes[request.action.node.id] = request.action.node
    failures = failures_after_deletion(
        deleted,
        [*nodes.values()],
        memory_of(request, backoffs),
        lambda one: place_of(one, request),
        max(backoffs, key=lambda one: one.max_s),
        now,
    )
    if failures is None:
        return None
    of_cluster = patch.data if patch else request.cluster.data
    kept = {key: value for key, value in of_cluster.items() if key != FAILURES}
    return ClusterPatch({**kept, **({FAILURES: msgspec.to_builtins(failures)} if failures else {})})


def deleted_ids(request: CheckRequest, data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the nodes that a policy chose or an action names for deletion.

    No policy need have read these values, so they may be malformed.

    :param data: the data of the action after all policies.
    """
    action, deletion = request.action, data.get(DELETION)
    is_part = action.action in actions.OF_A_NODE and action.cause == actions.DERIVED
    if request.target != 'BEFORE' or is_part:
        return frozenset()
    ids = [*_ids(deletion.get('candidates') if isinstance(deletion, Mapping) else None)]
    is_growth = action.action == actions.CLUSTER_RESIZE and deletion is None
    if action.action in actions.REMOVING and not is_growth:
        ids += _ids(action.inputs.get('candidates'))
    if action.action == actions.NODE_DELETE and action.node:
        ids.append(action.node.id)
    return frozenset(ids)


def place_of(node: Node, request: CheckRequest) -> Location:
    """Return region and zone as the request names them: a check without a cloud records, too."""
    region, zone = stated_place(node)
    return region or request.cluster.profile.region, zone


def _ids(candidates: object) -> Iterator[str]:
    if isinstance(candidates, (list, dict)):
        yield from (one for one in candidates if isinstance(one, str))
