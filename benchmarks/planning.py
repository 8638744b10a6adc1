"""The time of a plan: 10 to 1,000,000 nodes over 1 to 1,000 places, growing and shrinking."""

from collections.abc import Callable

from benchmarks.pairing import Effort, Spread, cpu_ms, interleaved, timed
from benchmarks.results import Bar, Result, Row, Table
from placement_worker.planning.placement import grow, shrink
from placement_worker.planning.places import Place

NODES = (10, 1000, 100_000, 1_000_000)
PLACES = (1, 10, 100, 1000)
SLICE_S = 0.02
Figures = dict[int, Spread]
BAR_PLACES, BAR_NODES, BAR_TIMES = 100, 1000, 2.0
"""The bars compare a million nodes with so many, and not with fewer, which leave places empty."""


def run(effort: Effort) -> Result:
    """Measure the numbers of nodes in turns, for each number of places."""
    rows, result = [], Result()
    for count in (BAR_PLACES,) if effort.bars_only else PLACES:
        grown, shrunk = _measured(count, effort)
        rows += [_row(count, nodes, grown, shrunk) for nodes in NODES]
        if count == BAR_PLACES:
            for what, figures in (('created', grown), ('deleted', shrunk)):
                times = figures[NODES[-1]].mid / figures[BAR_NODES].mid
                name = f'a million / {BAR_NODES} nodes {what} over {count} places'
                result.bars.append(Bar(name, times, BAR_TIMES))
    result.tables.append(Table('Plans', rows, 'CPU time; half of the nodes are deleted.'))
    return result


def _row(count: int, nodes: int, grown: Figures, shrunk: Figures) -> Row:
    first = NODES[0]
    return {
        'places': count,
        'nodes': nodes,
        'grow ms': grown[nodes].mid,
        f'of {first}': grown[nodes].mid / grown[first].mid,
        'shrink ms': shrunk[nodes].mid,
        f'of {first} ': shrunk[nodes].mid / shrunk[first].mid,
    }


def _measured(count: int, effort: Effort) -> tuple[Figures, Figures]:
    """Return number of nodes -> the times to create them and to delete half of them."""
    places = [Place(f'z{i}', weight=100 + i % 7) for i in range(count)]
    runs: dict[tuple[str, int], Callable[[], object]] = {}
    for nodes in NODES:
        held = {row.name: row.final for row in grow(places, {}, nodes).rows}
        runs['grow', nodes] = lambda nodes=nodes: grow(places, {}, nodes)
        groups = _in_groups(held)
        runs['shrink', nodes] = lambda nodes=nodes, groups=groups: shrink(
            places, groups, nodes // 2
        )
    contenders = {name: lambda run=run: timed(run, SLICE_S) for name, run in runs.items()}
    found = interleaved(contenders, effort.rounds)
    grown = {nodes: cpu_ms(found['grow', nodes]) for nodes in NODES}
    return grown, {nodes: cpu_ms(found['shrink', nodes]) for nodes in NODES}


def _in_groups(held: dict[str, int]) -> list[dict[str, int]]:
    """Return the nodes: a tenth unhealthy, a tenth never created, and the rest."""
    tenth = {name: count // 10 for name, count in held.items()}
    return [tenth, tenth, {name: count - 2 * tenth[name] for name, count in held.items()}]
