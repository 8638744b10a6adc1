"""The fewest moves that lead nodes to the best counts, without a change of their number.

The best counts are those of `apportion`: they consist of the cheapest units, where the k-th node of
a place of weight w costs ``(2k-1)/w``. A move takes the most expensive unit and adds the cheapest
one, as long as that lowers the sum. Each move therefore replaces a unit that no best counts contain
by one that they contain. No plan has fewer moves, and each move gains at most as much as the one
before it. A tie is no gain, so nodes that are already in place stay there.
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

NO_WEIGHT = 0
_UNLISTED, _ABOVE_MOST, _OTHER = range(3)


@dataclass(frozen=True, slots=True)
class Holding:
    """A place with its nodes; a place that no policy lists has no weight.

    `name`: None if the nodes of a region are not divided by zone. `fixed`: the number of nodes that
    must stay. `most`: the maximum number of nodes, which `held` may exceed. `note`: what keeps the
    place from having more nodes, for the row of the reply. `ranks`: those of its healthy,
    unprotected nodes in the order of victims, also of nodes too young to move. Of equal places,
    growth goes where the next victim stands. `leaving`: the ranks of the nodes that may leave, in
    their order; None for one that is not healthy. Of equal places, shrinking takes the next one.
    """

    name: str | None
    weight: int
    held: int
    fixed: int
    most: int
    note: str = ''
    ranks: Sequence[int] = ()
    leaving: Sequence[int | None] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether it stands for nodes of unknown place, which cannot be planned."""
        return self.name is None and not self.weight


class Unit(NamedTuple):
    """One node of a place; units sort in the order in which they leave, or in which they arrive."""

    stage: int
    price: Fraction
    weight: int
    rank: float
    order: int
    place: str | None


class Move(NamedTuple):
    """A node to create in one place and a node to delete in another one.

    `gain`: the decrease of `deviation`; None if the node leaves an unlisted place or a place above
    its maximum, which comes before any gain.
    """

    source: str | None
    destination: str | None
    gain: Fraction | None


def moves(holdings: Sequence[Holding]) -> Iterator[Move]:
    """Yield the moves in descending order of their gain.

    :param holdings: in the order of the spec, which breaks ties.
    """
    total = sum(one.held for one in holdings if one.weight)
    weight = sum(one.weight for one in holdings)
    for source, destination in zip(sources(holdings), destinations(holdings), strict=False):
        total += source.stage == _UNLISTED
        if source.stage < _OTHER:
            yield Move(source.place, destination.place, None)
            continue
        gain = (-source.price - destination.price) * weight / total
        if gain <= 0:
            return
        yield Move(source.place, destination.place, gain)


def sources(holdings: Sequence[Holding]) -> Iterator[Unit]:
    """Yield the nodes that may leave: those of unlisted places, those above a maximum, the others.

    Within each group the most expensive unit is first. Of units of equal cost, the one of the lower
    weight leaves first, then the next victim, then the later one.
    """
    return heapq.merge(*(_leaving(one, -order) for order, one in enumerate(holdings)))


def destinations(holdings: Sequence[Holding]) -> Iterator[Unit]:
    """Yield the nodes that may arrive, the cheapest unit first, as `apportion` assigns them."""
    return heapq.merge(*(_arriving(one, order) for order, one in enumerate(holdings) if one.weight))


def misplaced(holdings: Sequence[Holding], counts: Mapping[str | None, int]) -> int:
    """Return the number of nodes in unlisted places or above the maximum of a place."""
    return sum(
        max(0, counts[one.name] - (one.most if one.weight else 0))
        for one in holdings
        if not one.is_unknown
    )


def deviation(holdings: Sequence[Holding], counts: Mapping[str | None, int]) -> Fraction:
    """Return the chi-square statistic of the counts of listed places: ``sum((x - i)**2 / i)``.

    The ideal count i of a place is its share of the nodes in listed places.
    """
    listed = [(one.weight, counts[one.name]) for one in holdings if one.weight]
    weight, total = sum(one for one, _ in listed), sum(count for _, count in listed)
    if not total:
        return Fraction(0)
    return sum((Fraction(x * x, w) for w, x in listed), Fraction(0)) * weight / total - total


def _leaving(holding: Holding, order: int) -> Iterator[Unit]:
    weight = holding.weight or 1
    for gone, unit in enumerate(range(holding.held, holding.fixed, -1)):
        rest = (rank for rank in holding.leaving[gone:] if rank is not None)
        rank = next(rest, math.inf)
        above = _ABOVE_MOST if unit > holding.most else _OTHER
        stage = above if holding.weight else _UNLISTED
        yield Unit(stage, -_price(unit, weight), weight, rank, order, holding.name)


def _arriving(holding: Holding, order: int) -> Iterator[Unit]:
    rank = min(holding.ranks, default=math.inf)
    for unit in range(holding.held + 1, holding.most + 1):
        yield Unit(0, _price(unit, holding.weight), -holding.weight, rank, order, holding.name)


def _price(unit: int, weight: int) -> Fraction:
    return Fraction(2 * unit - 1, weight)
