"""The steps of a rebalance: each creates some nodes, then deletes as many in other places."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from placement_worker.planning import rebalancing, region_rebalancing
from placement_worker.planning.region_rebalancing import Imbalance, Place, Region, Transfer


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
    regions: Sequence[Region], transfers: Iterable[Transfer], max_surge: int
) -> Iterator[Step]:
    """Group transfers into steps that add at most `max_surge` nodes, and exceed no cap.

    A step does not mix transfers between regions with transfers within regions.
    """
    counts = region_rebalancing.held(regions)
    for group in _groups(regions, transfers, max_surge, counts):
        scale_out = _is_scale_out(regions, counts, group)
        for one in group:
            counts[one.source] -= 1
            counts[one.destination] += 1
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


def _is_scale_out(
    regions: Sequence[Region], counts: Mapping[Place, int], group: Sequence[Transfer]
) -> bool:
    """Return whether a scale-out would create the nodes of a step in the places of the step."""
    now = [replace(region.holding, held=_in_region(counts, region.name)) for region in regions]
    wanted = Counter(one.destination[0] for one in group)
    placed = Counter(unit.place for unit in islice(rebalancing.destinations(now), len(group)))
    return placed == wanted and all(
        _cheapest(region, counts, wanted[region.name])
        == Counter(one.destination[1] for one in group if one.destination[0] == region.name)
        for region in regions
    )


def _cheapest(region: Region, counts: Mapping[Place, int], number: int) -> Counter[str | None]:
    """Return the zones in which a region creates this number of nodes."""
    now = [replace(zone, held=counts[region.name, zone.name]) for zone in region.zones]
    return Counter(unit.place for unit in islice(rebalancing.destinations(now), number))


def _in_region(counts: Mapping[Place, int], region: str | None) -> int:
    return sum(count for (name, _), count in counts.items() if name == region)


def _is_within(transfer: Transfer) -> bool:
    return transfer.source[0] == transfer.destination[0]
