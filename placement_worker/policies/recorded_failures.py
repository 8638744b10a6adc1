"""The failures of deleted nodes, recorded in the data of the cluster.

A scale-in deletes failed nodes first, and with them the evidence of a shortage. Without a record,
the next node would go to the full place again.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from placement_worker.cloud.snapshot import stated_place
from placement_worker.contract import action_data, actions
from placement_worker.contract.model import CheckRequest, ClusterPatch, Node
from placement_worker.planning.shortage import Backoff, Memory, failures_after_deletion


def memory_of(request: CheckRequest, backoffs: Sequence[Backoff]) -> Memory:
    # The largest `max_s` of all policies ends a record.
    failures = action_data.recorded_failures(request.cluster.data)
    return Memory(failures, max((backoff.max_s for backoff in backoffs), default=0))


def patch_after_deletion(
    request: CheckRequest,
    data: Mapping[str, Any],
    patch: ClusterPatch | None,
    backoffs: Sequence[Backoff],
    now: datetime.datetime,
) -> ClusterPatch | None:
    """Return the patch of the cluster that records the failures of deleted nodes, or None.

    :param data: the data of the action after all policies.
    :param patch: the policies' own patch, which the result extends.
    :param backoffs: at least one.
    """
    deleted = deleted_ids(request, data)
    if not deleted:
        return None
    failures = failures_after_deletion(
        deleted,
        [*request.nodes_by_id().values()],
        memory_of(request, backoffs),
        lambda node: stated_location(node, request),
        max(backoffs, key=lambda backoff: backoff.max_s),
        now,
    )
    if failures is None:
        return None
    cluster_data = dict(patch.data if patch else request.cluster.data)
    cluster_data.pop(action_data.FAILURES, None)
    if failures:
        cluster_data[action_data.FAILURES] = msgspec.to_builtins(failures)
    return ClusterPatch(cluster_data)


def deleted_ids(request: CheckRequest, data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the nodes that a policy chose or an action names for deletion.

    The values may be malformed: perhaps no policy has validated them.
    """
    action = request.action
    is_derived_node_action = action.action in actions.OF_A_NODE and action.cause == actions.DERIVED
    if request.target != 'BEFORE' or is_derived_node_action:
        return frozenset()
    ids = [*_ids(action_data.stated_candidates(data))]
    # An unplanned resize ignores its candidates: it is a growth, or the engine chooses victims.
    is_unplanned_resize = (
        action.action == actions.CLUSTER_RESIZE and data.get(action_data.DELETION) is None
    )
    if action.action in actions.REMOVING and not is_unplanned_resize:
        ids += _ids(action.inputs.get('candidates'))
    if action.action == actions.NODE_DELETE and action.node:
        ids.append(action.node.id)
    return frozenset(ids)


def stated_location(node: Node, request: CheckRequest) -> action_data.Location:
    """Return region and zone as the request names them; a check without a cloud has no others."""
    region, zone = stated_place(node)
    return region or request.cluster.profile.region, zone


def _ids(candidates: object) -> Iterator[str]:
    if isinstance(candidates, (list, dict)):
        yield from (candidate for candidate in candidates if isinstance(candidate, str))
