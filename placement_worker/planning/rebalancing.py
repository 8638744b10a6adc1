"""Rebalancing: the fewest moves that lead nodes to the best counts, and the steps that make them.

The best counts are those of `apportion`: they consist of the cheapest units, where the k-th node of
a place of weight w costs ``(2k-1)/w``. A move takes the most expensive unit and adds the cheapest
one, as long as that lowers the sum. Each move therefore replaces a unit that no best counts contain
by one that they contain. No plan has fewer moves, and each move gains at most as much as the one
before it. A tie is no gain, so nodes that are already in place stay there.

Regions come first, then zones. A move between regions takes a node of the most expensive zone of
one region and creates a node in the cheapest zone of the other one. Both belong to the moves
between the zones of these regions anyway, so regions cost no additional move.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from placement_worker.contract.action_data import Location

NO_WEIGHT = 0
_UNLISTED, _ABOVE_MOST, _OTHER = range(3)
_NEW_RANK = 2**31  # of new nodes; beyond those of all nodes of a cluster


@dataclass(frozen=True, slots=True)
class Holding:
    """A place with its nodes; a place that no policy lists has no weight.

    `name`: None if the nodes of a region are not divided by zone. `most`: the maximum number of
    nodes, which `held` may exceed. `note`: what keeps the place from having more nodes, for the row
    of the reply. `ranks`: those of its healthy, unprotected nodes in the order of victims, also of
    nodes too young to move. Of equal places, growth goes where the next victim stands. `leaving`:
    the ranks of the nodes that may leave, in their order; None for one that is not healthy. Of
    equal places, shrinking takes the next one.
    """

    name: str | None
    weight: int
    held: int
    most: int
    note: str = ''
    ranks: Sequence[int] = ()
    leaving: Sequence[int | None] = ()

    @property
    def fixed(self) -> int:
        """The number of nodes that must stay."""
        return self.held - len(self.leaving)

    @property
    def is_unknown(self) -> bool:
        return self.name is None and not self.weight


@dataclass(frozen=True, slots=True)
class Region:
    """A region with its zones; a region that is not divided has one zone without a name."""

    holding: Holding
    zones: Sequence[Holding]

    @property
    def name(self) -> str | None:
        return self.holding.name


class _Move(NamedTuple):
    source: str | None
    destination: str | None
    gain: Fraction | None


class Transfer(NamedTuple):
    """A node to create in one place and a node to delete in another one.

    `gain`: the decrease of the deviation of the regions, or of the zones within a region; None if
    the node leaves an unlisted place or a place above its maximum, which comes before any gain.
    """

    source: Location
    destination: Location
    gain: Fraction | None


class Imbalance(NamedTuple):
    """The distance from the best counts; each transfer leads to a smaller one, as tuples compare.

    `misplaced`: the number of nodes in unlisted places or above a cap, without nodes of unknown
    place. `regions`, `zones`: the chi-square deviations.
    """

    misplaced: int
    regions: Fraction
    zones: Fraction


@dataclass(frozen=True, slots=True)
class Step:
    """Transfers that are made together; `after` is the imbalance after them.

    `scale_out`: whether placement creates the nodes of a scale-out in these places.
    """

    transfers: Sequence[Transfer]
    scale_out: bool
    after: Imbalance


def transfers(regions: Sequence[Region], min_gain: Fraction = Fraction(0)) -> Iterator[Transfer]:
    """Yield the transfers between regions, then those within regions, by descending gain.

    A region at its maximum has no transfers within it: a node is created before another is deleted.

    :param min_gain: transfers that gain less are omitted, except those of misplaced nodes.
    """
    left: Counter[Location] = Counter()
    arrived: Counter[Location] = Counter()
    for transfer in _between(regions, min_gain):
        left[transfer.source] += 1
        arrived[transfer.destination] += 1
        yield transfer
    moved = [_moved(region, left, arrived) for region in regions]
    within = [
        _within(region, min_gain) for region in moved if region.holding.held < region.holding.most
    ]
    yield from heapq.merge(*within, key=_by_gain)


def steps(
    regions: Sequence[Region], transfers: Iterable[Transfer], max_surge: int, new_node: int = 0
) -> Iterator[Step]:
    """Group transfers into steps that add at most `max_surge` nodes, and exceed no cap.

    A step does not mix transfers between regions with transfers within regions.

    :param new_node: where a new node stands among the victims, as `victims.NEW_NODE`; at 0, new
        nodes break no ties.
    """
    counts = nodes_by_place(regions)
    ranks = {(region.name, zone.name): [*zone.ranks] for region in regions for zone in region.zones}
    leaving = {
        (region.name, zone.name): iter(zone.leaving) for region in regions for zone in region.zones
    }
    newcomers = itertools.count(_NEW_RANK)
    for group in _groups(regions, transfers, max_surge, counts):
        scale_out = _is_scale_out([_after(region, counts, ranks) for region in regions], group)
        for transfer in group:
            counts[transfer.source] -= 1
            counts[transfer.destination] += 1
            rank = next(leaving[transfer.source], None)
            ranks[transfer.source] = [other for other in ranks[transfer.source] if other != rank]
            if new_node:
                ranks[transfer.destination].append(new_node * next(newcomers))
        yield Step(group, scale_out, imbalance(regions, counts))


def imbalance(regions: Sequence[Region], counts: Mapping[Location, int]) -> Imbalance:
    by_region = _by_region(counts)
    of_regions = [region.holding for region in regions]
    misplaced, zones = 0, Fraction(0)
    for region in regions:
        by_zone = {zone.name: counts[region.name, zone.name] for zone in region.zones}
        zones += _deviation(region.zones, by_zone)
        in_region = _misplaced([region.holding], by_region)
        if region.holding.weight:
            in_zones = _misplaced(region.zones, by_zone)
            staying = sum(
                min(zone.fixed, by_zone[zone.name])
                for zone in region.zones
                if not zone.weight and not zone.is_unknown
            )
            # Nodes that leave their zone may leave the region as well, and count once.
            in_region = staying + max(in_region, in_zones - staying)
        misplaced += in_region
    return Imbalance(misplaced, _deviation(of_regions, by_region), zones)


def nodes_by_place(regions: Sequence[Region]) -> Counter[Location]:
    return Counter(
        {(region.name, zone.name): zone.held for region in regions for zone in region.zones}
    )


def _moves(holdings: Sequence[Holding], min_gain: Fraction) -> Iterator[_Move]:
    """:param holdings: in the order of the spec, which breaks ties."""
    total = sum(holding.held for holding in holdings if holding.weight)
    weight = sum(holding.weight for holding in holdings)
    for source, destination in zip(_sources(holdings), _destinations(holdings), strict=False):
        total += source.stage == _UNLISTED
        if source.stage < _OTHER:
            yield _Move(source.place, destination.place, None)
            continue
        gain = (-source.price - destination.price) * weight / total
        if gain <= 0 or gain < min_gain:
            return
        yield _Move(source.place, destination.place, gain)


def _deviation(holdings: Sequence[Holding], counts: Mapping[str | None, int]) -> Fraction:
    """Return the chi-square statistic ``sum((x - i)**2 / i)``.

    The ideal count i of a place is its share of the nodes in listed places.
    """
    listed = [(holding.weight, counts[holding.name]) for holding in holdings if holding.weight]
    weight, total = sum(w for w, _ in listed), sum(x for _, x in listed)
    if not total:
        return Fraction(0)
    return sum((Fraction(x * x, w) for w, x in listed), Fraction(0)) * weight / total - total


def _between(regions: Sequence[Region], min_gain: Fraction) -> Iterator[Transfer]:
    leaving = {region.name: _sources(region.zones) for region in regions}
    arriving = {region.name: _destinations(region.zones) for region in regions}
    for move in _moves([region.holding for region in regions], min_gain):
        source, destination = next(leaving[move.source]), next(arriving[move.destination])
        yield Transfer(
            (move.source, source.place), (move.destination, destination.place), move.gain
        )


def _within(region: Region, min_gain: Fraction) -> Iterator[Transfer]:
    for move in _moves(region.zones, min_gain):
        yield Transfer((region.name, move.source), (region.name, move.destination), move.gain)


def _moved(region: Region, left: Mapping[Location, int], arrived: Mapping[Location, int]) -> Region:
    """Nodes that arrived in the region must stay."""
    zones = []
    for zone in region.zones:
        place = (region.name, zone.name)
        held = zone.held + arrived[place] - left[place]
        gone, leaving = zone.leaving[: left[place]], zone.leaving[left[place] :]
        ranks = [rank for rank in zone.ranks if rank not in gone]
        zones.append(replace(zone, held=held, ranks=ranks, leaving=leaving))
    return Region(replace(region.holding, held=sum(zone.held for zone in zones)), zones)


def _by_gain(transfer: Transfer) -> tuple[bool, Fraction]:
    return transfer.gain is not None, -(transfer.gain or Fraction(0))


class _Unit(NamedTuple):
    """One node of a place; units sort in the order in which they leave, or in which they arrive."""

    stage: int
    price: Fraction
    weight: int
    rank: float
    order: int
    place: str | None


def _sources(holdings: Sequence[Holding]) -> Iterator[_Unit]:
    """Yield the nodes of unlisted places, then those above a maximum, then the others.

    Within each group the most expensive unit is first. Of units of equal cost, the one of the lower
    weight leaves first, then the next victim, then the later one.
    """
    return heapq.merge(*(_leaving(holding, -order) for order, holding in enumerate(holdings)))


def _destinations(holdings: Sequence[Holding]) -> Iterator[_Unit]:
    """Yield the cheapest unit first, as `apportion` assigns them."""
    return heapq.merge(
        *(_arriving(holding, order) for order, holding in enumerate(holdings) if holding.weight)
    )


def _leaving(holding: Holding, order: int) -> Iterator[_Unit]:
    weight = holding.weight or 1
    for gone, unit in enumerate(range(holding.held, holding.fixed, -1)):
        rest = (rank for rank in holding.leaving[gone:] if rank is not None)
        rank = next(rest, math.inf)
        above = _ABOVE_MOST if unit > holding.most else _OTHER
        stage = above if holding.weight else _UNLISTED
        yield _Unit(stage, -_price(unit, weight), weight, rank, order, holding.name)


def _arriving(holding: Holding, order: int) -> Iterator[_Unit]:
    rank = min(holding.ranks, default=math.inf)
    for unit in range(holding.held + 1, holding.most + 1):
        yield _Unit(0, _price(unit, holding.weight), -holding.weight, rank, order, holding.name)


def _price(unit: int, weight: int) -> Fraction:
    return Fraction(2 * unit - 1, weight)


def _misplaced(holdings: Sequence[Holding], counts: Mapping[str | None, int]) -> int:
    return sum(
        max(0, counts[holding.name] - (holding.most if holding.weight else 0))
        for holding in holdings
        if not holding.is_unknown
    )


def _groups(
    regions: Sequence[Region],
    transfers: Iterable[Transfer],
    max_surge: int,
    counts: Mapping[Location, int],
) -> Iterator[list[Transfer]]:
    """:param counts: at the start of each step."""
    most = {region.name: region.holding.most for region in regions}
    group: list[Transfer] = []
    for transfer in transfers:
        region = transfer.destination[0]
        arriving = sum(other.destination[0] == region for other in group)
        full = len(group) == max_surge or _by_region(counts)[region] + arriving >= most[region]
        if group and (full or _is_within(transfer) != _is_within(group[0])):
            yield group
            group = []
        group.append(transfer)
    if group:
        yield group


def _after(
    region: Region, counts: Mapping[Location, int], ranks: Mapping[Location, Sequence[int]]
) -> Region:
    zones = [
        replace(zone, held=counts[place], ranks=ranks[place])
        for zone in region.zones
        for place in [(region.name, zone.name)]
    ]
    held = sum(zone.held for zone in zones)
    own = sorted(rank for zone in zones for rank in zone.ranks)
    return Region(replace(region.holding, held=held, ranks=own), zones)


def _is_scale_out(regions: Sequence[Region], group: Sequence[Transfer]) -> bool:
    wanted = Counter(transfer.destination[0] for transfer in group)
    placed = _cheapest([region.holding for region in regions], len(group))
    return placed == wanted and all(
        _cheapest(region.zones, wanted[region.name])
        == Counter(
            transfer.destination[1] for transfer in group if transfer.destination[0] == region.name
        )
        for region in regions
    )


def _cheapest(holdings: Sequence[Holding], number: int) -> Counter[str | None]:
    return Counter(unit.place for unit in itertools.islice(_destinations(holdings), number))


def _by_region(counts: Mapping[Location, int]) -> Counter[str | None]:
    by_region: Counter[str | None] = Counter()
    for (region, _), count in counts.items():
        by_region[region] += count
    return by_region


def _is_within(transfer: Transfer) -> bool:
    return transfer.source[0] == transfer.destination[0]
