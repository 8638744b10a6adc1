"""Draw a chart as an SVG element with title and description; style sheets give it colors."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from placement_worker.simulation.history import Moment
from placement_worker.simulation.run import Record

WIDTH, HEIGHT = 960, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 14, 30
COLORS = 8
OTHERS = 'others'
GAPS_UP_TO = 80  # more columns have no gaps between them
X_TICKS, Y_TICKS = 12, 5
_TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # columns between ticks, for up to 600 columns

Value = Callable[[Moment], float]


@dataclass(frozen=True)
class Line:
    """A series of a line chart; `color` counts from 1 and also selects the dashes."""

    name: str
    value: Value
    color: int


@dataclass(frozen=True)
class Frame:
    """The coordinates of a chart: a column per moment, values from `low` to `high`."""

    moments: Sequence[Moment]
    low: float
    high: float

    @property
    def column(self) -> float:
        """The width of a column."""
        return (WIDTH - LEFT - RIGHT) / len(self.moments)

    def x(self, i: float) -> float:
        """Return the left edge of a column."""
        return LEFT + i * self.column

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the places of each color; the last color is for all others if there are too many."""
    if len(names) <= COLORS:
        return {name: [name] for name in names}
    shown = COLORS - 1
    return {**{name: [name] for name in names[:shown]}, OTHERS: list(names[shown:])}


def nodes_by_place(
    chart_id: str,
    title: str,
    moments: Sequence[Moment],
    names: Sequence[str],
    record_of: Callable[[Moment], Record],
) -> str:
    """Return stacked columns: the number of nodes in each place after each step."""
    highest = max(
        max(moment.ours.size, moment.other.size if moment.other else 0) for moment in moments
    )
    frame = Frame(moments, 0, _ceiling(highest * 1.05))
    groups = grouped(names)
    counts = [_counts(record_of(moment)) for moment in moments]
    bases = [0.0] * len(moments)
    edge = ' edged' if len(moments) <= GAPS_UP_TO else ''
    shapes = []
    for color, members in enumerate(groups.values(), start=1):
        tops = [
            base + sum(count.get(name, 0) for name in members)
            for base, count in zip(bases, counts, strict=True)
        ]
        shapes.append(f'<path class="fill{edge} c{color}" d="{_columns(frame, bases, tops)}"/>')
        bases = tops
    last = record_of(moments[-1])
    described = f'{title}. After the last step {last.size} nodes: ' + ', '.join(
        f'{one.name} {one.nodes}' for one in last.standings
    )
    return _svg(chart_id, title, described, frame, [*shapes, *_crosses(frame, bases, record_of)])


def lines(chart_id: str, title: str, moments: Sequence[Moment], series: Sequence[Line]) -> str:
    """Return stepped lines; the chart extends below zero for negative values."""
    values = {line: [line.value(moment) for moment in moments] for line in series}
    highest, lowest = max(map(max, values.values())), min(map(min, values.values()))
    frame = Frame(moments, -_ceiling(-lowest) if lowest < 0 else 0, _ceiling(highest))
    shapes = [
        f'<path class="line l{line.color}" d="{_steps(frame, one)}"/>'
        for line, one in values.items()
    ]
    ranges = ', '.join(
        f'{line.name} between {min(one):.1f} and {max(one):.1f}' for line, one in values.items()
    )
    return _svg(chart_id, title, f'{title}. In nodes: {ranges}', frame, shapes)


def _counts(record: Record) -> Mapping[str, int]:
    return {one.name: one.nodes for one in record.standings}


def _columns(frame: Frame, bases: Sequence[float], tops: Sequence[float]) -> str:
    """Return one path for all columns of a color; empty columns are omitted."""
    gap = frame.column * 0.12 if len(bases) <= GAPS_UP_TO else 0
    boxes = (
        (frame.x(i) + gap, frame.x(i + 1) - gap, frame.y(base), frame.y(top))
        for i, (base, top) in enumerate(zip(bases, tops, strict=True))
        if top > base
    )
    return ''.join(
        f'M{left:.1f} {low:.1f}V{high:.1f}H{right:.1f}V{low:.1f}Z'
        for left, right, low, high in boxes
    )


def _steps(frame: Frame, values: Sequence[float]) -> str:
    path = f'M{LEFT} {frame.y(values[0]):.1f}'
    for i, value in enumerate(values):
        path += f'V{frame.y(value):.1f}H{frame.x(i + 1):.1f}'
    return path


def _svg(chart_id: str, title: str, described: str, frame: Frame, shapes: Sequence[str]) -> str:
    cursor = f'y="{TOP}" width="{max(frame.column, 1.5):.2f}" height="{HEIGHT - TOP - BOTTOM}"'
    return (
        f'<svg id="{chart_id}" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'tabindex="0" '
        f'aria-labelledby="{chart_id}-title {chart_id}-desc" data-left="{LEFT}" '
        f'data-column="{frame.column:.4f}">'
        f'<title id="{chart_id}-title">{escape(title)}</title><desc '
        f'id="{chart_id}-desc">{escape(described)}.</desc>'
        f'{"".join(_axes(frame))}{"".join(shapes)}{"".join(_marks(frame))}'
        f'<rect class="cursor" x="0" {cursor}/></svg>'
    )


def _axes(frame: Frame) -> Iterator[str]:
    for value in _ticks(frame.low, frame.high):
        y = frame.y(value)
        kind = 'zero' if value == 0 else 'grid'
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _tick(LEFT - 8, y + 4, 'end', f'{value:g}')
    yield _tick(LEFT - 8, HEIGHT - 10, 'end', 'step')
    least = len(frame.moments) / X_TICKS
    every = next(step for step in _TICK_STEPS if step >= least)
    for i in range(0, len(frame.moments), every):
        number = frame.moments[i].ours.number
        yield _tick(frame.x(i + 0.5), HEIGHT - 10, 'middle', str(number))


def _tick(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _marks(frame: Frame) -> Iterator[str]:
    """Yield a flag where the cloud or a policy changed, unless there are too many."""
    marked = [i for i, moment in enumerate(frame.moments) if moment.ours.changes_world]
    if len(marked) <= GAPS_UP_TO:
        for i in marked:
            x = frame.x(i)
            yield f'<path class="mark" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
            yield f'<path class="flag" d="M{x:.1f} {TOP - 8}l8 4l-8 4z"/>'


def _crosses(
    frame: Frame, tops: Sequence[float], record_of: Callable[[Moment], Record]
) -> Iterator[str]:
    """Yield a cross above each column whose check ended in ERROR."""
    for i, moment in enumerate(frame.moments):
        if record_of(moment).status == 'ERROR':
            x, y = frame.x(i + 0.5), frame.y(tops[i]) - 9
            yield f'<path class="cross" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>'


def _ceiling(value: float) -> float:
    """Return a round number that is at least the value."""
    if value <= 0:
        return 1
    unit = 10.0 ** math.floor(math.log10(value))
    return next(
        step * unit for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * unit >= value
    )


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / Y_TICKS
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [
        round((first + i) * step, 6) for i in range(int((high - first * step) / step + 1e-9) + 1)
    ]
