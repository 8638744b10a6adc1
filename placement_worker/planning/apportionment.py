"""Webster's apportionment with bounds: integers as close to weighted shares as integers can be.

The result minimises ``sum((x - T*w/W)**2 / w)``, the chi-square distance of the counts x to the
ideal shares of the total T. That objective is separable and convex, so the best counts consist of
the T cheapest units, where the k-th unit of a place with weight w costs ``(2k-1)/w``.

:source: Balinski and Young, Fair Representation, Brookings Institution Press, 2001 (Webster's
    method); https://en.wikipedia.org/wiki/Sainte-Lagu%C3%AB_method; that the cheapest units are
    best: Ibaraki and Katoh, Resource Allocation Problems, MIT Press, 1988, chapter 4 (separable
    convex objectives).
"""

import math
from collections.abc import Sequence
from fractions import Fraction


def apportion(
    total: int, weights: Sequence[int], floors: Sequence[int], ceilings: Sequence[int]
) -> list[int]:
    """Deal `total` units so that the chi-square distance to the weights is least.

    A binary search finds the highest price at which the affordable units do not exceed the total;
    what is left then is less than one unit a place and goes to the cheapest. So the cost is that of
    some dozens of passes over the places, whatever the total. Of equally cheap units the one with
    the higher weight comes first, then the one that stands earlier.

    :param weights: positive integers, one a place.
    :param floors: the least each place holds; ``sum(floors) <= total``.
    :param ceilings: the most each place holds; ``total <= sum(ceilings)``.
    :returns: the count of each place.
    """
    if total == sum(floors):
        return list(floors)
    if total == sum(ceilings):
        return list(ceilings)
    common = math.gcd(*weights)
    parts = [
        (weight // common, low, high)
        for weight, low, high in zip(weights, floors, ceilings, strict=True)
    ]
    step = max(weight for weight, _, _ in parts)

    def affordable(price: int) -> list[int]:
        """The counts at price/step a unit; raising the price by one adds at most one unit a
        place.
        """
        return [
            min(max((weight * price + step) // (2 * step), low), high)
            for weight, low, high in parts
        ]

    cheap, dear = 0, 2 * step * (max(ceilings) + 1) // min(weight for weight, _, _ in parts) + 1
    while dear - cheap > 1:
        price = (cheap + dear) // 2
        cheap, dear = (price, dear) if sum(affordable(price)) <= total else (cheap, price)
    counts = affordable(cheap)
    next_units = sorted(
        (Fraction(2 * count + 1, weight), -weight, i)
        for i, (count, more, (weight, _, _)) in enumerate(
            zip(counts, affordable(dear), parts, strict=True)
        )
        if more > count
    )
    for _, _, i in next_units[: total - sum(counts)]:
        counts[i] += 1
    return counts
