"""A run as one page of HTML that needs nothing else: charts, all numbers, and every decision
explained.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from operator import attrgetter
from typing import Any

import jinja2
import markupsafe
import msgspec

from placement_worker.formats import plurals
from placement_worker.simulation import charts
from placement_worker.simulation.charts import Line
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.run import Record
from placement_worker.simulation.scenario import Scenario

OURS, OTHER = 'placement-worker', "Senlin's greedy rule"
MARKS_NAMED = 20


@dataclass(frozen=True)
class Chart:
    """A chart with what stands around it; `legend`: class of the swatch -> what it stands for."""

    heading: str
    svg: markupsafe.Markup
    about: str
    legend: Mapping[str, str] = field(default_factory=dict)


def page(scenario: Scenario, history: History) -> str:
    """The page, as HTML 5."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters.update(
        number=_number, cell=_cell, columns=_columns, held=_held, is_number=plurals.is_number
    )
    environment.tests['shown'] = plurals.is_shown
    moments = history.moments
    return environment.get_template('report.html.j2').render(
        scenario=scenario,
        history=history,
        moments=moments,
        places=history.places,
        charts=list(_charts(history)),
        marks=[moment.ours for moment in moments if moment.ours.changes_world],
        marks_named=MARKS_NAMED,
        data=_data(moments),
        version=metadata.version('placement-worker'),
        ours=OURS,
        other=OTHER,
    )


def _charts(history: History) -> Iterator[Chart]:
    moments, compared = history.moments, bool(history.moments[-1].other)
    names = history.places
    legend = {f'c{colour}': name for colour, name in enumerate(charts.grouped(names), start=1)}
    sides: list[tuple[str, str, Callable[[Moment], Any]]] = [('ours', OURS, attrgetter('ours'))]
    sides += [('other', OTHER, attrgetter('other'))] * compared
    for side, who, record_of in sides:
        heading = f'Nodes by place{f": {who}" if compared else ""}'
        svg = charts.nodes_by_place(f'nodes-{side}', heading, moments, names, record_of)
        yield Chart(
            heading,
            markupsafe.Markup(svg),  # noqa: S704
            'How many nodes each place holds after each step.',
            legend,
        )
    lines = [Line(OURS, lambda moment: moment.ours.misplaced, 1)]
    lines += [
        Line(OTHER, lambda moment: moment.other.misplaced if moment.other else 0, 2)
    ] * compared
    yield _lines(
        'misplaced',
        'Nodes off their ideal',
        'How many nodes would have to stand elsewhere for the ideal.',
        moments,
        lines,
    )
    if len(names) <= charts.COLOURS:
        lines = [Line(name, _deviation(name), colour) for colour, name in enumerate(names, start=1)]
        about = f'How many nodes more (above zero) or fewer (below) than its ideal each place holds, with {OURS}.'
        yield _lines('deviation', 'Deviation of each place', about, moments, lines)


def _lines(
    chart_id: str, heading: str, about: str, moments: Sequence[Moment], lines: Sequence[Line]
) -> Chart:
    svg = charts.lines(chart_id, heading, moments, lines)
    markup = markupsafe.Markup(svg)  # noqa: S704
    return Chart(heading, markup, about, {f'l{line.colour}': line.name for line in lines})


def _deviation(name: str) -> Callable[[Moment], float]:
    def value(moment: Moment) -> float:
        return next((one.deviation for one in moment.ours.standings if one.name == name), 0.0)

    return value


def _data(moments: Sequence[Moment]) -> markupsafe.Markup:
    """What the page reads out as somebody moves along the charts; nothing in it can end the element
    it stands in.
    """
    told = [
        [f'Step {moment.ours.number}: {moment.ours.what}.', *map(_told, _records(moment))]
        for moment in moments
    ]
    return markupsafe.Markup(msgspec.json.encode(told).decode().replace('<', '\\u003c'))  # noqa: S704


def _records(moment: Moment) -> list[tuple[str, Record]]:
    if not moment.other:
        return [('', moment.ours)]
    return [(f'{OURS}: ', moment.ours), (f'{OTHER}: ', moment.other)]


def _told(side: tuple[str, Record]) -> str:
    who, record = side
    places = ', '.join(
        f'{one.name} {one.nodes}' + (f' ({one.deviation:+.1f})' if one.ideal is not None else '')
        for one in record.standings
    )
    failed = ' A check ended in ERROR.' if record.status == 'ERROR' else ''
    return f'{who}{plurals.nodes(record.size)}, {_number(record.misplaced)} off their ideal; {places}.{failed}'


def _number(value: float) -> str:
    return f'{value:,.1f}' if isinstance(value, float) else f'{value:,}'


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:g}'
    return '-' if value in (None, '') else str(value)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _held(record: Record) -> dict[str, int]:
    return {one.name: one.nodes for one in record.standings}
