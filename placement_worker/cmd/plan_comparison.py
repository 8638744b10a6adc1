"""The comparison of a cluster with the result of a reply, for `placement-policy plan`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from placement_worker.cmd import draining, plan_places, plan_size, plan_victims
from placement_worker.cmd.plan_changes import (
    Changes,
    PoolChange,
    ProtectedNode,
    SkippedPolicy,
    Victim,
)
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.decisions import victim_choosers
from placement_worker.errors import Rejected
from placement_worker.planning import sizing
from placement_worker.policies.base import AFTER
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.properties import NAME
from placement_worker.policies.victim_selection import KEPT


def compare(request: CheckRequest, reply: CheckReply) -> Changes:
    """Return the changes from the cluster of a request to the result of its reply.

    :param reply: the reply to the request with `dry_run`; an explanation in full gives reasons.
    """
    changes = _unchanged(request, reply)
    if changes.status != 'OK':
        failed = (one.details for one in reply.decisions if one.outcome == 'FAILED')
        return structs.replace(changes, details=next(failed, {}))
    changes = structs.replace(
        changes,
        pools=list(_pools(reply.decisions)),
        patched=sorted(reply.nodes),
        skipped=list(_skipped(request, reply)),
    )
    if request.target == AFTER:  # the engine has already applied the earlier decisions
        return changes
    try:
        return _sized(changes, request, reply)
    except Rejected as exc:  # no policy has read the inputs
        return structs.replace(changes, warnings=[*changes.warnings, str(exc)])


def _unchanged(request: CheckRequest, reply: CheckReply) -> Changes:
    """Return the action, the cluster and the outcome, without any change."""
    return Changes(
        action=request.action.action,
        action_id=request.action.id,
        target=request.target,
        cluster=request.cluster.name or request.cluster.id,
        status=reply.action.data['status'],
        reason=reply.action.data['reason'],
        size=len(sizing.current_nodes(request.action, request.cluster)),
        policies=len(request.policies),
        warnings=reply.warnings,
    )


def _sized(changes: Changes, request: CheckRequest, reply: CheckReply) -> Changes:
    """Return the changes with the nodes to create and to delete.

    :raises InvalidInput: the inputs of the action are malformed.
    """
    data, size = reply.action.data, plan_size.of(request, reply.action.data)
    victims = list(_victims(request, reply))
    places = plan_places.changes(request, reply, size, [victim.id for victim in victims])
    return structs.replace(
        changes,
        created=size.count if size.kind == CREATION else 0,
        deleted=size.count if size.kind == DELETION else 0,
        is_decided=bool(places or victims or _is_detailed(data.get(size.kind))),
        places=places,
        victims=victims,
        wait_s=draining.wait_s(data, reply.decisions),
        protected=list(_protected(reply.decisions)),
    )


def _is_detailed(decided: object) -> bool:
    """Return whether a decision holds more than a number of nodes, e.g. their zones."""
    return isinstance(decided, dict) and bool(decided.keys() - {'count'})


def _skipped(request: CheckRequest, reply: CheckReply) -> Iterator[SkippedPolicy]:
    """Yield the disabled policies, which the reply omits, and those that the worker skipped."""
    for binding in request.policies:
        if not binding.enabled:
            name = binding.name or binding.id
            yield SkippedPolicy(name, f'policy {name} is disabled')
    for decision in reply.decisions:
        if decision.outcome == 'SKIPPED':
            name = decision.policy_name or decision.policy_id
            yield SkippedPolicy(name, decision.reason.rstrip('.'))


def _victims(request: CheckRequest, reply: CheckReply) -> Iterator[Victim]:
    ranked = {row['id']: row for row in _rows(reply.decisions, 'victims')}
    nodes = {node.id: node for node in request.cluster.nodes}
    place_of = plan_places.stated_places(request.cluster)
    for node_id in plan_victims.ids(request, reply):
        node, row = nodes.get(node_id), ranked.get(node_id, {})
        place = plan_places.named(*place_of[node_id]) if node else ''
        reason = row.get('reason', '')
        if not reason or reason == KEPT:
            reason = victim_choosers.reason(node_id, request, reply) or reason
        yield Victim(node_id, row.get('place') or place, reason, node.status if node else '')


def _protected(decisions: Sequence[Decision]) -> Iterator[ProtectedNode]:
    for row in _rows(decisions, 'protected_nodes'):
        yield ProtectedNode(row['id'], row['place'], row['until'], row['reason'])


def _rows(decisions: Sequence[Decision], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows under a key of the details of deletion; plugins may use the key otherwise."""
    for decision in decisions:
        if decision.policy_type.startswith(f'{Deletion.name}-'):
            yield from decision.details.get(key, ())


def _pools(decisions: Sequence[Decision]) -> Iterator[PoolChange]:
    for decision in decisions:
        if decision.policy_type.startswith(f'{NAME}-') and decision.outcome == 'APPLIED':
            yield PoolChange(decision.policy_name or decision.policy_id, decision.details)
