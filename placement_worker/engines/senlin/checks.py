"""Checks and bindings of policies: the worker decides for its policy types, Senlin for all others.

The decisions of the worker are written both to Senlin's database and to the objects that its engine
holds: the engine stores these objects later, and would overwrite what the worker decided.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from oslo_context import context as oslo_context
from senlin.common import exception
from senlin.engine import cluster as cluster_mod
from senlin.objects import action as actions
from senlin.objects import cluster as clusters
from senlin.objects import cluster_policy
from senlin.objects import node as nodes
from senlin.policies import base

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import (
    Binding,
    BindingPatch,
    BindReply,
    BindRequest,
    CheckReply,
    ClusterPatch,
    NodePatch,
    Phase,
)
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.engines.senlin import requests, worker_client

LOG = logging.getLogger(__name__)
REGIONS, ZONES = 'senlin.policy.region_placement', 'senlin.policy.zone_placement'
# The policy types that the worker decides for, each before the types that depend on it.
ORDER = (REGIONS, ZONES, 'senlin.policy.deletion', LOAD_BALANCING)
Method = Callable[[PolicyClient, BindRequest, Mapping[str, str]], BindReply]


def check_policies(action: Any, cluster_id: str, target: Phase) -> None:
    """Check the enabled policies in order, and stop at the first failure.

    This takes the place of Senlin's `Action.policy_check`; the data of the action receive the
    result. Adjacent policies of the worker's types share one call, so that regions and zones are
    planned together and the nodes are sent once.
    """
    action.data.update(status=base.CHECK_NONE, reason='')
    pending: list[Binding] = []
    for bound, policy in _in_order(action.context, cluster_id):
        action.inputs['last_op'] = bound.last_op
        if not policy.need_check(target, action):
            continue
        if policy.spec['type'] in ORDER:
            pending.append(
                requests.policy_binding(policy, priority=bound.priority, data=bound.data)
            )
            continue
        if not _call_worker(action, cluster_id, target, pending):
            return
        pending = []
        action.inputs['last_op'] = bound.last_op
        if not _run_in_senlin(policy, action, cluster_id, target):
            return
    if _call_worker(action, cluster_id, target, pending):
        action.data.update(status=base.CHECK_OK, reason='Completed policy checking.')


def _in_order(context: Any, cluster_id: str) -> list[tuple[Any, Any]]:
    """Return the enabled bindings with their policies, in the order in which they run.

    The order is that of the priorities, but a type of `ORDER` runs no earlier than the types before
    it there. If both are bound, region placement moves to the position of zone placement: only a
    call with both avoids regions without a usable zone, and the policies between them may still
    decide the count.
    """
    bindings = cluster_policy.ClusterPolicy.get_all(
        context, cluster_id, sort='priority', filters={'enabled': True}
    )
    pairs = [
        (bound, base.Policy.load(context, bound.policy_id, project_safe=False))
        for bound in bindings
    ]
    priorities = _priorities(pairs)

    def position(pair: tuple[Any, Any]) -> tuple[int, int]:
        bound, policy = pair
        kind = policy.spec['type']
        is_workers = kind in ORDER
        return (priorities[kind], 1 + ORDER.index(kind)) if is_workers else (bound.priority, 0)

    return sorted(pairs, key=position)


def _priorities(pairs: Sequence[tuple[Any, Any]]) -> dict[str, int]:
    priorities: dict[str, int] = {}
    earliest = 0
    for kind in ORDER:
        earliest = max(
            [earliest, *(bound.priority for bound, policy in pairs if policy.spec['type'] == kind)]
        )
        priorities[kind] = earliest
    if any(policy.spec['type'] == ZONES for _, policy in pairs):
        priorities[REGIONS] = priorities[ZONES]
    return priorities


def _run_in_senlin(policy: Any, action: Any, cluster_id: str, target: Phase) -> bool:
    """Keep the placement of earlier policies, and return whether the policy succeeded."""
    placement = action.data.get('placement')
    decide = policy.pre_op if target == 'BEFORE' else policy.post_op
    decide(cluster_id, action)
    merged = merge_placement(placement, action.data.get('placement'))
    if merged != action.data.get('placement'):
        write_action(action, {**action.data, 'placement': merged})
    if action.data['status'] != base.CHECK_ERROR:
        return True
    _fail(action, [policy.name], action.data['reason'])
    return False


def _call_worker(action: Any, cluster_id: str, target: Phase, policies: Sequence[Binding]) -> bool:
    """Return whether no policy failed; True without policies."""
    if not policies:
        return True
    started = time.monotonic()
    request = requests.check_request(action, cluster_id, target, policies)
    try:
        reply = worker_client.call(PolicyClient.policy_check, request, action.context)
    except worker_client.FAILURES as exc:
        _fail(action, [policy.name for policy in policies], str(exc))
    else:
        _write(action, cluster_id, reply)
    LOG.info(
        '%s %s %s of cluster %s: %s in %.0f ms: %s',
        action.action,
        action.id,
        target,
        cluster_id,
        action.data['status'],
        1000 * (time.monotonic() - started),
        action.data['reason'],
    )
    return bool(action.data['status'] != base.CHECK_ERROR)


def _write(action: Any, cluster_id: str, reply: CheckReply) -> None:
    for warning in reply.warnings:
        LOG.warning('%s %s of cluster %s: %s', action.action, action.id, cluster_id, warning)
    entity = action.entity
    of_cluster = isinstance(entity, cluster_mod.Cluster)
    write_nodes(action.context, reply.nodes, entity.nodes if of_cluster else [entity])
    write_cluster(action.context, cluster_id, reply.cluster, entity if of_cluster else None)
    write_action(action, reply.action.data)
    if reply.action.data['status'] == base.CHECK_ERROR:
        failed = [
            decision.policy_name for decision in reply.decisions if decision.outcome == 'FAILED'
        ]
        _fail(action, failed, reply.action.data['reason'])


def _fail(action: Any, names: Sequence[str | None], reason: str) -> None:
    action.data.update(status=base.CHECK_ERROR, reason=failure(names, reason))


def attach_policy(policy: Any, cluster: Any, *, enabled: bool) -> tuple[bool, Any]:
    """Attach a policy in the place of Senlin's `Policy.attach`.

    :returns: True and the data of the binding, or False and the reason. The data have the version
        that Senlin's own class expects, so that Senlin can continue with them without the worker.
    """
    reply = _bind(
        PolicyClient.policy_attach, requests.policy_binding(policy, enabled=enabled), cluster
    )
    if reply.status != 'OK':
        return False, failure([policy.name], reply.reason)
    data, name = reply.policy.data, type(policy).__name__
    return True, {**data, name: {**data[name], 'version': policy.VERSION}} if name in data else data


def detach_policy(policy: Any, cluster: Any) -> tuple[bool, str]:
    """Detach a policy in the place of Senlin's `Policy.detach`, and return success and reason."""
    bound = cluster_policy.ClusterPolicy.get(oslo_context.get_current(), cluster.id, policy.id)
    sent = requests.policy_binding(policy, data=bound.data if bound else None)
    reply = _bind(PolicyClient.policy_detach, sent, cluster)
    if reply.status != 'OK':
        return False, failure([policy.name], reply.reason)
    return True, reply.reason


def _bind(method: Method, policy: Binding, cluster: Any) -> BindReply:
    context = oslo_context.get_current()
    request = requests.bind_request(context, cluster.id, policy)
    try:
        reply = worker_client.call(method, request, context)
    except worker_client.FAILURES as exc:
        patch = BindingPatch(policy.id, policy.data)
        reply = BindReply(status='ERROR', reason=str(exc), policy=patch, cluster=None, nodes={})
    for warning in reply.warnings:
        LOG.warning('Policy %s of cluster %s: %s', policy.name, cluster.id, warning)
    write_nodes(context, reply.nodes, cluster.nodes)
    write_cluster(context, cluster.id, reply.cluster, cluster)
    LOG.info('Policy %s of cluster %s: %s: %s', policy.name, cluster.id, reply.status, reply.reason)
    return reply


def failure(names: Sequence[str | None], reason: str) -> str:
    """Return a reason in the form of Senlin's policy check; without names, the request failed."""
    if not names:
        return reason
    listed = ', '.join(f"'{name}'" for name in names)
    return f'Failed policy {listed}: {reason}'


def write_action(action: Any, data: Mapping[str, Any]) -> None:
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
    """`held`: Senlin's cluster object, which the engine stores later; None without one."""
    if patch is None:
        return
    clusters.Cluster.update(context, cluster_id, {'data': patch.data})
    if held is not None:
        held.data = patch.data


def merge_placement(before: Any, after: Any) -> Any:
    """Merge a placement with that of earlier policies for the same nodes.

    Senlin's affinity policy replaces the whole list, which is the plan for the engine's new nodes.
    """
    if not before or not after:
        return after
    entries = zip(chain(before['placements'], repeat({})), after['placements'], strict=False)
    return {**after, 'placements': [{**old, **new} for old, new in entries]}
