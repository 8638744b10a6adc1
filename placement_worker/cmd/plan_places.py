"""The nodes by place before and after an action, for `placement-policy plan`.

Placement policies explain their plans in `details`. The engine does not read these, and a plugin
may have replaced the plan later. Therefore an explained plan is shown only if it agrees with the
action's data in the reply.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.cloud.stated_places import Location
from placement_worker.cmd.plan_changes import PlaceChange
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    PLAN_KEYS,
    ActionData,
    Placement,
)
from placement_worker.contract.model import CheckReply, CheckRequest, Cluster, Decision
from placement_worker.planning.places import NO_PLACE
from placement_worker.planning.plan_rows import NO_KNOWN_PLACE
from placement_worker.planning.sizing import Size
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement

_KINDS = {f'{RegionPlacement.name}-': 'regions', f'{ZonePlacement.name}-': 'zones'}


@dataclass(frozen=True, slots=True)
class _Moves:
    """The places in which nodes are created, or from which they are deleted.

    :ivar places: the number of nodes by place.
    :ivar total: the number of all nodes; None if it is the sum of `places`.
    """

    places: Counter[Location]
    is_creation: bool
    total: int | None = None

    def after(self, before: int, count: int) -> int:
        return before + count if self.is_creation else before - count


@dataclass(frozen=True, slots=True)
class _Explained:
    """The plan of a placement policy according to the details of its decision.

    :ivar kind: `regions` or `zones`.
    :ivar by_region: whether the zones belong to a region each.
    :ivar unplaced: the nodes whose place is unknown.
    """

    kind: str
    rows: Sequence[PlaceChange]
    by_region: bool
    unplaced: PlaceChange

    @classmethod
    def of(cls, decisions: Iterable[Decision]) -> Iterator['_Explained']:
        """Yield the plan of each placement policy."""
        for decision in decisions:
            kind = _KINDS.get(decision.policy_type.rstrip('0123456789.'))
            if kind is None or decision.outcome != 'APPLIED' or kind not in decision.details:
                continue
            listed = [row for row in decision.details[kind] if row['note'] != NO_KNOWN_PLACE]
            unknown = [row for row in decision.details[kind] if row['note'] == NO_KNOWN_PLACE]
            before, after = (sum(row[key] for row in unknown) for key in ('current', 'final'))
            rows = [
                PlaceChange(
                    named(row.get('region_name'), row['name']),
                    row['current'],
                    row['final'],
                    row['note'],
                )
                for row in listed
            ]
            by_region = any('region_name' in row for row in listed)
            yield cls(kind, rows, by_region, PlaceChange(NO_PLACE, before, after))

    def changes(self, moves: _Moves, held: Counter[Location]) -> list[PlaceChange]:
        """Return the explained changes, or those of the reply if they differ.

        :param held: the number of nodes by place before the action.
        """
        moved = self._named(moves.places)
        if self._agrees(moved, moves.total):
            return [*self.rows, *[self.unplaced] * bool(self.unplaced.before)]
        before = self._named(held)
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

    def _named(self, places: Counter[Location]) -> Counter[str]:
        """Return the number of nodes by name of a row."""
        found: Counter[str] = Counter()
        for place, count in places.items():
            found[self._name(place)] += count
        return found

    def _name(self, place: Location) -> str:
        region, zone = place
        if self.kind == 'regions':
            return region or NO_PLACE
        if self.by_region:
            return named(region, zone) if region and zone else NO_PLACE
        return zone or NO_PLACE


def changes(
    request: CheckRequest, reply: CheckReply, size: Size, victims: Sequence[str]
) -> dict[str, list[PlaceChange]]:
    """Return kind of place (`zones`, `regions`, `nodes`) -> the change of each place.

    :param size: the number of nodes that the engine creates or deletes.
    :param victims: the ids of the nodes to delete.
    :raises InvalidInput: the plan in the action's data is malformed.
    """
    place_of = stated_places(request.cluster)
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
    moved, before = _by_name(moves.places), _by_name(held)
    rows = [PlaceChange(name, before[name], before[name]) for name in sorted(before)]
    kind = 'nodes' if victims else 'zones' if any(zone for _, zone in moves.places) else 'regions'
    return {kind: _changed(rows, moves, moved, before)}


def stated_places(cluster: Cluster) -> dict[str, Location]:
    """Return node id -> its place according to the request."""
    stated = Snapshot(Inventory(), cluster)
    return {node.id: stated.place_of(node) for node in cluster.nodes}


def named(region: str | None, zone: str | None) -> str:
    """Return the name of a place in words."""
    return '/'.join(filter(None, (region, zone))) or NO_PLACE


def _moves(data: ActionData, size: Size, gone: Counter[Location]) -> _Moves:
    """Return the changes that the engine makes if it follows a reply.

    :param gone: the number of nodes to delete by place, if policies chose the nodes.
    :raises InvalidInput: the plan is malformed.
    """
    is_creation = size.kind == CREATION
    if not size.count:
        return _Moves(Counter(), is_creation)
    if gone:
        return _Moves(gone, is_creation, size.count)
    entries = Placement.of(data.data.get('placement')).places if is_creation else []
    if entries:
        return _Moves(Counter(entries), is_creation, len(entries))
    places = None if is_creation else data.deletion.places
    if places:
        return _Moves(Counter({(one.region, one.zone): one.nodes for one in places}), is_creation)
    change = data.change(size.kind)
    if change.zones:
        return _Moves(Counter({(None, zone): n for zone, n in change.zones.items()}), is_creation)
    regions = change.regions or {}
    return _Moves(Counter({(region, None): n for region, n in regions.items()}), is_creation)


def _changed(
    rows: Sequence[PlaceChange],
    moves: _Moves,
    moved: Counter[str],
    before: Counter[str],
) -> list[PlaceChange]:
    """Return rows with the changes of the reply, and one for each other place that changes."""
    listed = {row.name for row in rows}
    others = sorted(name for name in moved if name not in listed and moved[name])
    found = []
    for row in [*rows, *(PlaceChange(name, before[name], 0) for name in others)]:
        after = moves.after(row.before, moved[row.name])
        note = row.note if after == row.after else ''
        # The worker may know nodes of a place that the request does not name.
        found.append(structs.replace(row, after=max(after, 0), note=note))
    return found


def _by_name(places: Counter[Location]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (region, zone), count in places.items():
        found[named(region, zone)] += count
    return found


def _is_trimmed(decided: object) -> bool:
    """Return whether a deletion has victims without counts by place.

    A later policy has spared victims, or no policy planned by place.
    """
    return isinstance(decided, dict) and 'candidates' in decided and not PLAN_KEYS & decided.keys()
