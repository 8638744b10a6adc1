"""The lines of a simulation: its steps and its summary."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from placement_worker.cmd import output
from placement_worker.cmd.colors import Paint
from placement_worker.formats.text import counted, escaped

if TYPE_CHECKING:  # the other commands must not wait for these imports
    from placement_worker.simulation.history import History, Moment
    from placement_worker.simulation.run import Record


def step(moment: 'Moment', paint: Paint) -> Iterator[str]:
    """Yield the lines of a step: event, checks, a table of the places, and totals."""
    worker, other = moment.worker, moment.other
    yield paint(f'Step {worker.number}: {worker.what}', 'bold') + (
        escaped(f' ({worker.note})') if worker.note else ''
    )
    for check in worker.checks:
        style = paint(check.status, 'green' if check.status == 'OK' else 'red')
        action = escaped(check.action) + (' AFTER' if check.phase == 'AFTER' else '')
        yield f'{output.INDENT}{action}: {style}, {escaped(check.reason)}'
        yield from (output.INDENT + line for line in output.warnings(check.warnings, paint))
    if not worker.as_expected:
        yield output.INDENT + paint('The scenario expects another outcome.', 'red')
    others = {one.name: one.nodes for one in other.standings} if other else {}
    rows = [
        {
            'place': one.name,
            'nodes': one.nodes,
            'ideal': None if one.ideal is None else round(one.ideal, 1),
            'deviation': None if one.ideal is None else round(one.deviation, 1),
            'usable': one.usable,
            **({'greedy': others.get(one.name, 0)} if other else {}),
        }
        for one in worker.standings
    ]
    yield from (output.INDENT + line for line in output.table(rows).splitlines())
    yield output.INDENT + _totals(worker)
    if other:
        yield f'{output.INDENT}greedy: {_totals(other)}'
    yield ''


def _totals(record: 'Record') -> str:
    failed = f', {record.failed} of them failed' if record.failed else ''
    protected = f', {record.protected} protected' if record.protected else ''
    measures = f'{record.misplaced:.1f} off their ideal, skew {record.skew:.1f}'
    pools = ''.join(
        f'; {counted(one.members, "member")} of {escaped(one.policy)}' for one in record.pools
    )
    updates = f', {counted(record.updates, "update")}' if record.pools else ''
    nodes = counted(record.size, 'node')
    return f'{nodes}{failed}{protected}; {measures}{pools}{updates}'


def _refused(count: int) -> str:
    return f', {count} failed for lack of capacity' if count else ''


def summary(history: 'History', paint: Paint) -> Iterator[str]:
    """Yield the verdict and the totals of a run, and of the greedy rule if both were played."""
    sides = [('', history.evenness.verdict, history.worker)]
    if history.other.steps:
        sides.append(('greedy: ', history.other_evenness.clause, history.other))
    for label, verdict, totals in sides:
        yield paint(f'{label}{verdict}.', 'bold')
        yield (
            f'{label}{totals.steps} steps, {totals.checks} checks, {totals.errors} of them with '
            f'errors; {totals.created} nodes created, {totals.deleted} deleted'
            f'{_refused(totals.refused)}; off their ideal '
            f'{totals.mean:.2f} on average, {totals.worst:.1f} at worst'
        )
    if history.worker.unexpected:
        steps = counted(history.worker.unexpected, 'step')
        yield paint(f'{steps} did not end as the scenario expects.', 'red')
