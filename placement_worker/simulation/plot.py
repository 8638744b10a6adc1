"""A run as one picture: the charts of the report as SVG."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2

from placement_worker.errors import PlacementWorkerError
from placement_worker.simulation import run_charts, svg_charts
from placement_worker.simulation.history import History
from placement_worker.simulation.run_charts import Chart
from placement_worker.simulation.scenario import Scenario
from placement_worker.simulation.svg_charts import Steps

WIDTH, MARGIN = 960, 16
LEFT, RIGHT = 48, 16  # of a panel, for the text of its ticks
PANELS_PER_ROW = 3
LINE, GAP = 20, 18
LETTER = 7.4  # the mean width of a letter of a legend, 13 pixels high
SWATCH = 28


@dataclass(frozen=True)
class Piece:
    """A text or a panel of the picture at its position.

    :ivar kind: the class of the text.
    :ivar look: the class of the swatch in front of the text.
    """

    x: float
    y: float
    kind: str = ''
    text: str = ''
    look: str = ''
    svg: str = ''
    width: float = 0
    height: float = 0


class CannotPlot(PlacementWorkerError):
    """The picture cannot be drawn; the text says what to do."""


def check(path: str) -> None:
    """Check before a long run that its picture can be drawn.

    :raises CannotPlot: the file name does not end in `.svg`.
    """
    if Path(path).suffix != '.svg':
        raise CannotPlot(f'{path}: unknown picture format; use a file name that ends in .svg')


def draw(scenario: Scenario, history: History, path: str) -> None:
    """Write the picture.

    :raises OSError: the file cannot be written.
    """
    Path(path).write_text(svg(scenario, history), encoding='utf-8')


def svg(scenario: Scenario, history: History) -> str:
    """Return the charts of a run below each other, in the light colors of the report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    style, colors = _style()
    pieces = [Piece(MARGIN, 32, 'title', scenario.title)]
    pieces.append(Piece(MARGIN, 32 + LINE, 'name', f'{history.evenness.verdict}.'))
    bottom = 32.0 + LINE
    steps = run_charts.steps(history)
    for chart in run_charts.charts(history):
        bottom += GAP + LINE
        pieces.append(Piece(MARGIN, bottom, 'heading', chart.heading))
        legend = list(_legend(chart.legend, bottom + LINE))
        panels = list(_panels(chart, steps, legend[-1].y + LINE / 2))
        pieces += [*legend, *panels]
        bottom = panels[-1].y + panels[-1].height
    return environment.get_template('picture.svg.j2').render(
        pieces=pieces, style=style, colors=colors, width=WIDTH, height=round(bottom + GAP)
    )


def _legend(entries: Sequence[tuple[str, str]], y: float) -> Iterator[Piece]:
    """Yield the entries of a legend from left to right, then on the next line."""
    x = float(MARGIN)
    for look, text in entries:
        width = SWATCH + LETTER * len(text) + GAP
        if x > MARGIN and x + width > WIDTH:
            x, y = MARGIN, y + LINE
        yield Piece(x, y, 'name', text, look)
        x += width


def _panels(chart: Chart, steps: Steps, y: float) -> Iterator[Piece]:
    """Yield the panels in rows."""
    count = PANELS_PER_ROW if len(chart.panels) > 1 else 1
    share = (WIDTH - 2 * MARGIN) / count
    width = share - LEFT - RIGHT
    for i, panel in enumerate(chart.panels):
        title = LINE if panel.small else 0
        x = MARGIN + i % count * share + LEFT
        top = y + i // count * (panel.height + title)
        if panel.small:
            yield Piece(x, top + LINE, 'name', panel.title)
        drawn = svg_charts.draw(panel, steps, width)
        yield Piece(x, top + title, svg=drawn, width=width, height=panel.height)


def _style() -> tuple[str, dict[str, str]]:
    """Return the style of the charts and its colors by name; few viewers know CSS variables."""
    css = (resources.files(__package__) / 'page' / 'charts.css').read_text(encoding='utf-8')
    colors = dict(re.findall(r'--(\w+): (#\w+);', css))
    rules = css.partition('}')[2]  # the first rule defines the colors
    return re.sub(r'var\(--(\w+)\)', lambda found: colors[found[1]], rules).strip(), colors
