"""The changes that the decisions of a reply would make, for `placement-policy plan`.

Placement policies explain their plans in `details`. The engine does not read these, and a plugin
may have replaced the plan later. Therefore an explained plan is shown only if it agrees with the
action's data in the reply.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    Kind,
    Placement,
)
from placement_worker.contract.model import CheckReply, CheckRequest, Cluster, Decision
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
    """The number of nodes in one place before and after the action.

    A place is a zone, a region, or a zone of a region (`RegionOne/az1`).
    """

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

    :ivar places: kind of place (`zones`, `regions`, `nodes`) -> the change of each place.
    :ivar protected: the first nodes that must not be deleted, if the deletion policy chose victims.
    :ivar is_decided: whether a policy placed the nodes to create or chose the nodes to delete.
    :ivar wait_s: the seconds between the removal of members and the deletion of their nodes.
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
    data, size = reply.action.data, _size_of(request, reply.action.data)
    victims = list(_victims(request, reply))
    places = _place_changes(request, reply, size, [victim.id for victim in victims])
    return structs.replace(
        changes,
        created=size.count if size.kind == CREATION else 0,
        deleted=size.count if size.kind == DELETION else 0,
        is_decided=bool(places or victims or _is_detailed(data.get(size.kind))),
        places=places,
        victims=victims,
        wait_s=output.drain_wait_s(data, reply.decisions),
        protected=[
            ProtectedNode(row['id'], row['place'], row['until'], row['reason'])
            for row in _rows(reply.decisions, 'protected_nodes')
        ],
    )


def _is_detailed(decided: object) -> bool:
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
    place_of = _stated_places(request.cluster)
    for node_id in _victim_ids(request, reply):
        node, row = nodes.get(node_id), ranked.get(node_id, {})
        place = _place_name(place_of[node_id]) if node else ''
        reason = row.get('reason', '')
        if not reason or reason == KEPT:
            reason = explanations.reason_of_choice(node_id, request, reply) or reason
        yield Victim(node_id, row.get('place') or place, reason, node.status if node else '')


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
    kinds: tuple[Kind, ...] = (CREATION, DELETION)
    for kind in kinds:
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


def _victim_ids(request: CheckRequest, reply: CheckReply) -> Sequence[str]:
    chosen = explanations.stated_candidates(reply.action.data)
    if chosen is None and request.action.action == actions.CLUSTER_DEL_NODES:
        chosen = request.action.candidate_inputs.candidates
    return chosen or ()


@dataclass(frozen=True, slots=True)
class _Moves:
    """The nodes by place that are created or deleted.

    :ivar total: their number; None if it follows from `places` and the nodes of unknown place.
    """

    places: Counter[Location]
    is_creation: bool
    total: int | None = None


@dataclass(frozen=True, slots=True)
class _Explained:
    """The plan of a placement policy according to the details of its decision.

    :ivar by_region: whether the zones belong to a region each.
    :ivar unplaced: the nodes whose place is unknown.
    """

    kind: str
    rows: Sequence[PlaceChange]
    by_region: bool
    unplaced: PlaceChange

    @classmethod
    def of(cls, decisions: Iterable[Decision]) -> Iterator['_Explained']:
        for decision in decisions:
            kind = _KINDS.get(decision.policy_type.rstrip('0123456789.'))
            if kind is None or decision.outcome != 'APPLIED' or kind not in decision.details:
                continue
            listed = [row for row in decision.details[kind] if row['note'] != NO_KNOWN_PLACE]
            unknown = [row for row in decision.details[kind] if row['note'] == NO_KNOWN_PLACE]
            before, after = (sum(row[key] for row in unknown) for key in ('current', 'final'))
            names = [_place_name((row.get('region_name'), row['name'])) for row in listed]
            rows = [
                PlaceChange(name, row['current'], row['final'], row['note'])
                for name, row in zip(names, listed, strict=True)
            ]
            by_region = any('region_name' in row for row in listed)
            yield cls(kind, rows, by_region, PlaceChange(NO_PLACE, before, after))

    def changes(self, moves: _Moves, held: Counter[Location]) -> list[PlaceChange]:
        """Return the explained changes, or those of the reply if they differ."""
        moved = _by_name(moves.places, self._name)
        if self._agrees(moved, moves.total):
            return [*self.rows, *[self.unplaced] * bool(self.unplaced.before)]
        before = _by_name(held, self._name)
        before[NO_PLACE] = 0 if moves.is_creation else moved[NO_PLACE]
        return _changed(self.rows, moves, moved, before)

    def _agrees(self, moved: Mapping[str, int], total: int | None) -> bool:
        """Return whether the reply may have this plan: the places of some nodes are unknown."""
        planned = Counter({row.name: abs(row.after - row.before) for row in self.rows})
        known = Counter({name: count for name, count in moved.items() if name != NO_PLACE})
        unplaced = self.unplaced.before - self.unplaced.after
        if total is None:
            total = known.total() + unplaced
        return known <= planned and planned.total() + unplaced <= total

    def _name(self, place: Location) -> str:
        region, zone = place
        if self.kind == 'regions':
            return region or NO_PLACE
        if self.by_region:
            return _place_name(place) if region and zone else NO_PLACE
        return zone or NO_PLACE


def _place_changes(
    request: CheckRequest, reply: CheckReply, size: Size, victims: Sequence[str]
) -> dict[str, list[PlaceChange]]:
    place_of = _stated_places(request.cluster)
    held = Counter(place_of.values())
    gone = Counter(place_of[node_id] for node_id in victims if node_id in place_of)
    moves = _moves(ActionData(reply.action.data), size, gone)
    if not _is_trimmed(reply.action.data.get(DELETION)):
        explained = {
            plan.kind: plan.changes(moves, held) for plan in _Explained.of(reply.decisions)
        }
        if explained:
            return explained
    if not moves.places:
        return {}
    moved, before = _by_name(moves.places, _place_name), _by_name(held, _place_name)
    rows = [PlaceChange(name, before[name], before[name]) for name in sorted(before)]
    kind = 'nodes' if victims else 'zones' if any(zone for _, zone in moves.places) else 'regions'
    return {kind: _changed(rows, moves, moved, before)}


def _stated_places(cluster: Cluster) -> dict[str, Location]:
    stated = Snapshot(Inventory(), cluster)
    return {node.id: stated.place_of(node) for node in cluster.nodes}


def _place_name(place: Location) -> str:
    return '/'.join(filter(None, place)) or NO_PLACE


def _moves(data: ActionData, size: Size, gone: Counter[Location]) -> _Moves:
    is_creation = size.kind == CREATION
    if not size.count:
        return _Moves(Counter(), is_creation)
    if is_creation:
        entries = Placement.of(data.data.get('placement')).places
        if entries:
            return _Moves(Counter(entries), is_creation, len(entries))
    elif gone:
        return _Moves(gone, is_creation, size.count)
    return _Moves(explanations.planned_by_place(data.change(size.kind)), is_creation)


def _changed(
    rows: Sequence[PlaceChange], moves: _Moves, moved: Counter[str], before: Counter[str]
) -> list[PlaceChange]:
    listed = {row.name for row in rows}
    others = sorted(name for name in moved if name not in listed and moved[name])
    changed = []
    for row in [*rows, *(PlaceChange(name, before[name], 0) for name in others)]:
        count = moved[row.name]
        after = row.before + (count if moves.is_creation else -count)
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
