"""Measures of a simulated cluster: how far its nodes are from their ideal distribution by weight.

The ideal of a place is its share of all nodes among the usable places; a plan can differ from it by
less than a node. A whole node off is therefore uneven, and worth the name of its step.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import Binding, Cluster, Node
from placement_worker.formats.text import noun_for
from placement_worker.planning.places import NO_PLACE, Place
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement

_TOLERANCE = 1e-9


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
    return sum(abs(place.deviation) for place in standings) / 2


def skew(standings: Iterable[Standing]) -> float:
    deviations = [place.deviation for place in standings if place.ideal is not None]
    return max(deviations) - min(deviations) if deviations else 0.0


def standings(cluster: Cluster, policies: Sequence[Binding], cloud: Inventory) -> list[Standing]:
    """Return the places of the placement policies, then other places with nodes by name."""
    zones = _places_of(policies, ZonePlacement.name, 'zones')
    regions = _places_of(policies, RegionPlacement.name, 'regions')
    snapshot = Snapshot(cloud, cluster)
    created = [node for node in cluster.nodes if node.created_at]
    by_zone = bool(zones) or not regions
    counts = Counter(_place(node, snapshot, bool(regions), by_zone) for node in created)
    ideals = _ideals(zones, regions, cloud, cluster.profile.region, len(created))
    listed = [
        Standing(name, counts.pop(name, 0), ideal or 0.0, ideal is not None)
        for name, ideal in ideals.items()
    ]
    rest = [Standing(name, counts[name], 0.0 if ideals else None, False) for name in sorted(counts)]
    return listed + rest


def _places_of(policies: Sequence[Binding], policy_type: str, key: str) -> dict[str, Place]:
    return {
        place['name']: Place(**place)
        for binding in policies
        if binding.enabled and binding.spec.type == policy_type
        for place in binding.spec.properties[key]
    }


def _place(node: Node, snapshot: Snapshot, by_region: bool, by_zone: bool) -> str:
    region = snapshot.region_of(node) if by_region else None
    zone = snapshot.zone_of(node) if by_zone else None
    return '/'.join(filter(None, (region, zone))) or NO_PLACE


def _ideals(
    zones: Mapping[str, Place],
    regions: Mapping[str, Place],
    cloud: Inventory,
    region: str | None,
    total: int,
) -> dict[str, float | None]:
    """Return the ideal of each listed place, or None if it is not usable.

    Zone placement without region placement is for `region`, or the region of the cloud.
    """
    if not regions:
        return _among(zones, cloud.zones(region), total)
    known = {name: cloud.zones(name) for name in cloud.regions()}
    usable = {name: not zones or any(map(own.get, zones)) for name, own in known.items()}
    of_region = _among(regions, usable, total)
    if not zones:
        return of_region
    ideals: dict[str, float | None] = {}
    for name, share in of_region.items():
        own = known.get(name, {})
        listed = {zone: place for zone, place in zones.items() if zone in own}
        inside = _among(listed, own, share or 0.0)
        ideals.update({f'{name}/{zone}': ideal for zone, ideal in inside.items()})
    return ideals


def _among(
    places: Mapping[str, Place], available: Mapping[str, bool], total: float
) -> dict[str, float | None]:
    """Distribute nodes by weight; a place at its cap leaves the rest to the others."""
    usable = [place for name, place in places.items() if available.get(name)]
    shares: dict[str, float] = {}
    while len(shares) < len(usable):
        rest = [place for place in usable if place.name not in shares]
        left, weight = total - sum(shares.values()), sum(place.weight for place in rest)
        capped = [place for place in rest if 0 <= place.cap < left * place.weight / weight]
        shares.update(
            {place.name: float(place.cap) for place in capped}
            or {place.name: left * place.weight / weight for place in rest}
        )
    return {name: shares.get(name) for name in places}


class Evenness(Struct):
    """The verdict on a run: how uneven the nodes became, and whether they were even again.

    Nodes are even if no place is a whole node or more off its ideal.

    :ivar is_measured: whether a place had an ideal, which takes a placement policy.
    :ivar worst_step: the first step with `worst` nodes misplaced; None if all steps were even.
    :ivar was_even: whether nodes were even before the worst step.
    :ivar even_again: the first even step after the worst one.
    :ivar uneven_later: the number of uneven steps after `even_again`.
    :ivar even_since: the step since which the nodes are even; None if they are uneven.
    """

    last: int = 0
    is_measured: bool = False
    worst: float = 0.0
    worst_step: int | None = None
    was_even: bool = False
    even_again: int | None = None
    uneven_later: int = 0
    even_since: int | None = None
    _ever_even: bool = False

    def add(self, number: int, standings: Sequence[Standing]) -> None:
        self.last = number
        self.is_measured |= any(place.ideal is not None for place in standings)
        if all(abs(place.deviation) < 1 - _TOLERANCE for place in standings):
            self._ever_even = True
            if self.even_since is None:
                self.even_since = number
            if self.worst_step is not None and self.even_again is None:
                self.even_again = number
            return
        self.even_since = None
        self.uneven_later += self.even_again is not None
        if (now := misplaced(standings)) > self.worst:
            self.worst, self.worst_step, self.was_even = now, number, self._ever_even
            self.even_again, self.uneven_later = None, 0

    @property
    def verdict(self) -> str:
        """One sentence about the run, without a full stop."""
        if not self.is_measured:
            return 'No placement policy is bound, so no place has an ideal number of nodes'
        if self.worst_step is None:
            return 'Even after every step: no place was ever a whole node off its ideal'
        worst = round(self.worst, 1)
        nodes = f'{worst:,g} {noun_for(worst, "node")}'
        return f'Worst: {nodes} off {_at(self.worst_step)}{self._end}'

    @property
    def clause(self) -> str:
        """The verdict as it follows a colon, e.g. after the name of a rule."""
        return self.verdict[0].lower() + self.verdict[1:]

    @property
    def _end(self) -> str:
        if self.worst_step == self.last:
            return ', the last one'
        if self.even_again is None:
            return '; still uneven at the last step'
        again = ' again' if self.was_even else ''
        end = f'; even{again} {_at(self.even_again)}'
        if not self.uneven_later:
            return end
        steps = f'{self.uneven_later:,} {noun_for(self.uneven_later, "later step")}'
        if self.even_since is None:
            return f'{end}, but uneven after {steps} and at the end'
        return f'{end}; uneven after {steps}, and even from step {self.even_since:,} on'


def _at(number: int) -> str:
    return f'at step {number:,}' if number else 'at the start'
