"""Types of command-line arguments. Probes use this module, so it imports little."""

import argparse
import contextlib
import math
from collections.abc import Callable
from typing import TypeVar

N = TypeVar('N', int, float)


def at_least(least: int, kind: type[N]) -> Callable[[str], N]:

    def number(text: str) -> N:
        with contextlib.suppress(ValueError):
            value = kind(text)
            if least <= value < math.inf:
                return value
        noun = 'integer' if kind is int else 'number'
        raise argparse.ArgumentTypeError(f'expected {noun} >= {least}, got {text}')

    return number


def seconds(text: str, below: float = math.inf) -> float:
    with contextlib.suppress(ValueError):
        number = float(text)
        if 0 < number < below:
            return number
    limit = f' and less than {below:g}' if below < math.inf else ''
    raise argparse.ArgumentTypeError(f'expected a number of seconds above 0{limit}, got {text}')
