"""The charts of a run: which ones it has, each with heading, legend and a sentence about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from placement_worker.simulation.frame import Scale
from placement_worker.simulation.history import History
from placement_worker.simulation.run import Record
from placement_worker.simulation.svg_charts import Panel, Series, Steps

WORKER, GREEDY = 'placement-worker', "Senlin's greedy rule"
HEIGHT, SMALL_HEIGHT = 264, 144
TICKS, FEW_TICKS = 5, 3
COLORS = 8
OTHERS = 'others'
MOST_PANELS = 12
OUTAGES_NAMED = 3
FLAGS_NAMED = 20

Value = Callable[[Record], float]


@dataclass(frozen=True)
class Chart:
    """Panels with the text around them.

    :ivar legend: class of the swatch and the meaning. A class that begins with `c` stands for
        columns, one that begins with `l` for a line; the others are `outage`, `flag` and `cross`.
    """

    heading: str
    about: str
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]]


def charts(history: History) -> list[Chart]:
    """Return the charts of a run; some need a placement or a load-balancing policy."""
    more = [_misplaced, _deviations] if history.evenness.is_measured else []
    more += [_load_balancers] if history.pools else []
    return [*_nodes_by_place(history), *(chart(history) for chart in more)]


def steps(history: History) -> Steps:
    """Return the horizontal axis of the charts."""
    return Steps([moment.worker.number for moment in history.moments], history.timeline)


def grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the places of each color; the last color is for all others if there are too many."""
    if len(names) <= COLORS:
        return {name: [name] for name in names}
    shown = COLORS - 1
    return {**{name: [name] for name in names[:shown]}, OTHERS: list(names[shown:])}


def _nodes_by_place(history: History) -> Iterator[Chart]:
    sides = _sides(history)
    highest = max(record.size for side in sides.values() for record in side)
    scale = Scale.over(0, highest, TICKS)
    for number, (rule, records) in enumerate(sides.items()):
        heading = 'Nodes by place' + (f': {rule}' if len(sides) > 1 else '')
        areas = _areas(history.places, records)
        crosses = [i for i, record in enumerate(records) if record.status == 'ERROR']
        panel = Panel(
            f'nodes-{number}', heading, _last(heading, records[-1]), scale, HEIGHT, areas,
            crosses=crosses,
        )  # fmt: skip
        legend = [(one.look, one.name) for one in areas] + _shading(history)
        legend += [('cross', 'a check failed, and nothing was changed')] * bool(crosses)
        legend += _flags(history) if number == 0 else []
        yield Chart(heading, 'How many nodes each place holds after each step.', [panel], legend)


def _areas(places: Sequence[str], records: Sequence[Record]) -> list[Series]:
    counts = [{one.name: one.nodes for one in record.standings} for record in records]
    return [
        Series(name, [sum(count.get(member, 0) for member in members) for count in counts], look)
        for look, (name, members) in zip(_looks('c'), grouped(places).items(), strict=False)
    ]


def _misplaced(history: History) -> Chart:
    heading = 'Nodes off their ideal'
    lines = _lines(history, attrgetter('misplaced'))
    scale = Scale.over(0, max(max(line.values) for line in lines), TICKS)
    panel = Panel('misplaced', heading, _ranges(heading, lines), scale, HEIGHT, lines=lines)
    about = 'How many nodes would have to be elsewhere for the ideal.'
    return Chart(heading, about, [panel], _line_legend(lines) + _shading(history))


def _deviations(history: History) -> Chart:
    by_place = {name: _lines(history, _deviation(name)) for name in history.places}
    shown = _most_deviating(by_place)
    values = [value for lines in shown.values() for line in lines for value in line.values]
    scale = Scale.over(min(values), max(values), TICKS)
    panels = [
        Panel(f'deviation-{number}', name, _ranges(f'Deviation of {name} in nodes', lines), scale,
              SMALL_HEIGHT, lines=lines, small=True)
        for number, (name, lines) in enumerate(shown.items())
    ]  # fmt: skip
    about = 'How many nodes more (above zero) or fewer (below) than its ideal each place holds.'
    if len(shown) < len(by_place):
        about += f' These {len(shown)} of {len(by_place)} places deviate most.'
    legend = _line_legend(next(iter(shown.values()))) + _shading(history)
    return Chart('Deviation of each place', about, panels, legend)


def _most_deviating(by_place: Mapping[str, list[Series]]) -> Mapping[str, list[Series]]:
    """Return up to `MOST_PANELS` places in their order, with their lines."""
    extremes = {
        name: max(abs(value) for line in lines for value in line.values)
        for name, lines in by_place.items()
    }
    most = set(sorted(extremes, key=extremes.__getitem__, reverse=True)[:MOST_PANELS])
    return {name: lines for name, lines in by_place.items() if name in most}


def _load_balancers(history: History) -> Chart:
    """Return a panel per pool, and panels of the updates and of the grace periods."""
    records = _sides(history)[WORKER]
    healthy = Series('healthy nodes', [record.size - record.failed for record in records], 'l2')
    panels = []
    for i, name in enumerate(history.pools[:MOST_PANELS]):
        members = Series('members', [record.pools[i].members for record in records], 'l1')
        panels.append(_small(f'pool-{i}', f'Members of {name}', lines=[members, healthy]))
    updates = Series('updates', [record.updates for record in records], 'c1')
    grace = Series('seconds', [record.grace_period_s for record in records], 'c1')
    panels.append(_small('updates', 'Updates per step', areas=[updates]))
    panels.append(_small('grace', 'Grace period in seconds', areas=[grace]))
    about = (
        'The members of each pool beside the healthy nodes, the updates sent to Octavia, and the '
        f'wait between the removal of members and the deletion of their nodes, with {WORKER}.'
    )
    legend = _line_legend(panels[0].lines) + _shading(history)
    return Chart('Load balancers', about, panels, legend)


def _small(
    panel_id: str, title: str, *, areas: Sequence[Series] = (), lines: Sequence[Series] = ()
) -> Panel:
    series = [*areas, *lines]
    scale = Scale.over(0, max(max(one.values) for one in series), FEW_TICKS)
    described = _ranges(title, series)
    return Panel(panel_id, title, described, scale, SMALL_HEIGHT, areas, lines, small=True)


def _sides(history: History) -> Mapping[str, Sequence[Record]]:
    """Return the records of each rule."""
    worker = [moment.worker for moment in history.moments]
    others = [moment.other for moment in history.moments if moment.other]
    return {WORKER: worker} | ({GREEDY: others} if others else {})


def _lines(history: History, value: Value) -> list[Series]:
    """Return a value of each rule; the last line is drawn over the others, thinner and dashed."""
    return [
        Series(rule, [value(record) for record in records], look)
        for look, (rule, records) in zip(_looks('l'), _sides(history).items(), strict=False)
    ]


def _looks(kind: str) -> list[str]:
    return [f'{kind}{color}' for color in range(1, COLORS + 1)]


def _deviation(name: str) -> Value:
    def value(record: Record) -> float:
        return next((one.deviation for one in record.standings if one.name == name), 0.0)

    return value


def _line_legend(lines: Sequence[Series]) -> list[tuple[str, str]]:
    return [(line.look, line.name) for line in lines]


def _shading(history: History) -> list[tuple[str, str]]:
    """Return the legend of the shaded outages and cordons, if there are any."""
    timeline = history.timeline
    shown = timeline.outages[:OUTAGES_NAMED]
    more = timeline.outage_count - len(shown)
    legend = []
    for title, is_cordon in (('outage', False), ('cordon', True)):
        named = [
            f'{one.place} ({_period(one.first, one.last)})'
            for one in shown
            if one.is_cordon == is_cordon
        ]
        if named:
            legend.append(('outage', f'{title}: {", ".join(named)}'))
    if more:
        look, text = legend.pop()
        legend.append((look, f'{text} and {more:,} more'))
    return legend


def _period(first: int, last: int) -> str:
    return f'step {first:,}' if first == last else f'steps {first:,} to {last:,}'


def _flags(history: History) -> list[tuple[str, str]]:
    """Return the legend of the flags, which mark changes of the cloud or of a policy."""
    timeline = history.timeline
    if timeline.flag_count > len(timeline.flags):
        return [('', f'not flagged: {timeline.flag_count:,} changes of the cloud or a policy')]
    named = [f'step {one.number:,}: {one.what}' for one in timeline.flags[:FLAGS_NAMED]]
    more = timeline.flag_count - len(named)
    return [('flag', text) for text in named + [f'and {more} more'] * bool(more)]


def _last(heading: str, record: Record) -> str:
    places = ', '.join(f'{one.name} {one.nodes}' for one in record.standings)
    return f'{heading}. After the last step {record.size} nodes: {places}'


def _ranges(heading: str, lines: Sequence[Series]) -> str:
    ranges = (
        f'{line.name} between {min(line.values):.1f} and {max(line.values):.1f}' for line in lines
    )
    return f'{heading}: {", ".join(ranges)}'
