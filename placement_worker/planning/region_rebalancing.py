"""Moves between regions, and between the zones of a region: regions first, then zones.

A move between regions takes a node of the most expensive zone of one region and creates a node in
the cheapest zone of the other one. Both belong to the moves between the zones of these regions
anyway, so regions cost no additional move.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from typing import NamedTuple

from placement_worker.planning import rebalancing
from placement_worker.planning.rebalancing import Holding, Move

Place = tuple[str | None, str | None]
"""Region and zone; None stands for a level at which no policy places nodes."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region with its zones; a region that is not divided has one zone without a name."""

    holding: Holding
    zones: Sequence[Holding]

    @property
    def name(self) -> str | None:
        """The name, or None if no policy places by region."""
        return self.holding.name


class Transfer(NamedTuple):
    """A node to create in one place and a node to delete in another one.

    `gain`: the decrease of the deviation of the regions, or of the zones within a region; None if
    the node is misplaced.
    """

    source: Place
    destination: Place
    gain: Fraction | None


class Imbalance(NamedTuple):
    """The distance from the best counts; each transfer leads to a smaller one, as tuples compare.

    `misplaced`: the number of nodes in unlisted places or above a cap; nodes of unknown place are
    not counted. `regions`, `zones`: the chi-square deviations.
    """

    misplaced: int
    regions: Fraction
    zones: Fraction


def transfers(regions: Sequence[Region], min_gain: Fraction = Fraction(0)) -> Iterator[Transfer]:
    """Yield the transfers between regions, then those within regions, by descending gain.

    A region at its maximum has no transfers within it: a node is created before another is deleted.

    :param min_gain: transfers that gain less are omitted, except those of misplaced nodes.
    """
    left: Counter[Place] = Counter()
    arrived: Counter[Place] = Counter()
    for one in _between(regions, min_gain):
        left[one.source] += 1
        arrived[one.destination] += 1
        yield one
    moved = [_moved(region, left, arrived) for region in regions]
    within = [_within(one, min_gain) for one in moved if one.holding.held < one.holding.most]
    yield from heapq.merge(*within, key=_by_gain)


def imbalance(regions: Sequence[Region], counts: Mapping[Place, int]) -> Imbalance:
    """Return the distance of these counts from the best ones."""
    by_region: Counter[str | None] = Counter()
    for (name, _), count in counts.items():
        by_region[name] += count
    of_regions = [one.holding for one in regions]
    misplaced, zones = 0, Fraction(0)
    for region in regions:
        by_zone = {zone.name: counts[region.name, zone.name] for zone in region.zones}
        zones += rebalancing.deviation(region.zones, by_zone)
        in_region = rebalancing.misplaced([region.holding], by_region)
        if region.holding.weight:
            in_zones = rebalancing.misplaced(region.zones, by_zone)
            staying = sum(
                min(zone.fixed, by_zone[zone.name])
                for zone in region.zones
                if not zone.weight and not zone.is_unknown
            )
            # Nodes that leave their zone may leave the region as well, and count once.
            in_region = staying + max(in_region, in_zones - staying)
        misplaced += in_region
    return Imbalance(misplaced, rebalancing.deviation(of_regions, by_region), zones)


def held(regions: Sequence[Region]) -> Counter[Place]:
    """Return the number of nodes in each place."""
    return Counter(
        {(region.name, zone.name): zone.held for region in regions for zone in region.zones}
    )


def _between(regions: Sequence[Region], min_gain: Fraction) -> Iterator[Transfer]:
    leaving = {region.name: rebalancing.sources(region.zones) for region in regions}
    arriving = {region.name: rebalancing.destinations(region.zones) for region in regions}
    for move in _worthwhile([region.holding for region in regions], min_gain):
        source, destination = next(leaving[move.source]), next(arriving[move.destination])
        yield Transfer(
            (move.source, source.place), (move.destination, destination.place), move.gain
        )


def _within(region: Region, min_gain: Fraction) -> Iterator[Transfer]:
    for move in _worthwhile(region.zones, min_gain):
        yield Transfer((region.name, move.source), (region.name, move.destination), move.gain)


def _worthwhile(holdings: Sequence[Holding], min_gain: Fraction) -> Iterator[Move]:
    return takewhile(
        lambda move: move.gain is None or move.gain >= min_gain, rebalancing.moves(holdings)
    )


def _moved(region: Region, left: Mapping[Place, int], arrived: Mapping[Place, int]) -> Region:
    """Return a region after the transfers between regions; nodes that arrived must stay."""
    zones = []
    for zone in region.zones:
        place = (region.name, zone.name)
        held = zone.held + arrived[place] - left[place]
        zones.append(replace(zone, held=held, fixed=zone.fixed + arrived[place]))
    gone = sum(left[region.name, zone.name] for zone in region.zones)
    come = sum(arrived[region.name, zone.name] for zone in region.zones)
    holding = replace(region.holding, held=region.holding.held + come - gone)
    return Region(holding, zones)


def _by_gain(transfer: Transfer) -> tuple[bool, Fraction]:
    return transfer.gain is not None, -(transfer.gain or Fraction(0))
