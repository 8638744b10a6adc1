"""The coordinates of a chart: steps from left to right, values from bottom to top."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

TOP, BOTTOM = 20, 24  # pixels for the numbers of flags, and for those of steps
TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # columns between ticks, for up to 600 columns


@dataclass(frozen=True)
class Scale:
    """The values of a vertical axis: equidistant round ticks; all values are between them."""

    ticks: Sequence[float]

    @classmethod
    def over(cls, lowest: float, highest: float, count: int) -> 'Scale':
        """Return a scale from zero or below to zero or above.

        :param count: the approximate number of ticks.
        """
        low, high = min(0.0, lowest), max(0.0, highest)
        step = _round_up((high - low) / count) if high > low else 1.0
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls([round(i * step, 6) for i in range(first, max(last, first + 1) + 1)])


@dataclass(frozen=True)
class Frame:
    """The area of a chart.

    :ivar numbers: the step of each column, ascending; a long run has columns for some steps only.
    :ivar width: the unit of horizontal positions in paths.
    :ivar height: the height of the whole chart in pixels.
    """

    numbers: Sequence[int]
    scale: Scale
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """The vertical position of the lower edge."""
        return self.height - BOTTOM

    def x(self, column: float) -> float:
        """Return the left edge of a column."""
        return self.width * column / len(self.numbers)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        low, high = self.scale.ticks[0], self.scale.ticks[-1]
        return self.bottom - (value - low) / (high - low) * (self.bottom - TOP)

    def percent(self, column: float) -> str:
        """Return the left edge of a column as a percentage of the width."""
        return f'{100 * column / len(self.numbers):.3f}'.rstrip('0').rstrip('.') + '%'

    def column(self, number: int) -> float:
        """Return the position of a step; it is between columns if the step has none."""
        i = bisect_right(self.numbers, number) - 1
        if i + 1 == len(self.numbers):
            return min(i + number - self.numbers[i], i + 1)
        return i + (number - self.numbers[i]) / (self.numbers[i + 1] - self.numbers[i])

    def columns_between_ticks(self, count: int) -> int:
        """Return a round number of columns for at most so many horizontal ticks."""
        return next(step for step in TICK_STEPS if step * count >= len(self.numbers))


def _round_up(value: float) -> float:
    """Return a round number that is at least the value; from 10 on it is an integer."""
    unit = 10.0 ** math.floor(math.log10(value))
    factors = (1, 2, 2.5, 5, 10) if unit >= 10 else (1, 2, 5, 10)
    return next(factor * unit for factor in factors if factor * unit >= value * (1 - 1e-9))
