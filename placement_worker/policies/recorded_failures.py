"""The failures of deleted nodes, which the data of their cluster keep for later checks.

The placement policies need not handle the action that deletes the nodes, so the bindings of the
request say whether any of them reads the record.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from placement_worker.cloud.stated_places import Location, stated_place
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import CheckRequest, ClusterPatch
from placement_worker.contract.placement_data import FAILURES, recorded_failures
from placement_worker.planning.shortage import Memory, failures_after_deletion
from placement_worker.policies.base import BEFORE, State
from placement_worker.policies.normalizing import normalized
from placement_worker.policies.on_shortage import OnShortage

TYPES = ('senlin.policy.region_placement', 'senlin.policy.zone_placement')


class _Properties(Struct, frozen=True):
    on_shortage: OnShortage = OnShortage()


def memory_of(request: CheckRequest) -> Memory:
    """Return the recorded failures of a cluster, with the largest `max_s` of its policies."""
    failures = recorded_failures(request.cluster.data)
    return Memory(failures, max((one.max_s for one in _redistributing(request)), default=0))


def patch_after_deletion(request: CheckRequest, state: State) -> ClusterPatch | None:
    """Return the patch of the cluster that records the failures of deleted nodes, or None.

    :param state: the state after all policies. An earlier patch is part of the result.
    """
    settings = _redistributing(request)
    deleted = deleted_ids(request, state.data)
    if not settings or not deleted:
        return None
    node, members = request.action.node, request.cluster.nodes
    found = failures_after_deletion(
        deleted,
        [*members, node] if node else members,
        memory_of(request),
        lambda one: place_of(one, request),
        max(settings, key=lambda one: one.max_s).backoff,
        state.now,
    )
    if found is None:
        return None
    data = state.cluster.data if state.cluster else request.cluster.data
    data = {key: value for key, value in data.items() if key != FAILURES}
    return ClusterPatch({**data, **({FAILURES: msgspec.to_builtins(found)} if found else {})})


def deleted_ids(request: CheckRequest, data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the nodes that a policy chose or an action names for deletion.

    No policy need have read these values, so they may be malformed.

    :param data: the data of the action after all policies.
    """
    action, deletion = request.action, data.get(DELETION)
    is_part = action.action in actions.OF_A_NODE and action.cause == actions.DERIVED
    if request.target != BEFORE or is_part:
        return frozenset()
    found = [*_ids(deletion.get('candidates') if isinstance(deletion, Mapping) else None)]
    is_growth = action.action == actions.CLUSTER_RESIZE and deletion is None
    if action.action in actions.REMOVING and not is_growth:
        found += _ids(action.inputs.get('candidates'))
    if action.action == actions.NODE_DELETE and action.node:
        found.append(action.node.id)
    return frozenset(found)


def _ids(candidates: object) -> Iterator[str]:
    if isinstance(candidates, (list, dict)):
        yield from (one for one in candidates if isinstance(one, str))


def _redistributing(request: CheckRequest) -> Sequence[OnShortage]:
    """Return the settings of the enabled placement policies that react to shortages."""
    found = [
        msgspec.convert(normalized(one.spec.properties, _Properties), _Properties).on_shortage
        for one in request.policies
        if one.enabled and one.spec.type in TYPES and not one.spec.type_name.endswith('-1.0')
    ]
    return [one for one in found if one.mode == 'redistribute']


def place_of(node: Node, request: CheckRequest) -> Location:
    """Return region and zone as the request names them: a check without a cloud records, too."""
    region, zone = stated_place(node)
    return region or request.cluster.profile.region, zone
