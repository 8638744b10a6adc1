"""Types of command-line arguments. Probes use this module, so it imports little."""

import argparse
import math


def seconds(text: str, below: float = math.inf) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < below:
        limit = f' and less than {below:g}' if below < math.inf else ''
        raise argparse.ArgumentTypeError(f'expected a number of seconds above 0{limit}, got {text}')
    return number
