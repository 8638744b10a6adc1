"""Types of command-line arguments. Probes use this module, so it imports little."""

import argparse
import math
from collections.abc import Callable
from typing import TypeVar

N = TypeVar('N', int, float)


def at_least(least: int, kind: type[N]) -> Callable[[str], N]:
    """Return a type of finite numbers."""

    def number(text: str) -> N:
        try:
            value = kind(text)
        except ValueError:
            value = kind(least - 1)
        if not least <= value < math.inf:
            noun = 'integer' if kind is int else 'number'
            raise argparse.ArgumentTypeError(f'expected {noun} >= {least}, got {text}')
        return value

    return number


def seconds(text: str, below: float = math.inf) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < below:
        limit = f' and less than {below:g}' if below < math.inf else ''
        raise argparse.ArgumentTypeError(f'expected a number of seconds above 0{limit}, got {text}')
    return number
