"""The charts of a run as SVG elements, with heading, legend and a sentence about each.

Horizontal positions are percentages, so that a page can stretch a panel to any width while its
text keeps its size; paths are inside an element of their own, which is stretched as a whole. Style
sheets give colors. A panel also has its values in words, for people who cannot see it.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from operator import attrgetter

from placement_worker.simulation.run import History, Record, Timeline

WORKER, GREEDY = 'placement-worker', "Senlin's greedy rule"
_HEIGHT, _SMALL_HEIGHT = 264, 144
_TICKS, _FEW_TICKS = 5, 3  # of the vertical axis
_COLORS = 8
_OTHERS = 'others'
_MOST_PANELS = 12
_OUTAGES_NAMED = 3
FLAGS_NAMED = 20
TOP, _BOTTOM = 20, 24  # pixels for the numbers of flags, and for those of steps
_TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # columns between ticks, for up to 600 columns
_GAPS_UP_TO = 80  # more columns have no gaps between them
_STEP_TICKS, _FEW_STEP_TICKS = 12, 6  # few ticks fit into 260 pixels
_NARROW = 260  # the width of a small panel and of a chart on a phone, in pixels
_WIDE = 440  # the least width of a chart on a wider screen, in pixels
_DIGIT_WIDTH, _FLAG_WIDTH = 8, 12  # pixels of the number of a flag
_KILO, _MEGA = 10_000, 1_000_000  # from these values on, ticks have a unit


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
class Series:
    """The values of each column; `look` is a class of the style sheet."""

    name: str
    values: Sequence[float]
    look: str


@dataclass(frozen=True)
class Panel:
    """One drawing.

    :ivar described: the content in words, for people who cannot see it.
    :ivar areas: stacked columns, the lowest first.
    :ivar crosses: the columns whose check ended in ERROR.
    """

    panel_id: str
    title: str
    described: str
    scale: Scale
    height: int
    areas: Sequence[Series] = ()
    lines: Sequence[Series] = ()
    crosses: Sequence[int] = ()
    small: bool = False


@dataclass(frozen=True)
class Steps:
    """The horizontal axis of all panels: the step of each column, the outages and the flags."""

    numbers: Sequence[int]
    timeline: Timeline


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
    more = [_misplaced, _deviations] if history.evenness.is_measured else []
    more += [_load_balancers] if history.pools else []
    return [*_nodes_by_place(history), *(chart(history) for chart in more)]


def steps(history: History) -> Steps:
    """Return the horizontal axis of the charts."""
    return Steps([moment.worker.number for moment in history.moments], history.timeline)


def _grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the places of each color; the last color is for all others if there are too many."""
    if len(names) <= _COLORS:
        return {name: [name] for name in names}
    shown = _COLORS - 1
    return {**{name: [name] for name in names[:shown]}, _OTHERS: list(names[shown:])}


def _nodes_by_place(history: History) -> Iterator[Chart]:
    sides = _sides(history)
    highest = max(record.size for side in sides.values() for record in side)
    scale = Scale.over(0, highest, _TICKS)
    for number, (rule, records) in enumerate(sides.items()):
        heading = 'Nodes by place' + (f': {rule}' if len(sides) > 1 else '')
        areas = _areas(history.places, records)
        crosses = [i for i, record in enumerate(records) if record.status == 'ERROR']
        panel = Panel(
            f'nodes-{number}', heading, _last(heading, records[-1]), scale, _HEIGHT, areas,
            crosses=crosses,
        )  # fmt: skip
        legend = [(one.look, one.name) for one in areas] + _shading(history)
        legend += [('cross', 'a check failed, and nothing was changed')] * bool(crosses)
        legend += _flag_legend(history) if number == 0 else []
        yield Chart(heading, 'How many nodes each place holds after each step.', [panel], legend)


def _areas(places: Sequence[str], records: Sequence[Record]) -> list[Series]:
    counts = [{one.name: one.nodes for one in record.standings} for record in records]
    return [
        Series(name, [sum(count.get(member, 0) for member in members) for count in counts], look)
        for look, (name, members) in zip(_looks('c'), _grouped(places).items(), strict=False)
    ]


def _misplaced(history: History) -> Chart:
    heading = 'Nodes off their ideal'
    lines = _lines(history, attrgetter('misplaced'))
    scale = Scale.over(0, max(max(line.values) for line in lines), _TICKS)
    panel = Panel('misplaced', heading, _ranges(heading, lines), scale, _HEIGHT, lines=lines)
    about = 'How many nodes would have to be elsewhere for the ideal.'
    return Chart(heading, about, [panel], _line_legend(lines) + _shading(history))


def _deviations(history: History) -> Chart:
    by_place = {name: _lines(history, _deviation(name)) for name in history.places}
    shown = _most_deviating(by_place)
    values = [value for lines in shown.values() for line in lines for value in line.values]
    scale = Scale.over(min(values), max(values), _TICKS)
    panels = [
        Panel(f'deviation-{number}', name, _ranges(f'Deviation of {name} in nodes', lines), scale,
              _SMALL_HEIGHT, lines=lines, small=True)
        for number, (name, lines) in enumerate(shown.items())
    ]  # fmt: skip
    about = 'How many nodes more (above zero) or fewer (below) than its ideal each place holds.'
    if len(shown) < len(by_place):
        about += f' These {len(shown)} of {len(by_place)} places deviate most.'
    legend = _line_legend(next(iter(shown.values()))) + _shading(history)
    return Chart('Deviation of each place', about, panels, legend)


def _most_deviating(by_place: Mapping[str, list[Series]]) -> Mapping[str, list[Series]]:
    """Return up to `_MOST_PANELS` places in their order, with their lines."""
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
        panels.append(_small(f'pool-{i}', f'Members of {name}', lines=[members, healthy]))
    updates = Series('updates', [record.updates for record in records], 'c1')
    grace = Series('seconds', [record.grace_period_s for record in records], 'c1')
    panels.append(_small('updates', 'Updates per step', areas=[updates]))
    panels.append(_small('grace', 'Grace period in seconds', areas=[grace]))
    about = (
        'The members of each pool beside the healthy nodes, the updates sent to Octavia, and the '
        f'wait between the removal of members and the deletion of their nodes, with {WORKER}.'
    )
    legend = _line_legend(panels[0].lines) + _shading(history)
    return Chart('Load balancers', about, panels, legend)


def _small(
    panel_id: str, title: str, *, areas: Sequence[Series] = (), lines: Sequence[Series] = ()
) -> Panel:
    series = [*areas, *lines]
    scale = Scale.over(0, max(max(one.values) for one in series), _FEW_TICKS)
    described = _ranges(title, series)
    return Panel(panel_id, title, described, scale, _SMALL_HEIGHT, areas, lines, small=True)


def _sides(history: History) -> Mapping[str, Sequence[Record]]:
    worker = [moment.worker for moment in history.moments]
    others = [moment.other for moment in history.moments if moment.other]
    return {WORKER: worker} | ({GREEDY: others} if others else {})


def _lines(history: History, value: Callable[[Record], float]) -> list[Series]:
    """Return a value of each rule; the last line is drawn over the others, thinner and dashed."""
    return [
        Series(rule, [value(record) for record in records], look)
        for look, (rule, records) in zip(_looks('l'), _sides(history).items(), strict=False)
    ]


def _looks(kind: str) -> list[str]:
    return [f'{kind}{color}' for color in range(1, _COLORS + 1)]


def _deviation(name: str) -> Callable[[Record], float]:
    def value(record: Record) -> float:
        return next((one.deviation for one in record.standings if one.name == name), 0.0)

    return value


def _line_legend(lines: Sequence[Series]) -> list[tuple[str, str]]:
    return [(line.look, line.name) for line in lines]


def _shading(history: History) -> list[tuple[str, str]]:
    timeline = history.timeline
    shown = timeline.outages[:_OUTAGES_NAMED]
    more = timeline.outage_count - len(shown)
    legend = []
    for title, is_cordon in (('outage', False), ('cordon', True)):
        named = [
            f'{one.place} ({_period(one.first, one.last)})'
            for one in shown
            if one.is_cordon == is_cordon
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
    named = [f'step {one.number:,}: {one.what}' for one in timeline.flags[:FLAGS_NAMED]]
    more = timeline.flag_count - len(named)
    return [('flag', text) for text in named + [f'and {more} more'] * bool(more)]


def _last(heading: str, record: Record) -> str:
    places = ', '.join(f'{one.name} {one.nodes}' for one in record.standings)
    return f'{heading}. After the last step {record.size} nodes: {places}'


def _ranges(heading: str, lines: Sequence[Series]) -> str:
    ranges = (
        f'{line.name} between {min(line.values):.1f} and {max(line.values):.1f}' for line in lines
    )
    return f'{heading}: {", ".join(ranges)}'


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
        return self.height - _BOTTOM

    def x(self, column: float) -> float:
        return self.width * column / len(self.numbers)

    def y(self, value: float) -> float:
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
        return next(step for step in _TICK_STEPS if step * count >= len(self.numbers))


def svg_of(panel: Panel, steps: Steps, width: float) -> str:
    """Return the SVG element.

    :param width: the width of the drawing, or any number if a page stretches it.
    """
    frame = Frame(steps.numbers, panel.scale, width, panel.height)
    names = f'{panel.panel_id}-title', f'{panel.panel_id}-desc'
    parts = [*_outages(frame, steps.timeline), *_grid(frame), _shapes(frame, panel)]
    parts += [*_drawn_flags(frame, steps.timeline), *_crosses(frame, panel), *_step_numbers(frame)]
    return (
        f'<svg id="{panel.panel_id}" class="chart{" small" * panel.small}" width="100%" '
        f'height="{panel.height}" overflow="visible" role="img" aria-labelledby="{names[0]} '
        f'{names[1]}" data-columns="{len(steps.numbers)}"><title id="{names[0]}">'
        f'{escape(panel.title)}</title><desc id="{names[1]}">{escape(panel.described)}.</desc>'
        f'{"".join(parts)}<rect class="cursor" width="{frame.percent(1)}" y="{TOP}" '
        f'height="{frame.bottom - TOP}"/></svg>'
    )


def _outages(frame: Frame, timeline: Timeline) -> Iterator[str]:
    for outage in timeline.outages:
        left, right = frame.column(outage.first), frame.column(outage.last + 1)
        yield (
            f'<rect class="outage" x="{frame.percent(left)}" y="{TOP}" '
            f'width="{frame.percent(right - left)}" height="{frame.bottom - TOP}"/>'
        )


def _grid(frame: Frame) -> Iterator[str]:
    for value in frame.scale.ticks:
        y = f'{frame.y(value):.1f}'
        kind = 'zero' if value == 0 else 'grid'
        yield f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        yield _text('-8', frame.y(value) + 4, 'end', _short(value))


def _shapes(frame: Frame, panel: Panel) -> str:
    bases = [0.0] * len(frame.numbers)
    shapes = []
    for series in panel.areas:
        tops = [base + value for base, value in zip(bases, series.values, strict=True)]
        shapes.append(f'<path class="fill {series.look}" d="{_columns(frame, bases, tops)}"/>')
        bases = tops
    shapes += [
        f'<path class="line {series.look}" d="{_stairs(frame, series.values)}"/>'
        for series in panel.lines
    ]
    return (
        f'<svg class="shapes" width="100%" height="{frame.height}" overflow="visible" '
        f'viewBox="0 0 {frame.width:g} {frame.height}" preserveAspectRatio="none">'
        f'{"".join(shapes)}</svg>'
    )


def _columns(frame: Frame, bases: Sequence[float], tops: Sequence[float]) -> str:
    """Return one path for all columns of a series; empty columns are omitted."""
    gap = 0.12 if len(bases) <= _GAPS_UP_TO else 0
    boxes = (
        (frame.x(i + gap), frame.x(i + 1 - gap), frame.y(base), frame.y(top))
        for i, (base, top) in enumerate(zip(bases, tops, strict=True))
        if top > base
    )
    return ''.join(
        f'M{left:.1f} {low:.1f}V{high:.1f}H{right:.1f}V{low:.1f}Z'
        for left, right, low, high in boxes
    )


def _stairs(frame: Frame, values: Sequence[float]) -> str:
    """Return a path with a step per column; columns of the same value share one line."""
    path = f'M0 {frame.y(values[0]):.1f}'
    for i, (before, value) in enumerate(pairwise(values), start=1):
        if value != before:
            path += f'H{frame.x(i):.1f}V{frame.y(value):.1f}'
    return f'{path}H{frame.width:g}'


def _drawn_flags(frame: Frame, timeline: Timeline) -> Iterator[str]:
    """Yield a flag where the cloud or a policy changed, with the step where there is room."""
    if timeline.flag_count > len(timeline.flags):
        return
    ends = [*(frame.column(flag.number) for flag in timeline.flags[1:]), len(frame.numbers)]
    for flag, end in zip(timeline.flags, ends, strict=False):
        column = frame.column(flag.number)
        number = _flag_number(flag.number, (end - column) / len(frame.numbers))
        yield (
            f'<svg x="{frame.percent(column)}" overflow="visible"><path class="mark" '
            f'd="M0 {TOP}V{frame.bottom}"/><path class="flag" d="M-5 4h10l-5 9z"/>{number}</svg>'
        )


def _flag_number(number: int, share: float) -> str:
    """Return the text beside a flag, which has this share of the width."""
    text = str(number)
    width = _FLAG_WIDTH + _DIGIT_WIDTH * len(text)
    if share * _WIDE < width:
        return ''
    return _text('7', 10, 'start', text, ' spacious' if share * _NARROW >= width else ' fine')


def _crosses(frame: Frame, panel: Panel) -> Iterator[str]:
    for i in panel.crosses:
        top = sum(series.values[i] for series in panel.areas)
        yield (
            f'<svg x="{frame.percent(i + 0.5)}" y="{frame.y(top) - 9:.1f}" overflow="visible">'
            '<path class="cross" d="M-4 -4l8 8m0 -8l-8 8"/></svg>'
        )


def _step_numbers(frame: Frame) -> Iterator[str]:
    """Yield the numbers of steps; narrow charts hide texts of class `fine` or `spacious`."""
    y = frame.height - _BOTTOM + 17
    yield _text('-8', y, 'end', 'step', ' spacious')
    every = frame.columns_between_ticks(_STEP_TICKS)
    few = every * -(-len(frame.numbers) // (every * _FEW_STEP_TICKS))
    for i in range(0, len(frame.numbers), every):
        fine = '' if i % few == 0 else ' fine'
        yield _text(frame.percent(i + 0.5), y, 'middle', str(frame.numbers[i]), fine)


def _text(x: str, y: float, anchor: str, text: str, more: str = '') -> str:
    return f'<text class="tick{more}" x="{x}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _short(value: float) -> str:
    if abs(value) >= _MEGA:
        return f'{value / _MEGA:g}M'
    return f'{value / 1000:g}k' if abs(value) >= _KILO else f'{value:g}'


def _round_up(value: float) -> float:
    """Return a round number that is at least the value; from 10 on it is an integer."""
    unit = 10.0 ** math.floor(math.log10(value))
    factors = (1, 2, 2.5, 5, 10) if unit >= 10 else (1, 2, 5, 10)
    return next(factor * unit for factor in factors if factor * unit >= value * (1 - 1e-9))
