"""Webster's apportionment with bounds: divide nodes over places in proportion to weights.

The counts x minimize ``sum((x - T*w/W)**2 / w)``, the chi-square distance to the ideal shares of
the total T, where W is the sum of the weights w. This objective is separable and convex. The best
counts therefore consist of the T cheapest units, where the k-th unit of a place of weight w costs
``(2k-1)/w``.

:source: Balinski and Young, Fair Representation, Brookings Institution Press, 2001 (Webster's
    method); https://en.wikipedia.org/wiki/Sainte-Lagu%C3%AB_method; Ibaraki and Katoh, Resource
    Allocation Problems, MIT Press, 1988, chapter 4 (why the cheapest units are the best ones).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple


class _Part(NamedTuple):
    weight: int
    floor: int
    ceiling: int


def apportion(
    total: int,
    weights: Sequence[int],
    floors: Sequence[int],
    ceilings: Sequence[int],
    precedence: Callable[[int, int], float] = lambda _place, _count: 0,
) -> list[int]:
    """Divide `total` units over places so that the counts are closest to the weights.

    A binary search finds the highest price at which the affordable units do not exceed the total.
    At most one more unit per place is then left to assign; these go to the places where they are
    cheapest. The cost is some dozens of passes over the places, whatever the total. Among units of
    equal cost, the higher weight wins, then the lower precedence, then the earlier place.

    :param weights: positive integers, one per place.
    :param floors: the minimum count of each place; ``sum(floors) <= total``.
    :param ceilings: the maximum count of each place; ``total <= sum(ceilings)``.
    :param precedence: returns the precedence of the next unit of a place, by the index of the place
        and the count that it has without that unit.
    :returns: the count of each place.
    """
    if total == sum(floors):
        return list(floors)
    if total == sum(ceilings):
        return list(ceilings)
    common = math.gcd(*weights)
    reduced = [weight // common for weight in weights]
    parts = [_Part(*part) for part in zip(reduced, floors, ceilings, strict=True)]
    counts, more = _around(total, parts)
    # Costs a/v < b/w differ by at least 1/(v*w). Multiplied by the square of the largest weight,
    # they therefore stay different when rounded down. Whole numbers are faster than fractions.
    scale = max(reduced) ** 2
    next_units = sorted(
        ((2 * count + 1) * scale // part.weight, -part.weight, precedence(i, count), i)
        for i, (count, next_count, part) in enumerate(zip(counts, more, parts, strict=True))
        if next_count > count
    )
    for *_, i in next_units[: total - sum(counts)]:
        counts[i] += 1
    return counts


def _around(total: int, parts: Sequence[_Part]) -> tuple[list[int], list[int]]:
    weights, floors, ceilings = zip(*parts, strict=True)
    step = max(weights)
    low, high = 0, 2 * step * (max(ceilings) + 1) // min(weights) + 1
    fewer, more = list(floors), list(ceilings)
    while high - low > 1:
        price = (low + high) // 2
        counts = _counts(parts, price, step)
        if sum(counts) <= total:
            low, fewer = price, counts
        else:
            high, more = price, counts
    return fewer, more


def _counts(parts: Sequence[_Part], price: int, step: int) -> list[int]:
    """Return the counts at ``price / step``; the next price adds at most one unit per place."""
    return [
        min(max((weight * price + step) // (2 * step), low), high) for weight, low, high in parts
    ]
