"""Senlin's policy check: the worker decides for its policy types, Senlin for all others."""

import logging
import time
from collections.abc import Sequence
from typing import Any

from senlin.engine import cluster as cluster_mod
from senlin.objects import cluster_policy
from senlin.policies import base

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import Binding, CheckReply, Phase
from placement_worker.engines.senlin import requests, worker_client, write_back

LOG = logging.getLogger(__name__)
REGIONS, ZONES = 'senlin.policy.region_placement', 'senlin.policy.zone_placement'
ORDER = (REGIONS, ZONES, 'senlin.policy.deletion', 'senlin.policy.loadbalance')
"""The policy types that the worker decides for, each before the types that depend on it."""
WORKER_TYPES = frozenset(ORDER)
PLACEMENT = 'placement'


def check(action: Any, cluster_id: str, target: Phase) -> None:
    """Check the enabled policies in order, and stop at the first failure.

    This takes the place of Senlin's `Action.policy_check`. Adjacent policies of the worker's types
    share one call, so that regions and zones are planned together and the nodes are sent once.

    :param action: Senlin's Action; its `data` receive the result.
    """
    action.data.update(status=base.CHECK_NONE, reason='')
    pending: list[Binding] = []
    for bound, policy in _in_order(action.context, cluster_id):
        action.inputs['last_op'] = bound.last_op
        if not policy.need_check(target, action):
            continue
        if is_decided_by_worker(policy):
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
    found = cluster_policy.ClusterPolicy.get_all(
        context, cluster_id, sort='priority', filters={'enabled': True}
    )
    pairs = [
        (bound, base.Policy.load(context, bound.policy_id, project_safe=False)) for bound in found
    ]
    priorities = _priorities(pairs)

    def position(pair: tuple[Any, Any]) -> tuple[int, int]:
        bound, policy = pair
        kind = policy.spec['type']
        return (
            (priorities[kind], 1 + ORDER.index(kind))
            if kind in WORKER_TYPES
            else (bound.priority, 0)
        )

    return sorted(pairs, key=position)


def _priorities(pairs: Sequence[tuple[Any, Any]]) -> dict[str, int]:
    """Return the priority at which each type of `ORDER` runs, for bindings with their policies."""
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


def is_decided_by_worker(policy: Any) -> bool:
    """Return whether the worker decides for policies of this type."""
    return policy.spec['type'] in WORKER_TYPES


def _run_in_senlin(policy: Any, action: Any, cluster_id: str, target: Phase) -> bool:
    """Run a policy that Senlin decides for, and keep the placement of earlier policies.

    :returns: whether the policy succeeded.
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


def _call_worker(action: Any, cluster_id: str, target: Phase, policies: Sequence[Binding]) -> bool:
    """Have the worker decide for the given policies, and write back its decisions.

    :returns: whether no policy failed; True without policies.
    """
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
    _log_result(action, cluster_id, target, time.monotonic() - started)
    return bool(action.data['status'] != base.CHECK_ERROR)


def _log_result(action: Any, cluster_id: str, target: str, elapsed_s: float) -> None:
    LOG.info(
        '%s %s %s of cluster %s: %s in %.0f ms: %s',
        action.action,
        action.id,
        target,
        cluster_id,
        action.data['status'],
        1000 * elapsed_s,
        action.data['reason'],
    )


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
    """Set the result of the check to an error."""
    action.data.update(status=base.CHECK_ERROR, reason=write_back.failure(names, reason))
