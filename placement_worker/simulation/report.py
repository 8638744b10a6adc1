"""A run as one self-contained HTML page or as one picture (SVG).

The page has charts, all numbers, and every decision explained. It works without a network and
without scripts; names in a scenario may look like markup and must stay text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import msgspec

from placement_worker.errors import PlacementWorkerError
from placement_worker.formats import text as details
from placement_worker.formats.text import counted
from placement_worker.simulation.drawing import svg_of
from placement_worker.simulation.history import History
from placement_worker.simulation.run import PlayedStep, StepRecord
from placement_worker.simulation.run_charts import GREEDY, WORKER, Chart, charts
from placement_worker.simulation.scenario import Scenario

_OPEN_ROWS = 40  # a longer table is closed until a reader opens it
_PATH_WIDTH = 1000  # of paths, which the page stretches
_WIDTH, _MARGIN = 960, 16
_LEFT, _RIGHT = 48, 16  # of a panel, for the text of its ticks
_PANELS_PER_ROW = 3
_LINE, _GAP = 20, 18
_LETTER = 7.4  # the mean width of a letter of a legend, 13 pixels high
_SWATCH = 28


class CannotPlot(PlacementWorkerError):
    """The picture cannot be drawn; the text says what to do."""


def page(scenario: Scenario, history: History) -> str:
    environment = _environment()
    environment.filters.update(
        number=_number, cell=_cell, columns=_columns, held=_held, label=_label,
        is_number=details.is_number,
    )  # fmt: skip
    environment.tests['shown'] = details.is_shown_detail
    environment.globals['draw'] = lambda panel: markupsafe.Markup(  # noqa: S704
        svg_of(panel, history, _PATH_WIDTH)
    )
    steps = history.steps
    return environment.get_template('report.html.j2').render(
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
    pieces.append(_Piece(_MARGIN, 32 + _LINE, 'name', f'{history.evenness.verdict}.'))
    bottom = 32.0 + _LINE
    for chart in charts(history):
        bottom += _GAP + _LINE
        pieces.append(_Piece(_MARGIN, bottom, 'heading', chart.heading))
        legend = list(_legend(chart.legend, bottom + _LINE))
        panels = list(_panels(chart, history, legend[-1].y + _LINE / 2))
        pieces += [*legend, *panels]
        bottom = panels[-1].y + panels[-1].height
    return (
        _environment()
        .get_template('picture.svg.j2')
        .render(
            pieces=pieces, style=style, colors=colors, width=_WIDTH, height=round(bottom + _GAP)
        )
    )


def check_picture_name(path: str) -> None:
    """Refuse a file name of another format before a long run."""
    if Path(path).suffix != '.svg':
        raise CannotPlot(f'{path}: unknown picture format; use a file name that ends in .svg')


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip


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
    pools = ''.join(
        f' {pool.policy} has {counted(pool.members, "member")}.' for pool in record.pools
    )
    return f'{size}; {places}.{pools}{failed}'


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


def _label(key: str) -> str:
    return key.replace('_', ' ').capitalize().replace('Api ', 'API ')


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _held(record: StepRecord) -> dict[str, int]:
    return {place.name: place.nodes for place in record.standings}


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
