"""A policy check of Senlin's: our policies by the worker, all others where they are, in order of
priority.
"""

import logging
import time
from collections.abc import Sequence
from typing import Any

from senlin.engine import cluster as cluster_mod
from senlin.objects import cluster_policy as bindings
from senlin.policies import base

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import Binding, CheckReply, Phase
from placement_worker.engines.senlin import requests, worker_client, write_back

LOG = logging.getLogger(__name__)
REGIONS, ZONES = 'senlin.policy.region_placement', 'senlin.policy.zone_placement'
ORDER = (REGIONS, ZONES, 'senlin.policy.deletion', 'senlin.policy.loadbalance')
"""The types that the worker decides for, each before the types that depend on it."""
OURS = frozenset(ORDER)
PLACEMENT = 'placement'


def check(action: Any, cluster_id: str, target: Phase) -> None:
    """Ask every enabled policy that handles this; stop at the first that fails, as
    `Action.policy_check` does.

    Neighbours of ours go out as one call, so that regions and zones are planned together and nodes
    travel once.

    :param action: Senlin's Action; its `data` hold the result.
    """
    action.data.update(status=base.CHECK_NONE, reason='')
    waiting: list[Binding] = []
    for bound, policy in _in_order(action.context, cluster_id):
        action.inputs['last_op'] = bound.last_op
        if not policy.need_check(target, action):
            continue
        if is_ours(policy):
            waiting.append(requests.sent_binding(policy, priority=bound.priority, data=bound.data))
            continue
        if not _ask(action, cluster_id, target, waiting):
            return
        waiting = []
        action.inputs['last_op'] = bound.last_op
        if not _run_here(policy, action, cluster_id, target):
            return
    if _ask(action, cluster_id, target, waiting):
        action.data.update(status=base.CHECK_OK, reason='Completed policy checking.')


def _in_order(context: Any, cluster_id: str) -> list[tuple[Any, Any]]:
    """Return the enabled bindings with their policies by priority, those of `OURS` in `ORDER`.

    A type of `OURS` runs no earlier than the types before it in `ORDER`, whatever its own priority.
    Region placement takes the place of zone placement where both are bound. Only a call that has
    both avoids regions without a usable zone, and whatever lies between may still decide the count.
    """
    found = bindings.ClusterPolicy.get_all(
        context, cluster_id, sort='priority', filters={'enabled': True}
    )
    pairs = [
        (bound, base.Policy.load(context, bound.policy_id, project_safe=False)) for bound in found
    ]
    priorities: dict[str, int] = {}
    earliest = 0
    for kind in ORDER:
        earliest = max(
            [earliest, *(bound.priority for bound, policy in pairs if policy.spec['type'] == kind)]
        )
        priorities[kind] = earliest
    if any(policy.spec['type'] == ZONES for _, policy in pairs):
        priorities[REGIONS] = priorities[ZONES]

    def position(pair: tuple[Any, Any]) -> tuple[int, int]:
        bound, policy = pair
        kind = policy.spec['type']
        return (priorities[kind], 1 + ORDER.index(kind)) if kind in OURS else (bound.priority, 0)

    return sorted(pairs, key=position)


def is_ours(policy: Any) -> bool:
    """Whether the worker decides for policies of this type."""
    return policy.spec['type'] in OURS


def _run_here(policy: Any, action: Any, cluster_id: str, target: Phase) -> bool:
    """Have a policy of somebody else's decide; what ours planned before stays.

    :returns: whether it did not fail.
    """
    placement = action.data.get(PLACEMENT)
    decide = policy.pre_op if target == 'BEFORE' else policy.post_op
    decide(cluster_id, action)
    merged = write_back.merge_placement(placement, action.data.get(PLACEMENT))
    if merged != action.data.get(PLACEMENT):
        write_back.write_action(action, {**action.data, PLACEMENT: merged})
    if action.data['status'] != base.CHECK_ERROR:
        return True
    _fail(action, [policy.name], action.data['reason'])
    return False


def _ask(action: Any, cluster_id: str, target: Phase, policies: Sequence[Binding]) -> bool:
    """Have the worker decide for some policies, if there are any, and write its decisions down.

    :returns: whether none failed.
    """
    if not policies:
        return True
    started = time.monotonic()
    request = requests.check_request(action, cluster_id, target, policies)
    try:
        reply = worker_client.ask(PolicyClient.policy_check, request, action.context)
    except worker_client.FAILURES as exc:
        _fail(action, [policy.name for policy in policies], str(exc))
    else:
        _write(action, cluster_id, reply)
    took_ms = 1000 * (time.monotonic() - started)
    told = (
        action.action,
        action.id,
        target,
        cluster_id,
        action.data['status'],
        took_ms,
        action.data['reason'],
    )
    LOG.info('%s %s %s of cluster %s: %s in %.0f ms: %s', *told)
    return bool(action.data['status'] != base.CHECK_ERROR)


def _write(action: Any, cluster_id: str, reply: CheckReply) -> None:
    for warning in reply.warnings:
        LOG.warning('%s %s of cluster %s: %s', action.action, action.id, cluster_id, warning)
    entity = action.entity
    of_cluster = isinstance(entity, cluster_mod.Cluster)
    write_back.write_nodes(action.context, reply.nodes, entity.nodes if of_cluster else [entity])
    write_back.write_cluster(
        action.context, cluster_id, reply.cluster, entity if of_cluster else None
    )
    write_back.write_action(action, reply.action.data)
    if reply.action.data['status'] == base.CHECK_ERROR:
        failed = [
            decision.policy_name for decision in reply.decisions if decision.outcome == 'FAILED'
        ]
        _fail(action, failed, reply.action.data['reason'])


def _fail(action: Any, names: Sequence[str | None], reason: str) -> None:
    """End the check."""
    action.data.update(status=base.CHECK_ERROR, reason=write_back.failure(names, reason))
