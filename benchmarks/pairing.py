"""Compare contenders on a shared machine: interleaved in one run, by medians of paired ratios."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar('T')


@dataclass(frozen=True)
class Effort:
    """The effort of a measurement: rounds, and seconds per contender and round.

    `quick` leaves out sizes, and `bars_only` all that no bar needs.
    """

    rounds: int
    seconds: float
    quick: bool = False
    bars_only: bool = False


FULL, QUICK = Effort(9, 1.0), Effort(3, 0.3, quick=True)


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of some figures."""

    low: float
    mid: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> 'Spread':
        low, mid, high = (
            statistics.quantiles(figures, n=4, method='inclusive')
            if len(figures) > 1
            else figures * 3
        )
        return cls(low, mid, high)

    def __str__(self) -> str:
        return f'{self.mid:.2f} ({self.low:.2f}-{self.high:.2f})'


def interleaved(contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Run each contender once per round; the first one changes in each round."""
    found: dict[str, list[T]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        begin = number % len(names)
        for name in names[begin:] + names[:begin]:
            found[name].append(contenders[name]())
    return found


def ratio(these: Sequence[float], those: Sequence[float]) -> Spread:
    """Return the ratios of two series, round by round."""
    return Spread.of([one / other for one, other in zip(these, those, strict=True)])


@dataclass(frozen=True)
class Took:
    """The wall time and the CPU time of one run, in milliseconds."""

    wall_ms: float
    cpu_ms: float


def timed(run: Callable[[], object], at_least_s: float = 0.0) -> Took:
    """Return the mean time of a run, over as many runs as fit in the given time."""
    count = 0
    wall, cpu = time.perf_counter(), time.thread_time()
    while not count or time.perf_counter() - wall < at_least_s:
        run()
        count += 1
    return Took(
        (time.perf_counter() - wall) * 1000 / count, (time.thread_time() - cpu) * 1000 / count
    )


def cpu_ms(runs: Sequence[Took]) -> Spread:
    """Return the CPU time of runs."""
    return Spread.of([one.cpu_ms for one in runs])


def wall_ms(runs: Sequence[Took]) -> Spread:
    """Return the wall time of runs."""
    return Spread.of([one.wall_ms for one in runs])
