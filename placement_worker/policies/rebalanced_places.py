"""The places of a cluster that is rebalanced: what each holds, and which nodes may leave it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from placement_worker.contract.action_data import CREATION, Location
from placement_worker.contract.model import Node
from placement_worker.planning.placement import NO_KNOWN_PLACE, NOT_LISTED, note_of
from placement_worker.planning.places import Place, evacuation_warnings
from placement_worker.planning.rebalancing import NO_WEIGHT, Holding, Region
from placement_worker.policies.resolved_places import Places

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
    probed: Collection[Location]


def layout(
    places: Places, ordered: Sequence[Node], staying: Collection[str], ranks: Mapping[str, int]
) -> Layout:
    """Divide the nodes of a cluster by place.

    :param ordered: all nodes, in the order in which they leave a place.
    :param ranks: node id -> rank, of the healthy nodes that break ties between places.
    :raises NoUsablePlace: no node can be created in any place.
    """
    by_region, zones = places.listed_regions is not None, places.zones_by_region()
    members: defaultdict[Location, list[Node]] = defaultdict(list)
    for node in ordered:
        region = places.cloud.region_of(node) if by_region else None
        members[region, places.cloud.zone_of(node) if region in zones else None].append(node)
    lost = {
        (region, zone)
        for region, zone in members
        if (by_region and region is None) or (region in zones and zone is None)
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
    listed: dict[str | None, Place | None] = {None: EVERYWHERE}
    if by_region:
        listed = {region.name: region for region in places.regions(CREATION)}
        listed.update({name: None for name, _ in sorted(counts, key=str) if name not in listed})
    # All zones of a region with a shortage have it, too.
    short = {region.name for region in places.regions(CREATION) if region.shortage}
    probed: set[Location] = {(region, None) for region in short}
    for name, of_region in zones.items():
        probed |= {(name, zone.name) for zone in of_region if name in short or zone.shortage}
    return Layout(
        [_region(name, at, zones.get(name), counts, len(ordered)) for name, at in listed.items()],
        movable,
        [node for place in lost for node in members[place]],
        probed,
    )


class _Count(NamedTuple):
    held: int
    ranks: Sequence[int]
    leaving: Sequence[int | None]


def places_not_emptied(places: Places, protected: Sequence[Node]) -> list[str]:
    cloud, sentences = places.cloud, list[str]()
    if places.listed_regions:
        in_regions = Counter(map(cloud.region_of, protected))
        sentences += evacuation_warnings(places.regions(CREATION), in_regions, 'region')
    for region, zones in places.zones_by_region().items():
        nodes = [node for node in protected if region is None or cloud.region_of(node) == region]
        sentences += evacuation_warnings(zones, Counter(map(cloud.zone_of, nodes)), 'zone')
    return sentences


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
    note = NO_KNOWN_PLACE if name is None else NOT_LISTED
    note = note_of(place, held) if place else note
    if place is None or not place.known or place.evacuated:
        return Holding(name, NO_WEIGHT, held, held, note, ranks, leaving)
    most = place.cap if place.cap >= 0 else held + size
    if not place.available:
        most = min(most, held)
    elif place.shortage:
        most = min(most, held + place.shortage.room)
    return Holding(name, place.weight, held, most, note, ranks, leaving)
