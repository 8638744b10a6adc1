"""The charts of a run: the series, the legend and the text of each; `report` draws their panels.

A panel also has its values in words, for people who cannot see it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from placement_worker.simulation.history import History
from placement_worker.simulation.run import StepRecord

WORKER, GREEDY = 'placement-worker', "Senlin's greedy rule"
_HEIGHT, _SMALL_HEIGHT = 264, 144
_TICKS, _FEW_TICKS = 5, 3  # of the vertical axis
_COLORS = 8
_OTHERS = 'others'
_MOST_PANELS = 12
_OUTAGES_NAMED = 3
FLAGS_NAMED = 20


@dataclass(frozen=True)
class Series:
    """The values of each column; `look` is a class of the style sheet."""

    name: str
    values: Sequence[float]
    look: str


@dataclass(frozen=True)
class Panel:
    """One drawing.

    :ivar described: the content in words, for people who cannot see it.
    :ivar ticks: the numbers of the vertical axis, ascending; all values are between them.
    :ivar areas: stacked columns, the lowest first.
    :ivar crosses: the columns whose check ended in ERROR.
    """

    panel_id: str
    title: str
    described: str
    ticks: Sequence[float]
    areas: Sequence[Series] = ()
    lines: Sequence[Series] = ()
    crosses: Sequence[int] = ()
    small: bool = False

    @property
    def height(self) -> int:
        return _SMALL_HEIGHT if self.small else _HEIGHT


@dataclass(frozen=True)
class Chart:
    """Panels with the text around them.

    :ivar legend: class of the swatch and the meaning. A class that begins with `c` stands for
        columns, one that begins with `l` for a line; the others are `outage`, `flag` and `cross`.
    """

    heading: str
    about: str
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]]


def charts(history: History) -> list[Chart]:
    charts = list(_nodes_by_place(history))
    if history.worker.evenness.is_measured:
        charts += [_misplaced(history), _deviations(history)]
    if history.pools:
        charts.append(_load_balancers(history))
    return charts


def _grouped(names: Sequence[str]) -> dict[str, list[str]]:
    if len(names) <= _COLORS:
        return {name: [name] for name in names}
    named = _COLORS - 1
    return {**{name: [name] for name in names[:named]}, _OTHERS: list(names[named:])}


def _nodes_by_place(history: History) -> Iterator[Chart]:
    sides = _sides(history)
    highest = max(record.size for side in sides.values() for record in side)
    ticks = ticks_over(0, highest, _TICKS)
    for number, (rule, records) in enumerate(sides.items()):
        heading = 'Nodes by place' + (f': {rule}' if len(sides) > 1 else '')
        areas = _areas(history.places, records)
        crosses = [i for i, record in enumerate(records) if record.status == 'ERROR']
        panel = Panel(
            f'nodes-{number}', heading, _last(heading, records[-1]), ticks, areas,
            crosses=crosses,
        )  # fmt: skip
        legend = _legend(areas) + _shading(history)
        legend += [('cross', 'a check failed, and nothing was changed')] * bool(crosses)
        legend += _flag_legend(history) if number == 0 else []
        yield Chart(heading, 'How many nodes each place holds after each step.', [panel], legend)


def _areas(places: Sequence[str], records: Sequence[StepRecord]) -> list[Series]:
    counts = [record.nodes_by_place for record in records]
    return [
        Series(name, [sum(count.get(member, 0) for member in members) for count in counts], look)
        for look, (name, members) in zip(_looks('c'), _grouped(places).items(), strict=False)
    ]


def _misplaced(history: History) -> Chart:
    lines = _lines(history, attrgetter('misplaced'))
    panel = _panel('misplaced', 'Nodes off their ideal', lines=lines, small=False)
    about = 'How many nodes would have to be elsewhere for the ideal.'
    return Chart(panel.title, about, [panel], _legend(lines) + _shading(history))


def _deviations(history: History) -> Chart:
    by_place = {name: _lines(history, partial(_deviation, name)) for name in history.places}
    most = _most_deviating(by_place)
    values = [value for lines in most.values() for line in lines for value in line.values]
    ticks = ticks_over(min(values), max(values), _TICKS)
    panels = [
        Panel(f'deviation-{number}', name, _ranges(f'Deviation of {name} in nodes', lines), ticks,
              lines=lines, small=True)
        for number, (name, lines) in enumerate(most.items())
    ]  # fmt: skip
    about = 'How many nodes more (above zero) or fewer (below) than its ideal each place holds.'
    if len(most) < len(by_place):
        about += f' These {len(most)} of {len(by_place)} places deviate most.'
    legend = _legend(next(iter(most.values()))) + _shading(history)
    return Chart('Deviation of each place', about, panels, legend)


def _most_deviating(by_place: Mapping[str, list[Series]]) -> Mapping[str, list[Series]]:
    extremes = {
        name: max(abs(value) for line in lines for value in line.values)
        for name, lines in by_place.items()
    }
    most = set(sorted(extremes, key=extremes.__getitem__, reverse=True)[:_MOST_PANELS])
    return {name: lines for name, lines in by_place.items() if name in most}


def _load_balancers(history: History) -> Chart:
    records = _sides(history)[WORKER]
    healthy = Series('healthy nodes', [record.size - record.failed for record in records], 'l2')
    panels = []
    for i, name in enumerate(history.pools[:_MOST_PANELS]):
        members = Series('members', [record.pools[i].members for record in records], 'l1')
        panels.append(_panel(f'pool-{i}', f'Members of {name}', lines=[members, healthy]))
    updates = Series('updates', [record.updates for record in records], 'c1')
    grace = Series('seconds', [record.grace_period_s for record in records], 'c1')
    panels.append(_panel('updates', 'Updates per step', areas=[updates]))
    panels.append(_panel('grace', 'Grace period in seconds', areas=[grace]))
    about = (
        'The members of each pool beside the healthy nodes, the updates sent to Octavia, and the '
        f'wait between the removal of members and the deletion of their nodes, with {WORKER}.'
    )
    legend = _legend(panels[0].lines) + _shading(history)
    return Chart('Load balancers', about, panels, legend)


def _panel(
    panel_id: str,
    title: str,
    *,
    areas: Sequence[Series] = (),
    lines: Sequence[Series] = (),
    small: bool = True,
) -> Panel:
    series = [*areas, *lines]
    highest = max(max(values.values) for values in series)
    ticks = ticks_over(0, highest, _FEW_TICKS if small else _TICKS)
    return Panel(panel_id, title, _ranges(title, series), ticks, areas, lines, small=small)


def _sides(history: History) -> Mapping[str, Sequence[StepRecord]]:
    worker = [step.worker for step in history.steps]
    others = [step.other for step in history.steps if step.other]
    return {WORKER: worker} | ({GREEDY: others} if others else {})


def _lines(history: History, value: Callable[[StepRecord], float]) -> list[Series]:
    """Return a value of each rule; the last line is drawn over the others, thinner and dashed."""
    return [
        Series(rule, [value(record) for record in records], look)
        for look, (rule, records) in zip(_looks('l'), _sides(history).items(), strict=False)
    ]


def ticks_over(lowest: float, highest: float, count: int) -> list[float]:
    """Return about `count` equidistant round numbers from zero or below to zero or above."""
    low, high = min(0.0, lowest), max(0.0, highest)
    step = _round_up((high - low) / count) if high > low else 1.0
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 6) for i in range(first, max(last, first + 1) + 1)]


def _round_up(value: float) -> float:
    """Return a round number that is at least the value; from 10 on it is an integer."""
    unit = 10.0 ** math.floor(math.log10(value))
    factors = (1, 2, 2.5, 5, 10) if unit >= 10 else (1, 2, 5, 10)
    return next(factor * unit for factor in factors if factor * unit >= value * (1 - 1e-9))


def _looks(kind: str) -> list[str]:
    return [f'{kind}{color}' for color in range(1, _COLORS + 1)]


def _deviation(name: str, record: StepRecord) -> float:
    return next((place.deviation for place in record.standings if place.name == name), 0.0)


def _legend(series: Sequence[Series]) -> list[tuple[str, str]]:
    return [(line.look, line.name) for line in series]


def _shading(history: History) -> list[tuple[str, str]]:
    timeline = history.timeline
    listed = timeline.outages[:_OUTAGES_NAMED]
    more = timeline.outage_count - len(listed)
    legend = []
    for title, is_cordon in (('outage', False), ('cordon', True)):
        named = [
            f'{outage.place} ({_period(outage.first, outage.last)})'
            for outage in listed
            if outage.is_cordon == is_cordon
        ]
        if named:
            legend.append(('outage', f'{title}: {", ".join(named)}'))
    if more:
        look, text = legend.pop()
        legend.append((look, f'{text} and {more:,} more'))
    return legend


def _period(first: int, last: int) -> str:
    return f'step {first:,}' if first == last else f'steps {first:,} to {last:,}'


def _flag_legend(history: History) -> list[tuple[str, str]]:
    timeline = history.timeline
    if timeline.flag_count > len(timeline.flags):
        return [('', f'not flagged: {timeline.flag_count:,} changes of the cloud or a policy')]
    named = [f'step {flag.number:,}: {flag.text}' for flag in timeline.flags[:FLAGS_NAMED]]
    more = timeline.flag_count - len(named)
    return [('flag', text) for text in named + [f'and {more} more'] * bool(more)]


def _last(heading: str, record: StepRecord) -> str:
    places = ', '.join(f'{name} {nodes}' for name, nodes in record.nodes_by_place.items())
    return f'{heading}. After the last step {record.size} nodes: {places}'


def _ranges(heading: str, lines: Sequence[Series]) -> str:
    ranges = (
        f'{line.name} between {min(line.values):.1f} and {max(line.values):.1f}' for line in lines
    )
    return f'{heading}: {", ".join(ranges)}'
