"""Draw a panel of a chart as an SVG element; style sheets give it colors.

Horizontal positions are percentages, so that a page can stretch a panel to any width while its
text keeps its size. Paths are inside an element of their own, which is stretched as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from placement_worker.simulation.frame import BOTTOM, TOP, Frame, Scale
from placement_worker.simulation.timeline import Timeline

GAPS_UP_TO = 80  # more columns have no gaps between them
TICKS, FEW_TICKS = 12, 6  # few ticks fit into 260 pixels
NARROW = 260  # the width of a small panel and of a chart on a phone, in pixels
WIDE = 440  # the least width of a chart on a wider screen, in pixels
DIGIT_WIDTH, FLAG_WIDTH = 8, 12  # pixels of the number of a flag
KILO, MEGA = 10_000, 1_000_000  # from these values on, ticks have a unit


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


def draw(panel: Panel, steps: Steps, width: float) -> str:
    """Return the SVG element.

    :param width: the width of the drawing, or any number if a page stretches it.
    """
    frame = Frame(steps.numbers, panel.scale, width, panel.height)
    names = f'{panel.panel_id}-title', f'{panel.panel_id}-desc'
    parts = [*_outages(frame, steps.timeline), *_grid(frame), _shapes(frame, panel)]
    parts += [*_flags(frame, steps.timeline), *_crosses(frame, panel), *_step_numbers(frame)]
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
    gap = 0.12 if len(bases) <= GAPS_UP_TO else 0
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


def _flags(frame: Frame, timeline: Timeline) -> Iterator[str]:
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
    width = FLAG_WIDTH + DIGIT_WIDTH * len(text)
    if share * WIDE < width:
        return ''
    return _text('7', 10, 'start', text, ' spacious' if share * NARROW >= width else ' fine')


def _crosses(frame: Frame, panel: Panel) -> Iterator[str]:
    """Yield a cross above the columns whose check ended in ERROR."""
    for i in panel.crosses:
        top = sum(series.values[i] for series in panel.areas)
        yield (
            f'<svg x="{frame.percent(i + 0.5)}" y="{frame.y(top) - 9:.1f}" overflow="visible">'
            '<path class="cross" d="M-4 -4l8 8m0 -8l-8 8"/></svg>'
        )


def _step_numbers(frame: Frame) -> Iterator[str]:
    """Yield the numbers of steps; narrow charts hide texts of class `fine` or `spacious`."""
    y = frame.height - BOTTOM + 17
    yield _text('-8', y, 'end', 'step', ' spacious')
    every = frame.columns_between_ticks(TICKS)
    few = every * -(-len(frame.numbers) // (every * FEW_TICKS))
    for i in range(0, len(frame.numbers), every):
        fine = '' if i % few == 0 else ' fine'
        yield _text(frame.percent(i + 0.5), y, 'middle', str(frame.numbers[i]), fine)


def _text(x: str, y: float, anchor: str, text: str, more: str = '') -> str:
    return f'<text class="tick{more}" x="{x}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _short(value: float) -> str:
    """Return the text of a tick, at most five characters up to a thousand million."""
    if abs(value) >= MEGA:
        return f'{value / MEGA:g}M'
    return f'{value / 1000:g}k' if abs(value) >= KILO else f'{value:g}'
