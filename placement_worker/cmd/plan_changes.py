"""The changes that the decisions of a reply would make, for `placement-policy plan`.

Placement policies explain their plans in `details`. The engine does not read these, and a plugin
may have replaced the plan later. Therefore an explained plan is shown only if it agrees with the
action's data in the reply.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Location, Snapshot
from placement_worker.cmd import output
from placement_worker.contract import actions
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    PLAN_KEYS,
    ActionData,
    ChangeKind,
    Placement,
)
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.decisions import explanations
from placement_worker.errors import Rejected
from placement_worker.planning import sizing
from placement_worker.planning.placement import NO_KNOWN_PLACE
from placement_worker.planning.places import NO_PLACE
from placement_worker.planning.sizing import Size
from placement_worker.policies.base import AFTER
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.victim_selection import KEPT
from placement_worker.policies.zone_placement import ZonePlacement

_ANY_SIZE = sys.maxsize  # the worker checks its own limit
_KINDS = {f'{RegionPlacement.name}-': 'regions', f'{ZonePlacement.name}-': 'zones'}


class PlaceChange(Struct, frozen=True):
    # The name of a zone, a region, or a zone of a region (`RegionOne/az1`).
    name: str
    before: int
    after: int
    note: str = ''


class Victim(Struct, frozen=True):
    # Strings are empty if the reply lacks the value.
    id: str
    place: str = ''
    reason: str = ''
    status: str = ''


class ProtectedNode(Struct, frozen=True):
    id: str
    place: str = ''
    until: str = ''
    reason: str = ''


class SkippedPolicy(Struct, frozen=True):
    policy: str
    reason: str


class PoolChange(Struct, frozen=True):
    """The changes of a load-balancing policy: the `details` of its decision."""

    policy: str
    details: dict[str, Any]

    @property
    def is_changed(self) -> bool:
        return bool(self.details.get('added') or self.details.get('removed'))


class Changes(Struct, frozen=True):
    """The difference that one action would make.

    `places`: kind of place (`zones`, `regions`, `nodes`) -> the change of each place. `protected`:
    the first nodes that must not be deleted, if the deletion policy chose victims. `is_decided`:
    whether a policy placed the nodes to create or chose the nodes to delete. `wait_s`: the seconds
    between the removal of members and the deletion of their nodes.
    """

    action: str
    action_id: str
    target: str
    cluster: str
    status: str
    reason: str
    size: int
    policies: int = 0
    warnings: list[str] = []
    created: int = 0
    deleted: int = 0
    is_decided: bool = False
    places: dict[str, list[PlaceChange]] = {}
    victims: list[Victim] = []
    protected: list[ProtectedNode] = []
    pools: list[PoolChange] = []
    wait_s: int = 0
    patched: list[str] = []
    skipped: list[SkippedPolicy] = []
    details: dict[str, Any] = {}

    @property
    def any(self) -> bool:
        nodes_changed = self.created or self.deleted or self.patched
        return bool(nodes_changed or any(pool.is_changed for pool in self.pools))


def compare(request: CheckRequest, reply: CheckReply) -> Changes:
    """Return the changes by a reply; with `explain: full` victims and places have reasons."""
    changes = Changes(
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
    if changes.status != 'OK':
        failed = (item.details for item in reply.decisions if item.outcome == 'FAILED')
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


def _sized(changes: Changes, request: CheckRequest, reply: CheckReply) -> Changes:
    data = reply.action.data
    size = _size_of(request, data)
    stated = Snapshot(Inventory(), request.cluster)
    place_of = {node.id: stated.place_of(node) for node in request.cluster.nodes}
    victims = list(_victims(request, reply, place_of))
    places = _place_changes(reply, size, place_of, [victim.id for victim in victims])
    decided = data.get(size.kind)
    is_detailed = isinstance(decided, dict) and bool(decided.keys() - {'count'})
    return structs.replace(
        changes,
        created=size.count if size.kind == CREATION else 0,
        deleted=size.count if size.kind == DELETION else 0,
        is_decided=bool(places or victims or is_detailed),
        places=places,
        victims=victims,
        wait_s=output.drain_wait_s(data, reply.decisions),
        protected=[
            ProtectedNode(row['id'], row['place'], row['until'], row['reason'])
            for row in _rows(reply.decisions, 'protected_nodes')
        ],
    )


def _skipped(request: CheckRequest, reply: CheckReply) -> Iterator[SkippedPolicy]:
    """Yield the disabled policies, which the reply omits, and those that the worker skipped."""
    for name in (policy.name or policy.id for policy in request.policies if not policy.enabled):
        yield SkippedPolicy(name, f'policy {name} is disabled')
    for decision in reply.decisions:
        if decision.outcome == 'SKIPPED':
            name = decision.policy_name or decision.policy_id
            yield SkippedPolicy(name, decision.reason.rstrip('.'))


def _victims(
    request: CheckRequest, reply: CheckReply, place_of: Mapping[str, Location]
) -> Iterator[Victim]:
    chosen = explanations.stated_candidates(reply.action.data)
    if chosen is None and request.action.action == actions.CLUSTER_DEL_NODES:
        chosen = request.action.candidate_inputs.candidates
    ranked = {row['id']: row for row in _rows(reply.decisions, 'victims')}
    statuses = {node.id: node.status for node in request.cluster.nodes}
    for node_id in chosen or ():
        row = ranked.get(node_id, {})
        place = row.get('place') or (_place_name(place_of[node_id]) if node_id in place_of else '')
        reason = row.get('reason', '')
        if not reason or reason == KEPT:
            reason = explanations.reason_of_choice(node_id, request, reply) or reason
        yield Victim(node_id, place, reason, statuses.get(node_id, ''))


def _rows(decisions: Sequence[Decision], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows under a key of the details of deletion; plugins may use the key otherwise."""
    for decision in decisions:
        if decision.policy_type.startswith(f'{Deletion.name}-'):
            yield from decision.details.get(key, ())


def _pools(decisions: Sequence[Decision]) -> Iterator[PoolChange]:
    for decision in decisions:
        if decision.policy_type.startswith(f'{LOAD_BALANCING}-') and decision.outcome == 'APPLIED':
            yield PoolChange(decision.policy_name or decision.policy_id, decision.details)


def _size_of(request: CheckRequest, data: Mapping[str, Any]) -> Size:
    """Return the number of nodes that policies decided on, else that of the action."""
    kind: ChangeKind
    for kind in (CREATION, DELETION):
        decided = data.get(kind)
        count = decided.get('count', 1) if isinstance(decided, dict) else 0
        if count and isinstance(count, int):
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


class _Moves(NamedTuple):
    """The nodes by place that are created (`sign` 1) or deleted (`sign` -1).

    `total`: their number; None if it follows from `places` and the nodes of unknown place.
    """

    places: Counter[Location]
    sign: int
    total: int | None = None


class _Explained(NamedTuple):
    """The plan of a placement policy according to the details of its decision.

    `by_region`: whether each zone belongs to a region. `unplaced`: the nodes whose place is
    unknown.
    """

    kind: str
    rows: Sequence[PlaceChange]
    by_region: bool
    unplaced: PlaceChange

    def changes(self, moves: _Moves, held: Counter[Location]) -> list[PlaceChange]:
        moved = _by_name(moves.places, self._name)
        if self._agrees(moved, moves.total):
            return [*self.rows, *[self.unplaced] * bool(self.unplaced.before)]
        before = _by_name(held, self._name)
        before[NO_PLACE] = 0 if moves.sign > 0 else moved[NO_PLACE]
        return _changed(self.rows, moves.sign, moved, before)

    def _agrees(self, moved: Counter[str], total: int | None) -> bool:
        """Return whether the reply may have this plan: the places of some nodes are unknown."""
        planned = Counter({row.name: abs(row.after - row.before) for row in self.rows})
        known = Counter({name: count for name, count in moved.items() if name != NO_PLACE})
        unplaced = self.unplaced.before - self.unplaced.after
        most = known.total() if total is None else total - unplaced
        return known <= planned and planned.total() <= most

    def _name(self, place: Location) -> str:
        region, zone = place
        if self.kind == 'regions':
            return region or NO_PLACE
        if self.by_region:
            return _place_name(place) if region and zone else NO_PLACE
        return zone or NO_PLACE


def _explained(decisions: Iterable[Decision]) -> Iterator[_Explained]:
    for decision in decisions:
        kind = _KINDS.get(decision.policy_type.rstrip('0123456789.'))
        if kind is None or decision.outcome != 'APPLIED' or kind not in decision.details:
            continue
        unplaced, rows, by_region = PlaceChange(name=NO_PLACE, before=0, after=0), [], False
        for row in decision.details[kind]:
            before, after = row['current'], row['final']
            if row['note'] == NO_KNOWN_PLACE:
                before, after = before + unplaced.before, after + unplaced.after
                unplaced = PlaceChange(name=NO_PLACE, before=before, after=after)
            else:
                name = _place_name((row.get('region_name'), row['name']))
                rows.append(PlaceChange(name=name, before=before, after=after, note=row['note']))
                by_region |= 'region_name' in row
        yield _Explained(kind, rows, by_region, unplaced)


def _place_changes(
    reply: CheckReply, size: Size, place_of: Mapping[str, Location], victims: Sequence[str]
) -> dict[str, list[PlaceChange]]:
    held = Counter(place_of.values())
    gone = Counter(place_of[node_id] for node_id in victims if node_id in place_of)
    moves = _moves(ActionData(reply.action.data), size, gone)
    if not _is_trimmed(reply.action.data.get(DELETION)):
        explained = {plan.kind: plan.changes(moves, held) for plan in _explained(reply.decisions)}
        if explained:
            return explained
    if not moves.places:
        return {}
    moved, before = _by_name(moves.places, _place_name), _by_name(held, _place_name)
    rows = [
        PlaceChange(name=name, before=before[name], after=before[name]) for name in sorted(before)
    ]
    kind = 'nodes' if victims else 'zones' if any(zone for _, zone in moves.places) else 'regions'
    return {kind: _changed(rows, moves.sign, moved, before)}


def _place_name(place: Location) -> str:
    return '/'.join(filter(None, place)) or NO_PLACE


def _moves(data: ActionData, size: Size, gone: Counter[Location]) -> _Moves:
    sign = 1 if size.kind == CREATION else -1
    if not size.count:
        return _Moves(Counter(), sign)
    if sign > 0:
        entries = Placement.of(data.data.get('placement')).places
        if entries:
            return _Moves(Counter(entries), sign, len(entries))
    elif gone:
        return _Moves(gone, sign, size.count)
    return _Moves(explanations.planned_by_place(data.change(size.kind)), sign)


def _changed(
    rows: Sequence[PlaceChange], sign: int, moved: Counter[str], before: Counter[str]
) -> list[PlaceChange]:
    listed = {row.name for row in rows}
    others = sorted(name for name in moved if name not in listed and moved[name])
    changed = []
    unlisted = (PlaceChange(name=name, before=before[name], after=0) for name in others)
    for row in [*rows, *unlisted]:
        after = row.before + sign * moved[row.name]
        note = row.note if after == row.after else ''
        # The worker may know nodes of a place that the request does not name.
        changed.append(structs.replace(row, after=max(after, 0), note=note))
    return changed


def _by_name(places: Counter[Location], name: Callable[[Location], str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for place, count in places.items():
        counts[name(place)] += count
    return counts


def _is_trimmed(decided: object) -> bool:
    """A later policy has spared victims, or no policy planned by place."""
    return isinstance(decided, dict) and 'candidates' in decided and not PLAN_KEYS & decided.keys()
