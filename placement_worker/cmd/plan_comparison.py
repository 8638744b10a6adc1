"""The comparison of a cluster with the result of a reply, for `placement-policy plan`."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.cmd import draining, plan_size, plan_victims
from placement_worker.cmd.plan_changes import (
    Changes,
    PlaceChange,
    PoolChange,
    ProtectedNode,
    SkippedPolicy,
    Victim,
)
from placement_worker.contract.action_data import CREATION, DELETION, PLAN_KEYS
from placement_worker.contract.cluster import Cluster
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.errors import Rejected
from placement_worker.planning import sizing
from placement_worker.planning.places import NO_PLACE
from placement_worker.policies.base import AFTER


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
    planned, victims = dict(_planned(reply.decisions)), list(_victims(request, reply))
    if _is_trimmed(data.get(DELETION)):
        planned = {}
    return structs.replace(
        changes,
        created=size.count if size.kind == CREATION else 0,
        deleted=size.count if size.kind == DELETION else 0,
        is_decided=bool(planned or victims or _is_detailed(data.get(size.kind))),
        places=planned or _emptied(request.cluster, victims),
        victims=victims,
        wait_s=draining.wait_s(data, reply.decisions),
        protected=list(_protected(reply.decisions)),
    )


def _is_trimmed(decided: object) -> bool:
    """Return whether a deletion has victims without counts by place.

    A later policy has spared victims, or no policy planned by place.
    """
    return isinstance(decided, dict) and 'candidates' in decided and not PLAN_KEYS & decided.keys()


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


def _planned(decisions: Sequence[Decision]) -> Iterator[tuple[str, list[PlaceChange]]]:
    """Yield the rows of each placement policy; nodes in no known place come last."""
    for decision in decisions:
        for key in ('regions', 'zones'):
            rows = decision.details.get(key)
            if decision.outcome == 'APPLIED' and isinstance(rows, list):
                changes = [
                    PlaceChange(
                        _named(row.get('region_name'), row['name']),
                        row['current'],
                        row['final'],
                        row['note'],
                    )
                    for row in rows
                ]
                unplaced = decision.details.get('unplaced', 0)
                yield key, changes + [PlaceChange(NO_PLACE, unplaced, 0)] * bool(unplaced)


def _emptied(cluster: Cluster, victims: Sequence[Victim]) -> dict[str, list[PlaceChange]]:
    """Return the changes by place if no placement policy decided; {} without victims."""
    if not victims:
        return {}
    stated = Snapshot(Inventory(), cluster)
    place_of = {
        node.id: _named(stated.region_of(node), stated.zone_of(node)) for node in cluster.nodes
    }
    before = Counter(place_of.values())
    gone = Counter(place_of[victim.id] for victim in victims if victim.id in place_of)
    return {
        'nodes': [
            PlaceChange(name, before[name], before[name] - gone[name]) for name in sorted(before)
        ]
    }


def _victims(request: CheckRequest, reply: CheckReply) -> Iterator[Victim]:
    ranked = {
        row['id']: row
        for decision in reply.decisions
        for row in decision.details.get('victims', ())
        if isinstance(row, dict)
    }
    nodes = {node.id: node for node in request.cluster.nodes}
    stated = Snapshot(Inventory(), request.cluster)
    for node_id in plan_victims.ids(request, reply):
        node, row = nodes.get(node_id), ranked.get(node_id, {})
        place = _named(stated.region_of(node), stated.zone_of(node)) if node else ''
        reason = row.get('reason') or plan_victims.reason(node_id, request, reply)
        yield Victim(node_id, row.get('place') or place, reason, node.status if node else '')


def _protected(decisions: Sequence[Decision]) -> Iterator[ProtectedNode]:
    for decision in decisions:
        for row in decision.details.get('protected_nodes', ()):
            yield ProtectedNode(row['id'], row['place'], row['until'], row['reason'])


def _pools(decisions: Sequence[Decision]) -> Iterator[PoolChange]:
    for decision in decisions:
        if (
            decision.policy_type.startswith(plan_victims.LOAD_BALANCING)
            and decision.outcome == 'APPLIED'
        ):
            yield PoolChange(decision.policy_name or decision.policy_id, decision.details)


def _named(region: str | None, zone: str | None) -> str:
    return '/'.join(filter(None, (region, zone))) or NO_PLACE
