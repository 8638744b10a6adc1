"""A run as one picture: the charts of the report as SVG, or as PNG by resvg (extra `plot`)."""

import importlib.util
import re
from importlib import resources
from pathlib import Path

import jinja2

from placement_worker.errors import PlacementWorkerError
from placement_worker.simulation import run_charts, svg_charts
from placement_worker.simulation.history import History
from placement_worker.simulation.scenario import Scenario

FORMATS = ('.svg', '.png')
MARGIN = 16
TITLE_HEIGHT, HEADING_HEIGHT, ROW_HEIGHT, FOOT_HEIGHT = 52, 46, 20, 36
LEGEND_COLUMNS = 4
PNG_ZOOM = 2


class CannotPlot(PlacementWorkerError):
    """The picture cannot be drawn; the text says what to do."""


def check(path: str) -> None:
    """Check before a long run that its picture can be drawn.

    :raises CannotPlot: the file name ends in none of `FORMATS`, or resvg is missing for a PNG.
    """
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise CannotPlot(
            f'{path}: unknown picture format; use a file name that ends in {" or ".join(FORMATS)}'
        )
    if suffix == '.png' and importlib.util.find_spec('resvg_py') is None:
        raise CannotPlot(
            "A PNG needs resvg-py; run: pip install 'placement-worker[plot]', or write an .svg file"
        )


def draw(scenario: Scenario, history: History, path: str) -> None:
    """Write the picture.

    :raises OSError: the file cannot be written.
    """
    drawn = svg(scenario, history)
    if Path(path).suffix == '.svg':
        Path(path).write_text(drawn, encoding='utf-8')
        return
    import resvg_py  # noqa: PLC0415  # an extra installs it

    Path(path).write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=drawn, zoom=PNG_ZOOM)))


def svg(scenario: Scenario, history: History) -> str:
    """Return the charts of a run below each other, in the light colors of the report."""
    shown = run_charts.charts(history)
    rows = max(-(-len(chart.legend) // LEGEND_COLUMNS) for chart in shown)
    figure_height = HEADING_HEIGHT + rows * ROW_HEIGHT + svg_charts.HEIGHT
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True,
        trim_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    style, colors = _style()
    return environment.get_template('picture.svg.j2').render(
        title=scenario.title,
        charts=shown,
        style=style,
        colors=colors,
        width=svg_charts.WIDTH,
        height=TITLE_HEIGHT + len(shown) * figure_height + FOOT_HEIGHT,
        margin=MARGIN,
        title_height=TITLE_HEIGHT,
        figure_height=figure_height,
        chart_height=svg_charts.HEIGHT,
        row_height=ROW_HEIGHT,
        columns=LEGEND_COLUMNS,
        column=(svg_charts.WIDTH - 2 * MARGIN) // LEGEND_COLUMNS,
    )


def _style() -> tuple[str, dict[str, str]]:
    """Return the style of the charts and its colors by name; resvg supports no CSS variables."""
    css = (resources.files(__package__) / 'page' / 'charts.css').read_text(encoding='utf-8')
    colors = dict(re.findall(r'--(\w+): (#\w+);', css))
    rules = css.partition('}')[2]  # the first rule defines the colors
    return re.sub(r'var\(--(\w+)\)', lambda found: colors[found[1]], rules).strip(), colors
