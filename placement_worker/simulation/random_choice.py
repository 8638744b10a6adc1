"""Random choices that a seed repeats."""

import math
import random
from collections.abc import Sequence


def sample(ids: Sequence[str], count: int | str, seed: str) -> list[str]:
    """Return some of these ids.

    :param count: a number, or a percentage such as `10%`.
    :param seed: chooses them.
    """
    return random.Random(seed).sample(ids, _share(count, len(ids)))  # noqa: S311


def _share(count: int | str, of: int) -> int:
    """Return a number, or a percentage rounded to the nearest number, but at least 1."""
    if isinstance(count, int):
        return min(count, of)
    percent = float(count.rstrip('% '))
    return min(of, max(1 if percent else 0, math.floor(of * percent / 100 + 0.5)))
