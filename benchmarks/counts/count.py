"""A count and its comparison with a bound."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """A counted value; `tolerance` is the fraction by which it may exceed its bound.

    The tolerance is 0 for exact counts. It is positive for counts that differ between runs or
    builds of Python.
    """

    what: str
    value: float
    tolerance: float = 0.0


def verdict(count: Count, written: Mapping[str, float]) -> str:
    """Return an empty string if the count is within its bound, else the problem."""
    if count.what not in written:
        return 'is not written down'
    bound = written[count.what] * (1 + count.tolerance)
    return f'is more than {bound:.6g}' if count.value > bound else ''
