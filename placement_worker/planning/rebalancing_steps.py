"""The steps of a rebalance: each creates some nodes, then deletes as many in other places."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from placement_worker.planning import rebalancing, region_rebalancing
from placement_worker.planning.rebalancing import Holding
from placement_worker.planning.region_rebalancing import Imbalance, Place, Region, Transfer

NEW = 2**31
"""The rank of a new node is beyond those of all nodes of a cluster."""


@dataclass(frozen=True, slots=True)
class Step:
    """Transfers that are made together.

    `scale_out`: whether placement creates the nodes of a scale-out in these places. `after`: the
    imbalance after the step.
    """

    transfers: Sequence[Transfer]
    scale_out: bool
    after: Imbalance


def steps(
    regions: Sequence[Region],
    transfers: Iterable[Transfer],
    max_surge: int,
    new_nodes: int = 0,
) -> Iterator[Step]:
    """Group transfers into steps that add at most `max_surge` nodes, and exceed no cap.

    A step does not mix transfers between regions with transfers within regions.

    :param new_nodes: 1 if a new node is the last victim, -1 if it is the next one, 0 if victims
        are chosen at random and break no ties.
    """
    counts = region_rebalancing.held(regions)
    ranks = {(region.name, zone.name): [*zone.ranks] for region in regions for zone in region.zones}
    leaving = {
        (region.name, zone.name): iter(zone.leaving) for region in regions for zone in region.zones
    }
    newcomers = count(NEW)
    for group in _groups(regions, transfers, max_surge, counts):
        scale_out = _is_scale_out([_after(one, counts, ranks) for one in regions], group)
        for one in group:
            counts[one.source] -= 1
            counts[one.destination] += 1
            rank = next(leaving[one.source], None)
            ranks[one.source] = [other for other in ranks[one.source] if other != rank]
            if new_nodes:
                ranks[one.destination].append(new_nodes * next(newcomers))
        yield Step(group, scale_out, region_rebalancing.imbalance(regions, counts))


def _groups(
    regions: Sequence[Region],
    transfers: Iterable[Transfer],
    max_surge: int,
    counts: Mapping[Place, int],
) -> Iterator[list[Transfer]]:
    """Yield the transfers of each step; `counts` are those at the start of each step."""
    most = {region.name: region.holding.most for region in regions}
    group: list[Transfer] = []
    for one in transfers:
        region = one.destination[0]
        arriving = sum(other.destination[0] == region for other in group)
        full = len(group) == max_surge or _in_region(counts, region) + arriving >= most[region]
        if group and (full or _is_within(one) != _is_within(group[0])):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _after(
    region: Region, counts: Mapping[Place, int], ranks: Mapping[Place, Sequence[int]]
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
    wanted = Counter(one.destination[0] for one in group)
    placed = _cheapest([region.holding for region in regions], len(group))
    return placed == wanted and all(
        _cheapest(region.zones, wanted[region.name])
        == Counter(one.destination[1] for one in group if one.destination[0] == region.name)
        for region in regions
    )


def _cheapest(holdings: Sequence[Holding], number: int) -> Counter[str | None]:
    return Counter(unit.place for unit in islice(rebalancing.destinations(holdings), number))


def _in_region(counts: Mapping[Place, int], region: str | None) -> int:
    return sum(count for (name, _), count in counts.items() if name == region)


def _is_within(transfer: Transfer) -> bool:
    return transfer.source[0] == transfer.destination[0]
