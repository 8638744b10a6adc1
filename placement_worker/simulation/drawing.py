"""A panel of a chart as an SVG element.

Horizontal positions are percentages, so that a page can stretch a panel to any width while its
text keeps its size; paths are inside an element of their own, which is stretched as a whole. Style
sheets give colors, and hide texts of class `fine` or `spacious` in narrow charts.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from placement_worker.simulation.history import History, Timeline
from placement_worker.simulation.run_charts import Panel

_TOP, _BOTTOM = 20, 24  # pixels for the numbers of flags, and for those of steps
_TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # columns between ticks, for up to 600 columns
_GAPS_UP_TO = 80  # more columns have no gaps between them
_STEP_TICKS, _FEW_STEP_TICKS = 12, 6  # few ticks fit into 260 pixels
_NARROW = 260  # the width of a small panel and of a chart on a phone, in pixels
_WIDE = 440  # the least width of a chart on a wider screen, in pixels
_DIGIT_WIDTH, _FLAG_WIDTH = 8, 12  # pixels of the number of a flag
_KILO, _MEGA = 10_000, 1_000_000  # from these values on, ticks have a unit


@dataclass(frozen=True)
class Frame:
    """The area of a chart.

    :ivar numbers: the step of each column, ascending; a long run has columns for some steps only.
    :ivar width: the unit of horizontal positions in paths.
    """

    numbers: Sequence[int]
    ticks: Sequence[float]
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.height - _BOTTOM

    def x(self, column: float) -> float:
        return self.width * column / len(self.numbers)

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return self.bottom - (value - low) / (high - low) * (self.bottom - _TOP)

    def percent(self, column: float) -> str:
        return f'{100 * column / len(self.numbers):.3f}'.rstrip('0').rstrip('.') + '%'

    def column(self, number: int) -> float:
        """Return the position of a step; it is between columns if the step has none."""
        i = bisect_right(self.numbers, number) - 1
        if i + 1 == len(self.numbers):
            return min(i + number - self.numbers[i], i + 1)
        return i + (number - self.numbers[i]) / (self.numbers[i + 1] - self.numbers[i])


def svg_of(panel: Panel, history: History, width: float) -> str:
    """Draw a panel; any width will do if a page stretches the drawing."""
    timeline = history.timeline
    frame = Frame(history.numbers, panel.ticks, width, panel.height)
    names = f'{panel.panel_id}-title', f'{panel.panel_id}-desc'
    parts = [*_outages(frame, timeline), *_grid(frame), _shapes(frame, panel)]
    parts += [*_drawn_flags(frame, timeline), *_crosses(frame, panel), *_step_numbers(frame)]
    return (
        f'<svg id="{panel.panel_id}" class="chart{" small" * panel.small}" width="100%" '
        f'height="{panel.height}" overflow="visible" role="img" aria-labelledby="{names[0]} '
        f'{names[1]}" data-columns="{len(frame.numbers)}"><title id="{names[0]}">'
        f'{escape(panel.title)}</title><desc id="{names[1]}">{escape(panel.described)}.</desc>'
        f'{"".join(parts)}<rect class="cursor" width="{frame.percent(1)}" y="{_TOP}" '
        f'height="{frame.bottom - _TOP}"/></svg>'
    )


def _outages(frame: Frame, timeline: Timeline) -> Iterator[str]:
    for outage in timeline.outages:
        left, right = frame.column(outage.first), frame.column(outage.last + 1)
        yield (
            f'<rect class="outage" x="{frame.percent(left)}" y="{_TOP}" '
            f'width="{frame.percent(right - left)}" height="{frame.bottom - _TOP}"/>'
        )


def _grid(frame: Frame) -> Iterator[str]:
    for value in frame.ticks:
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
            f'd="M0 {_TOP}V{frame.bottom}"/><path class="flag" d="M-5 4h10l-5 9z"/>{number}</svg>'
        )


def _flag_number(number: int, share: float) -> str:
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
    every = next(step for step in _TICK_STEPS if step * _STEP_TICKS >= len(frame.numbers))
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
