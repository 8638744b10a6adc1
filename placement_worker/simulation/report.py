"""A run as one self-contained HTML page: charts, all numbers, and every decision explained."""

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

import jinja2
import markupsafe
import msgspec

from placement_worker.formats import details
from placement_worker.formats.text import counted
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.run import Record
from placement_worker.simulation.run_charts import GREEDY, WORKER, charts, steps
from placement_worker.simulation.scenario import Scenario
from placement_worker.simulation.svg_charts import Panel, Steps, draw

OPEN_ROWS = 40  # a longer table is closed until a reader opens it
PATH_WIDTH = 1000  # of paths, which the page stretches


def page(scenario: Scenario, history: History) -> str:
    """Return the page as HTML 5."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('placement_worker.simulation', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters.update(
        number=_number,
        cell=_cell,
        columns=_columns,
        held=_held,
        label=_label,
        is_number=details.is_number,
    )
    environment.tests['shown'] = details.is_shown
    environment.globals['draw'] = _drawing(steps(history))
    moments = history.moments
    return environment.get_template('report.html.j2').render(
        scenario=scenario,
        history=history,
        moments=moments,
        places=history.places,
        pools=history.pools,
        charts=charts(history),
        open_rows=OPEN_ROWS,
        data=_data(moments),
        version=metadata.version('placement-worker'),
    )


def _drawing(axis: Steps) -> Callable[[Panel], markupsafe.Markup]:
    return lambda panel: markupsafe.Markup(draw(panel, axis, PATH_WIDTH))  # noqa: S704


def _data(moments: Sequence[Moment]) -> markupsafe.Markup:
    """Return the sentences that the page reads out as a user moves along the charts.

    No text in the JSON can end the `script` element that holds it.
    """
    sentences = [
        [f'Step {moment.worker.number}: {moment.worker.what}.', *map(_sentence, _records(moment))]
        for moment in moments
    ]
    return markupsafe.Markup(msgspec.json.encode(sentences).decode().replace('<', '\\u003c'))  # noqa: S704


def _records(moment: Moment) -> list[tuple[str, Record]]:
    if not moment.other:
        return [('', moment.worker)]
    return [(f'{WORKER}: ', moment.worker), (f'{GREEDY}: ', moment.other)]


def _sentence(side: tuple[str, Record]) -> str:
    label, record = side
    places = ', '.join(
        f'{one.name} {one.nodes}' + (f' ({one.deviation:+.1f})' if one.ideal is not None else '')
        for one in record.standings
    )
    failed = ' A check ended in ERROR.' if record.status == 'ERROR' else ''
    protected = f', {_number(record.protected)} protected' if record.protected else ''
    size = f'{counted(record.size, "node")}{protected}, {_number(record.misplaced)} off their ideal'
    pools = ''.join(f' {one.policy} has {counted(one.members, "member")}.' for one in record.pools)
    return f'{label}{size}; {places}.{pools}{failed}'


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


def _held(record: Record) -> dict[str, int]:
    return {one.name: one.nodes for one in record.standings}
