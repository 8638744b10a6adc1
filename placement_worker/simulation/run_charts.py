"""The charts of a run: which ones it has, each with heading, legend and a sentence about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from placement_worker.simulation import svg_charts
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.svg_charts import Line

WORKER, GREEDY = 'placement-worker', "Senlin's greedy rule"


@dataclass(frozen=True)
class Chart:
    """A chart with the text around it.

    :ivar svg: the chart as `svg_charts` draws it.
    :ivar legend: CSS class of the swatch -> the series that it stands for. A class that begins
        with `c` is a filled area, one that begins with `l` a line.
    """

    heading: str
    svg: str
    about: str
    legend: Mapping[str, str]


def charts(history: History) -> list[Chart]:
    """Return the charts of a run; a comparison has one more, and many places have one less."""
    return [*_nodes_by_place(history), _misplaced(history), *_deviations(history)]


def _nodes_by_place(history: History) -> Iterator[Chart]:
    moments, compared = history.moments, _is_compared(history)
    names = history.places
    legend = {f'c{color}': name for color, name in enumerate(svg_charts.grouped(names), start=1)}
    sides: list[tuple[str, str, Callable[[Moment], Any]]] = [('ours', WORKER, attrgetter('ours'))]
    sides += [('other', GREEDY, attrgetter('other'))] * compared
    for side, rule, record_of in sides:
        heading = f'Nodes by place{f": {rule}" if compared else ""}'
        svg = svg_charts.nodes_by_place(f'nodes-{side}', heading, moments, names, record_of)
        yield Chart(heading, svg, 'How many nodes each place holds after each step.', legend)


def _misplaced(history: History) -> Chart:
    lines = [Line(WORKER, lambda moment: moment.ours.misplaced, 1)]
    lines += [
        Line(GREEDY, lambda moment: moment.other.misplaced if moment.other else 0, 2)
    ] * _is_compared(history)
    about = 'How many nodes would have to be elsewhere for the ideal.'
    return _line_chart('misplaced', 'Nodes off their ideal', about, history.moments, lines)


def _deviations(history: History) -> Iterator[Chart]:
    names = history.places
    if len(names) <= svg_charts.COLORS:
        lines = [Line(name, _deviation(name), color) for color, name in enumerate(names, start=1)]
        about = (
            'How many nodes more (above zero) or fewer (below) than its ideal each place holds, '
            f'with {WORKER}.'
        )
        heading = 'Deviation of each place'
        yield _line_chart('deviation', heading, about, history.moments, lines)


def _is_compared(history: History) -> bool:
    return bool(history.moments[-1].other)


def _line_chart(
    chart_id: str, heading: str, about: str, moments: Sequence[Moment], lines: Sequence[Line]
) -> Chart:
    svg = svg_charts.lines(chart_id, heading, moments, lines)
    return Chart(heading, svg, about, {f'l{line.color}': line.name for line in lines})


def _deviation(name: str) -> Callable[[Moment], float]:
    def value(moment: Moment) -> float:
        return next((one.deviation for one in moment.ours.standings if one.name == name), 0.0)

    return value
