"""The figures of the arms."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.results import Row, Table
from benchmarks.senlin.measuring import Measured


@dataclass(frozen=True)
class Arm:
    """The measurements with the plugin, or of Senlin alone."""

    with_plugin: bool
    measured: Mapping[str, Measured]
    """The measurement of each action by its name."""

    @property
    def name(self) -> str:
        return 'with plugin' if self.with_plugin else 'alone'


def of(arms: Sequence[Arm]) -> list[Table]:
    """Return the tables of a run."""
    return [
        Table('Actions', [row for arm in arms for row in _rows(arm)]),
        Table('With the plugin / alone', list(_ratios(arms))),
        Table('Checks', [row for arm in arms if arm.with_plugin for row in _checks(arm)]),
    ]


def _rows(arm: Arm) -> Iterator[Row]:
    for action, measured in arm.measured.items():
        count = len(measured.actions)
        cpu_ms = {name: 1000 * used / count for name, used in measured.cpu_s.items()}
        yield {
            'Senlin': arm.name,
            'action': action,
            'per minute': measured.per_minute,
            **_spread('s', [one.seconds for one in measured.actions]),
            **{f'{name}, CPU ms': used for name, used in cpu_ms.items()},
        }


def _ratios(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield the ratio of the sums over the arms of each kind."""
    for action in arms[0].measured:
        by_kind = {
            kind: [arm.measured[action] for arm in arms if arm.with_plugin is kind]
            for kind in (True, False)
        }
        with_plugin, alone = by_kind[True], by_kind[False]
        yield {
            'action': action,
            'per minute': _sum(alone, 'seconds') / _sum(with_plugin, 'seconds'),
            'p50': _median(with_plugin) / _median(alone),
            'CPU': sum(one.cpu_s['all'] for one in with_plugin)
            / sum(one.cpu_s['all'] for one in alone),
        }


def _sum(measured: Sequence[Measured], figure: str) -> float:
    return sum(getattr(one, figure) for one in measured)


def _median(measured: Sequence[Measured]) -> float:
    return statistics.median(action.seconds for one in measured for action in one.actions)


def _checks(arm: Arm) -> Iterator[Row]:
    for action, measured in arm.measured.items():
        yield {
            'action': action,
            **_spread('check, ms', list(measured.check_ms.values())),
            **_spread('of the action, %', measured.check_percent),
            **_spread('in the worker, ms', measured.handling_ms),
        }


def _spread(unit: str, figures: Sequence[float]) -> Row:
    """Return the median and the 95th percentile."""
    p95 = statistics.quantiles(figures, n=20, method='inclusive')[-1]
    return {f'p50 {unit}': statistics.median(figures), f'p95 {unit}': p95}
