"""Measures of how far a cluster is from its ideal distribution by weight."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import Binding, Cluster, Node
from placement_worker.planning.places import NO_PLACE, Place

ZONES, REGIONS = 'senlin.policy.zone_placement', 'senlin.policy.region_placement'


class Standing(Struct, frozen=True):
    """The nodes of one place: a zone, a region, or a zone of a region (`RegionOne/az1`).

    :ivar ideal: the share of all nodes by weight, over the usable places. Nodes beyond the cap of a
        place count for the others. None without a placement policy.
    """

    name: str
    nodes: int
    ideal: float | None
    usable: bool

    @property
    def deviation(self) -> float:
        """The number of nodes above the ideal; negative below it."""
        return 0.0 if self.ideal is None else self.nodes - self.ideal


def misplaced(standings: Iterable[Standing]) -> float:
    """Return how many nodes would have to be elsewhere for the ideal."""
    return sum(abs(one.deviation) for one in standings) / 2


def skew(standings: Iterable[Standing]) -> float:
    """Return the maximum deviation minus the minimum deviation, in nodes."""
    deviations = [one.deviation for one in standings if one.ideal is not None]
    return max(deviations) - min(deviations) if deviations else 0.0


def standings(cluster: Cluster, policies: Sequence[Binding], cloud: Inventory) -> list[Standing]:
    """Return the places of the placement policies, then other places with nodes by name.

    Nodes that were never created are in no place.
    """
    zones, regions = _listed(policies, ZONES, 'zones'), _listed(policies, REGIONS, 'regions')
    found = Snapshot(cloud, cluster)
    created = [node for node in cluster.nodes if node.created_at]
    counts = Counter(
        _place(node, found, bool(regions), bool(zones) or not regions) for node in created
    )
    shares = _shares(zones, regions, cloud, cluster.profile.region, len(created))
    listed = [
        Standing(name, counts.pop(name, 0), share or 0.0, share is not None)
        for name, share in shares.items()
    ]
    others = [
        Standing(name, counts[name], 0.0 if shares else None, False) for name in sorted(counts)
    ]
    return listed + others


def _listed(policies: Sequence[Binding], kind: str, key: str) -> dict[str, Place]:
    """Return the places of the enabled policies of a type by name."""
    specs = [binding.spec for binding in policies if binding.enabled and binding.spec.type == kind]
    return {place['name']: Place(**place) for spec in specs for place in spec.properties[key]}


def _place(node: Node, found: Snapshot, by_region: bool, by_zone: bool) -> str:
    names = (found.region_of(node) if by_region else None, found.zone_of(node) if by_zone else None)
    return '/'.join(filter(None, names)) or NO_PLACE


def _shares(
    zones: Mapping[str, Place],
    regions: Mapping[str, Place],
    cloud: Inventory,
    region: str | None,
    total: int,
) -> dict[str, float | None]:
    """Return the ideal of each listed place; None if the place is not usable.

    :param region: the region of zone placement without region placement; None for that of the
        cloud.
    """
    if not regions:
        return _among(zones, cloud.zones(region), total)
    known = {name: cloud.zones(name) for name in cloud.regions()}
    usable = {
        name: not zones or any(own.get(zone) for zone in zones) for name, own in known.items()
    }
    of_region = _among(regions, usable, total)
    if not zones:
        return of_region
    ideals: dict[str, float | None] = {}
    for name, share in of_region.items():
        own = known.get(name, {})
        inside = _among(
            {zone: place for zone, place in zones.items() if zone in own}, own, share or 0.0
        )
        ideals.update({f'{name}/{zone}': ideal for zone, ideal in inside.items()})
    return ideals


def _among(
    places: Mapping[str, Place], available: Mapping[str, bool], total: float
) -> dict[str, float | None]:
    """Distribute nodes by weight; a place at its cap leaves the rest to the others."""
    usable = [place for name, place in places.items() if available.get(name)]
    shares: dict[str, float] = {}
    while len(shares) < len(usable):
        open_ones = [place for place in usable if place.name not in shares]
        left, weight = total - sum(shares.values()), sum(place.weight for place in open_ones)
        capped = [place for place in open_ones if 0 <= place.cap < left * place.weight / weight]
        shares.update(
            {place.name: float(place.cap) for place in capped}
            or {place.name: left * place.weight / weight for place in open_ones}
        )
    return {name: shares.get(name) for name in places}
