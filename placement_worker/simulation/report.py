"""A run as one self-contained HTML page or as one picture (SVG).

The page has charts, all numbers, and every decision explained. It works without a network and
without scripts; names in a scenario may look like markup and must stay text.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import msgspec

from placement_worker.errors import PlacementWorkerError
from placement_worker.formats import text as details
from placement_worker.formats.text import counted
from placement_worker.simulation.history import History, Timeline
from placement_worker.simulation.run import PlayedStep, StepRecord
from placement_worker.simulation.run_charts import GREEDY, WORKER, Chart, Panel, charts
from placement_worker.simulation.scenario import Scenario

_OPEN_ROWS = 40  # a longer table is closed until a reader opens it
_PATH_WIDTH = 1000  # of paths, which the page stretches
_WIDTH, _MARGIN = 960, 16
_LEFT, _RIGHT = 48, 16  # of a panel, for the text of its ticks
_PANELS_PER_ROW = 3
_LINE, _GAP = 20, 18
_LETTER = 7.4  # the mean width of a letter of a legend, 13 pixels high
_SWATCH = 28
_TOP, _BOTTOM = 20, 24  # pixels for the numbers of flags, and for those of steps
_TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # columns between ticks, for up to 600 columns
_GAPS_UP_TO = 80  # more columns have no gaps between them
_STEP_TICKS, _FEW_STEP_TICKS = 12, 6  # few ticks fit into 260 pixels
_NARROW = 260  # the width of a small panel and of a chart on a phone, in pixels
_WIDE = 440  # the least width of a chart on a wider screen, in pixels
_DIGIT_WIDTH, _FLAG_WIDTH = 8, 12  # pixels of the number of a flag
_KILO, _MEGA = 10_000, 1_000_000  # from these values on, ticks have a unit


class CannotPlot(PlacementWorkerError):
    """The picture cannot be drawn; the text says what to do."""


def page(scenario: Scenario, history: History) -> str:
    steps = history.steps
    template = _environment().get_template('report.html.j2')
    return template.render(
        draw=lambda panel: svg_of(panel, history, _PATH_WIDTH),
        scenario=scenario,
        history=history,
        steps=steps,
        places=history.places,
        pools=history.pools,
        charts=charts(history),
        open_rows=_OPEN_ROWS,
        data=_data(steps),
        version=metadata.version('placement-worker'),
    )


def picture(scenario: Scenario, history: History) -> str:
    """Return the charts of a run below each other, in the light colors of the report."""
    style, colors = _style()
    pieces = [_Piece(_MARGIN, 32, 'title', scenario.title)]
    pieces.append(_Piece(_MARGIN, 32 + _LINE, 'name', f'{history.worker.evenness.verdict}.'))
    bottom = 32.0 + _LINE
    for chart in charts(history):
        bottom += _GAP + _LINE
        pieces.append(_Piece(_MARGIN, bottom, 'heading', chart.heading))
        legend = list(_legend(chart.legend, bottom + _LINE))
        panels = list(_panels(chart, history, legend[-1].y + _LINE / 2))
        pieces += [*legend, *panels]
        bottom = panels[-1].y + panels[-1].height
    height = round(bottom + _GAP)
    template = _environment().get_template('picture.svg.j2')
    return template.render(pieces=pieces, style=style, colors=colors, width=_WIDTH, height=height)


def check_picture_name(path: str) -> None:
    """Refuse a file name of another format before a long run."""
    if Path(path).suffix != '.svg':
        raise CannotPlot(f'{path}: unknown picture format; use a file name that ends in .svg')


def _data(steps: Sequence[PlayedStep]) -> markupsafe.Markup:
    """Return the sentences that the page reads out as a user moves along the charts.

    No text in the JSON can end the `script` element that holds it.
    """
    sentences = [
        [
            f'Step {step.worker.number}: {step.worker.what}.',
            *(label + _sentence(record) for label, record in _labeled(step)),
        ]
        for step in steps
    ]
    return markupsafe.Markup(msgspec.json.encode(sentences).decode().replace('<', '\\u003c'))  # noqa: S704


def _labeled(step: PlayedStep) -> list[tuple[str, StepRecord]]:
    if not step.other:
        return [('', step.worker)]
    return [(f'{WORKER}: ', step.worker), (f'{GREEDY}: ', step.other)]


def _sentence(record: StepRecord) -> str:
    places = ', '.join(
        f'{place.name} {place.nodes}'
        + (f' ({place.deviation:+.1f})' if place.ideal is not None else '')
        for place in record.standings
    )
    failed = ' A check ended in ERROR.' if record.status == 'ERROR' else ''
    protected = f', {_number(record.protected)} protected' if record.protected else ''
    size = f'{counted(record.size, "node")}{protected}, {_number(record.misplaced)} off their ideal'
    pools = [f' {pool.policy} has {counted(pool.members, "member")}.' for pool in record.pools]
    return f'{size}; {places}.{"".join(pools)}{failed}'


def _number(value: float) -> str:
    return f'{value:,.1f}' if isinstance(value, float) else f'{value:,}'


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, list):
        return ', '.join(map(_cell, value))
    return '-' if value in (None, '') else str(value)


@dataclass(frozen=True)
class _Piece:
    """A text of class `kind`, or a panel; `look` is the class of the swatch beside the text."""

    x: float
    y: float
    kind: str = ''
    text: str = ''
    look: str = ''
    svg: str = ''
    width: float = 0
    height: float = 0


def _legend(entries: Sequence[tuple[str, str]], y: float) -> Iterator[_Piece]:
    x = float(_MARGIN)
    for look, text in entries:
        width = _SWATCH + _LETTER * len(text) + _GAP
        if x > _MARGIN and x + width > _WIDTH:
            x, y = _MARGIN, y + _LINE
        yield _Piece(x, y, 'name', text, look)
        x += width


def _panels(chart: Chart, history: History, y: float) -> Iterator[_Piece]:
    count = _PANELS_PER_ROW if len(chart.panels) > 1 else 1
    share = (_WIDTH - 2 * _MARGIN) / count
    width = share - _LEFT - _RIGHT
    for i, panel in enumerate(chart.panels):
        title = _LINE if panel.small else 0
        x = _MARGIN + i % count * share + _LEFT
        top = y + i // count * (panel.height + title)
        if panel.small:
            yield _Piece(x, top + _LINE, 'name', panel.title)
        drawn = svg_of(panel, history, width)
        yield _Piece(x, top + title, svg=drawn, width=width, height=panel.height)


def _style() -> tuple[str, dict[str, str]]:
    """Return the style of the charts and its colors by name; few viewers know CSS variables."""
    css = (resources.files(__package__) / 'page' / 'charts.css').read_text(encoding='utf-8')
    colors = dict(re.findall(r'--(\w+): (#\w+);', css))
    rules = css.partition('}')[2]  # the first rule defines the colors
    return re.sub(r'var\(--(\w+)\)', lambda variable: colors[variable[1]], rules).strip(), colors


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


def svg_of(panel: Panel, history: History, width: float) -> markupsafe.Markup:
    """Draw a panel; any width will do if a page stretches the drawing.

    Horizontal positions are percentages, so that a page can stretch a panel to any width while its
    text keeps its size; paths are inside an element of their own, which is stretched as a whole.
    Style sheets give colors, and hide texts of class `fine` or `spacious` in narrow charts.
    """
    frame = Frame(history.numbers, panel.ticks, width, panel.height)
    template = _environment().get_template('panel.svg.j2')
    svg = template.render(
        panel=panel,
        frame=frame,
        top=_TOP,
        outages=history.timeline.outages,
        paths=list(_paths(frame, panel)),
        flags=list(_flags(frame, history.timeline)),
        step_numbers=list(_step_numbers(frame)),
    )
    return markupsafe.Markup(svg)  # noqa: S704


@functools.cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.filters.update(
        number=_number,
        short=_short,
        mean='{:,.2f}'.format,
        cell=_cell,
        columns=lambda rows: list(dict.fromkeys(column for row in rows for column in row)),
        label=lambda key: key.replace('_', ' ').capitalize().replace('Api ', 'API '),
        is_number=details.is_number,
    )
    made.tests['shown'] = details.is_shown_detail
    return made


def _paths(frame: Frame, panel: Panel) -> Iterator[tuple[str, str]]:
    """Yield the class and the data of each path: columns upon each other, then lines."""
    bases = [0.0] * len(frame.numbers)
    for series in panel.areas:
        tops = [base + value for base, value in zip(bases, series.values, strict=True)]
        yield f'fill {series.look}', _columns(frame, bases, tops)
        bases = tops
    for series in panel.lines:
        yield f'line {series.look}', _stairs(frame, series.values)


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


def _flags(frame: Frame, timeline: Timeline) -> Iterator[tuple[float, int, str]]:
    """Yield column, step and class of each flag, where the cloud or a policy changed.

    The class is empty if there is no room for the number of the step.
    """
    if timeline.flag_count > len(timeline.flags):
        return
    ends = [*(frame.column(flag.number) for flag in timeline.flags[1:]), len(frame.numbers)]
    for flag, end in zip(timeline.flags, ends, strict=False):
        column = frame.column(flag.number)
        share = (end - column) / len(frame.numbers)
        width = _FLAG_WIDTH + _DIGIT_WIDTH * len(str(flag.number))
        kind = 'spacious' if share * _NARROW >= width else 'fine'
        yield column, flag.number, kind if share * _WIDE >= width else ''


def _step_numbers(frame: Frame) -> Iterator[tuple[int, bool]]:
    """Yield the columns with numbers, and whether narrow charts hide them."""
    every = next(step for step in _TICK_STEPS if step * _STEP_TICKS >= len(frame.numbers))
    few = every * -(-len(frame.numbers) // (every * _FEW_STEP_TICKS))
    for i in range(0, len(frame.numbers), every):
        yield i, i % few > 0


def _short(value: float) -> str:
    if abs(value) >= _MEGA:
        return f'{value / _MEGA:g}M'
    return f'{value / 1000:g}k' if abs(value) >= _KILO else f'{value:g}'
