"""The fewest moves that lead nodes to the best counts, without a change of their number.

The best counts are those of `apportion` for the nodes that are there. A tie is broken in favor of
the nodes that are already in place, so no other best counts need fewer moves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import NamedTuple

from placement_worker.planning.apportionment import apportion

NO_WEIGHT = 0


@dataclass(frozen=True, slots=True)
class Holding:
    """A place with its nodes; a place that no policy lists has no weight.

    `fixed`: the nodes that must stay. `most`: the maximum number of nodes, at least `fixed`.
    """

    name: str
    weight: int
    held: int
    fixed: int
    most: int


class Move(NamedTuple):
    """A node to create in one place and a node to delete in another one."""

    source: str
    destination: str


def plan(holdings: Sequence[Holding]) -> list[Move]:
    """Return the moves in descending order of their gain.

    The gain of a move is the decrease of the chi-square deviation from the ideal counts. Each move
    lowers the deviation. Nodes in places without weight leave before all others.

    :param holdings: in the order of the spec, which breaks ties.
    """
    listed = [one for one in holdings if one.weight]
    unlisted = [one for one in holdings if not one.weight]
    movable = sum(one.held - one.fixed for one in unlisted)
    held = sum(one.held for one in listed)
    total = min(held + movable, sum(one.most for one in listed))
    targets = best_counts(listed, max(total, sum(one.fixed for one in listed)))
    sources = [*_unlisted_units(unlisted), *_surplus(listed, targets)]
    return [
        Move(source, destination)
        for source, destination in zip(sources, _deficit(listed, targets), strict=False)
    ]


def best_counts(holdings: Sequence[Holding], total: int) -> list[int]:
    """Return the best counts for a total; of several ones, those that need the fewest moves.

    Best counts differ only in units of one cost: that of the most expensive assigned unit. A place
    has at most one unit of a cost. These units go to places that hold them already, then to places
    in the order of `apportion`.
    """
    counts = apportion(
        total,
        [one.weight for one in holdings],
        [one.fixed for one in holdings],
        [one.most for one in holdings],
    )
    costs = [_cost(x, one.weight) for x, one in zip(counts, holdings, strict=True) if x > one.fixed]
    if not costs:
        return counts
    highest = max(costs)
    assigned = {
        i
        for i, one in enumerate(holdings)
        if counts[i] > one.fixed and _cost(counts[i], one.weight) == highest
    }
    for i in assigned:
        counts[i] -= 1
    tied = [
        i
        for i, one in enumerate(holdings)
        if counts[i] < one.most and _cost(counts[i] + 1, one.weight) == highest
    ]
    tied.sort(key=lambda i: (holdings[i].held <= counts[i], i not in assigned))
    for i in tied[: len(assigned)]:
        counts[i] += 1
    return counts


def _surplus(holdings: Sequence[Holding], targets: Sequence[int]) -> list[str]:
    """Return the place of each node above its target, the most expensive unit first."""
    units = [
        (_cost(unit, one.weight), -one.weight, -i)
        for i, (one, target) in enumerate(zip(holdings, targets, strict=True))
        for unit in range(target + 1, one.held + 1)
    ]
    return [holdings[-i].name for _, _, i in sorted(units, reverse=True)]


def _deficit(holdings: Sequence[Holding], targets: Sequence[int]) -> list[str]:
    """Return the place of each node missing to its target, the cheapest unit first."""
    units = [
        (_cost(unit, one.weight), -one.weight, i)
        for i, (one, target) in enumerate(zip(holdings, targets, strict=True))
        for unit in range(one.held + 1, target + 1)
    ]
    return [holdings[i].name for _, _, i in sorted(units)]


def _unlisted_units(holdings: Sequence[Holding]) -> Iterator[str]:
    """Yield the place of each node that may leave an unlisted place."""
    for one in holdings:
        yield from repeat(one.name, one.held - one.fixed)


def _cost(unit: int, weight: int) -> Fraction:
    return Fraction(2 * unit - 1, weight)
