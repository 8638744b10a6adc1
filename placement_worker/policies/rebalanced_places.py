"""The places of a cluster that is rebalanced: what each holds, and which nodes may leave it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, Self

from placement_worker.cloud.snapshot import Location, Snapshot
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import Node
from placement_worker.errors import NoUsablePlace
from placement_worker.planning.placement import NO_KNOWN_PLACE, NOT_LISTED, note_of
from placement_worker.planning.places import Place, evacuation_warnings, raise_if_only_cordons_close
from placement_worker.planning.rebalancing import NO_WEIGHT, Holding, Region
from placement_worker.policies.resolved_places import NO_ZONE, Places

# The only region if no policy places by region.
EVERYWHERE = Place('', 1)


@dataclass(frozen=True, slots=True)
class Layout:
    """The nodes of a cluster by place.

    `movable`: in the order in which they leave. `unplaced`: the nodes whose place is unknown; they
    stay. `probed`: the places that are short of capacity, in which at most one node may be created.
    """

    regions: Sequence[Region]
    movable: Mapping[Location, Sequence[Node]]
    unplaced: Sequence[Node]
    probed: Collection[Location] = frozenset()


@dataclass(frozen=True, slots=True)
class Levels:
    """The places that the policies of a cluster list.

    `regions`: None if no policy places by region. `zones`: region -> its zones, for each region in
    which nodes are placed by zone.
    """

    regions: Sequence[Place] | None
    zones: Mapping[str | None, Sequence[Place]]

    @classmethod
    def resolved(cls, places: Places) -> Self:
        if places.listed_regions is None:
            region = places.request.cluster.profile.region
            zones = places.zones(CREATION, region, by_region=False)
            if not any(zone.available for zone in zones):
                raise_if_only_cordons_close(zones, NO_ZONE)
                raise NoUsablePlace(NO_ZONE)
            return cls(None, {None: zones})
        regions = places.checked_regions(CREATION)
        if places.listed_zones is None:
            return cls(regions, {})
        names = [region.name for region in regions if region.known]
        divided = {name: places.zones(CREATION, name, by_region=True) for name in names}
        return cls(
            regions,
            {name: zones for name, zones in divided.items() if any(zone.known for zone in zones)},
        )


def layout(
    ordered: Sequence[Node],
    staying: Collection[str],
    levels: Levels,
    cloud: Snapshot,
    ranks: Mapping[str, int] = MappingProxyType({}),
) -> Layout:
    """Divide the nodes of a cluster by place.

    :param ordered: all nodes, in the order in which they leave a place.
    :param ranks: node id -> rank, of the healthy nodes that break ties between places.
    """
    members: defaultdict[Location, list[Node]] = defaultdict(list)
    for node in ordered:
        region = None if levels.regions is None else cloud.region_of(node)
        members[region, cloud.zone_of(node) if region in levels.zones else None].append(node)
    by_region = levels.regions is not None
    lost = {
        place
        for place in members
        if (by_region and place[0] is None) or (place[0] in levels.zones and place[1] is None)
    }
    movable = {
        place: [node for node in nodes if place not in lost and node.id not in staying]
        for place, nodes in members.items()
    }
    counts = {
        place: _Count(
            len(nodes),
            tuple(ranks[node.id] for node in nodes if node.id in ranks),
            tuple(ranks.get(node.id) for node in movable[place]),
        )
        for place, nodes in members.items()
    }
    return Layout(
        _regions(levels, counts, len(ordered)),
        movable,
        [node for place in lost for node in members[place]],
        _probed(levels),
    )


class _Count(NamedTuple):
    held: int
    ranks: Sequence[int]
    leaving: Sequence[int | None]


def _probed(levels: Levels) -> frozenset[Location]:
    """All zones of a region with a shortage have it, too."""
    short = {region.name for region in levels.regions or () if region.shortage}
    probed: set[Location] = {(region, None) for region in short}
    for region, zones in levels.zones.items():
        probed |= {(region, zone.name) for zone in zones if region in short or zone.shortage}
    return frozenset(probed)


def places_not_emptied(levels: Levels, protected: Sequence[Node], cloud: Snapshot) -> list[str]:
    sentences: list[str] = []
    if levels.regions:
        in_regions = Counter(map(cloud.region_of, protected))
        sentences += evacuation_warnings(levels.regions, in_regions, 'region')
    for region, zones in levels.zones.items():
        nodes = [node for node in protected if region is None or cloud.region_of(node) == region]
        sentences += evacuation_warnings(zones, Counter(map(cloud.zone_of, nodes)), 'zone')
    return sentences


def _regions(levels: Levels, counts: Mapping[Location, _Count], size: int) -> list[Region]:
    places: dict[str | None, Place | None] = {None: EVERYWHERE}
    if levels.regions is not None:
        places = {region.name: region for region in levels.regions}
        places.update({name: None for name, _ in sorted(counts, key=str) if name not in places})
    return [
        _region(name, place, levels.zones.get(name), counts, size) for name, place in places.items()
    ]


def _region(
    name: str | None,
    place: Place | None,
    listed: Sequence[Place] | None,
    counts: Mapping[Location, _Count],
    size: int,
) -> Region:
    zones = _zones(name, listed, counts, size)
    held = sum(zone.held for zone in zones)
    ranks = tuple(sorted(rank for zone in zones for rank in zone.ranks))
    leaving = [rank for zone in zones for rank in zone.leaving]
    leaving.sort(key=lambda rank: -1 if rank is None else rank)
    holding = _holding(name, place, _Count(held, ranks, tuple(leaving)), size)
    room = sum(max(0, zone.most - zone.held) for zone in zones)
    if not room:
        # The nodes of an evacuated zone go to another region if their own has no room for them.
        evacuated = {zone.name for zone in listed or () if zone.evacuated}
        room -= sum(zone.held - zone.fixed for zone in zones if zone.name in evacuated)
    holding = replace(holding, most=min(holding.most, held + room))
    return Region(holding, zones)


def _zones(
    region: str | None, listed: Sequence[Place] | None, counts: Mapping[Location, _Count], size: int
) -> list[Holding]:
    """A region that is not divided by zone has one zone without a name."""
    places: dict[str | None, Place | None] = {None: EVERYWHERE}
    if listed is not None:
        places = {zone.name: zone for zone in listed}
        unlisted = (zone for name, zone in counts if name == region and zone not in places)
        places.update(dict.fromkeys(sorted(unlisted, key=str)))
    return [
        _holding(name, place, counts.get((region, name), _Count(0, (), ())), size)
        for name, place in places.items()
    ]


def _holding(name: str | None, place: Place | None, count: _Count, size: int) -> Holding:
    held, ranks, leaving = count
    fixed = held - len(leaving)
    if place is None:
        note = NO_KNOWN_PLACE if name is None else NOT_LISTED
        return Holding(name, NO_WEIGHT, held, fixed, held, note, ranks, leaving)
    note = note_of(place, held)
    if not place.known or place.evacuated:
        return Holding(name, NO_WEIGHT, held, fixed, held, note, ranks, leaving)
    most = place.cap if place.cap >= 0 else held + size
    if not place.available:
        most = min(most, held)
    elif place.shortage:
        most = min(most, held + place.shortage.room)
    return Holding(name, place.weight, held, fixed, most, note, ranks, leaving)
