"""A count, and how it is held to what was counted before."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """So much of something; `tolerance` is the part by which it may exceed what is written down.

    It is 0 for what is counted one by one, and more than 0 only for what differs between runs or
    builds of Python.
    """

    what: str
    value: float
    tolerance: float = 0.0


def verdict(count: Count, written: Mapping[str, float]) -> str:
    """'' if the count is within its bound, else what is wrong with it."""
    if count.what not in written:
        return 'is not written down'
    bound = written[count.what] * (1 + count.tolerance)
    return f'is more than {bound:.6g}' if count.value > bound else ''
