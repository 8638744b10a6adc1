"""Show changes as a diff: a plus marks additions, a minus marks removals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from placement_worker.cmd import draining, output
from placement_worker.cmd.colors import PLAIN, Paint, Style
from placement_worker.cmd.plan_changes import (
    Changes,
    PlaceChange,
    PoolChange,
    ProtectedNode,
    Victim,
)
from placement_worker.formats.text import counted, escaped

_SHOWN_SEPARATELY = ('pool', 'added', 'removed', 'updates', 'estimated_s')


def shown(changes: Changes, paint: Paint = PLAIN) -> list[str]:
    """Return the lines of one plan, with an empty line at the end."""
    return [*_lines(changes, paint), '']


def _lines(changes: Changes, paint: Paint) -> Iterator[str]:
    yield from output.warnings(changes.warnings, paint)
    title = f'{changes.action} of cluster {changes.cluster}, {changes.target}'
    if changes.status != 'OK':
        yield paint(f'{title}: {changes.status}', 'bold')
        yield from _failure(changes, paint)
        return
    yield paint(f'{title}: {_size(changes)}', 'bold')
    yield ''
    for section in _sections(changes, paint):
        yield from section
        yield ''
    yield _summary(changes, paint)


def _failure(changes: Changes, paint: Paint) -> Iterator[str]:
    yield f'{paint("!", "red")} {escaped(changes.reason)}'
    for key, value in changes.details.items():
        yield from output.detail(key, value)


def _size(changes: Changes) -> str:
    after = changes.size + changes.created - changes.deleted
    before = counted(changes.size, 'node')
    return before if after == changes.size else f'{before} -> {after}'


def _sections(changes: Changes, paint: Paint) -> Iterator[Iterable[str]]:
    for key, rows in changes.places.items():
        yield _places(key, rows, paint)
    if changes.victims:
        yield ['To be deleted, in this order:', *_victims(changes.victims, paint)]
    if changes.protected:
        yield ['Protected from deletion:', *_protected(changes.protected)]
    for pool in changes.pools:
        yield _pool(pool, paint)
    if changes.wait_s:
        yield [f'Wait: {draining.sentence(changes.wait_s)}']


def _places(key: str, rows: Sequence[PlaceChange], paint: Paint) -> Iterator[str]:
    names = [escaped(row.name) for row in rows]
    width = max(map(len, names))
    digits = max(len(str(number)) for row in rows for number in (row.before, row.after))
    yield f'{key.capitalize()}:'
    for name, row in zip(names, rows, strict=True):
        sign, style = _sign(row.after - row.before)
        change = f'{row.after - row.before:+d}' if sign != ' ' else ''
        counts = f'{row.before:>{digits}} -> {row.after:>{digits}}'
        line = f'{sign} {name:<{width}}  {counts}  {change:<6} {row.note}'
        yield f'  {paint(line.rstrip(), style)}'


def _sign(difference: int) -> tuple[str, Style]:
    if difference > 0:
        return '+', 'green'
    return ('-', 'red') if difference else (' ', 'dim')


def _victims(victims: Sequence[Victim], paint: Paint) -> Iterator[str]:
    for line in _aligned(list(map(_cells, victims))):
        yield f'  {paint("- " + line, "red")}'


def _protected(nodes: Sequence[ProtectedNode]) -> Iterator[str]:
    rows = [
        (one.id, one.place, f'until {one.until}' if one.until else '', one.reason) for one in nodes
    ]
    return (f'    {line}' for line in _aligned([tuple(map(escaped, row)) for row in rows]))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f'{text:<{width}}' for text, width in zip(row, widths, strict=True))
        yield '  '.join(cells).rstrip()


def _cells(victim: Victim) -> tuple[str, ...]:
    return tuple(map(escaped, (victim.id, victim.place, victim.reason, victim.status)))


def _pool(pool: PoolChange, paint: Paint) -> Iterator[str]:
    """Yield the members to remove and to add, the other details, and the cost of a change."""
    details = pool.details
    name = details.get('pool')
    yield escaped(f'Pool{f" {name}" if name else ""} ({pool.policy}):')
    yield from (f'  {paint(f"- {member}", "red")}' for member in _members(details.get('removed')))
    yield from (f'  {paint(f"+ {member}", "green")}' for member in _members(details.get('added')))
    has_cost = pool.is_changed or bool(details.get('updates'))
    for key, value in details.items():
        if key == 'api_calls' and not has_cost:
            continue
        if key not in _SHOWN_SEPARATELY and value not in (None, [], {}, 0, ''):
            yield escaped(f'    {key.replace("_", " ")}: {_shown(value)}')
    updates = details.get('updates')
    if has_cost and updates is not None:
        seconds = details.get('estimated_s')
        about = f', about {seconds:g} s' if isinstance(seconds, (int, float)) else ''
        yield escaped(f'    {_updates(updates)}{about}')


def _members(members: Any) -> Sequence[str]:
    """Return the node ids of a list or of the keys of a mapping, or a count in words."""
    if isinstance(members, (list, tuple, Mapping)):
        return [str(member) for member in members]
    return [counted(members, 'node')] if isinstance(members, int) and members else []


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ', '.join(f'{key}: {what}' for key, what in value.items())
    return ', '.join(map(str, value)) if isinstance(value, list) else str(value)


def _summary(changes: Changes, paint: Paint) -> str:
    if not changes.any:
        return paint('Policies change nothing: ', 'bold') + escaped(_reasons(changes))
    counts = [f'{counted(changes.created, "node")} to create'] * bool(changes.created)
    counts += [f'{counted(changes.deleted, "node")} to delete'] * bool(changes.deleted)
    counts += [
        _updates(pool.details['updates']) for pool in changes.pools if pool.details.get('updates')
    ]
    counts = counts or [f'the data of {counted(len(changes.patched), "node")} to change']
    summary = ', '.join(counts)
    if not changes.is_decided and (changes.created or changes.deleted):
        summary += f'; {_undecided(changes)}: {_reasons(changes)}'
    return paint('Plan: ', 'bold') + escaped(summary) + '. Nothing was done.'


def _undecided(changes: Changes) -> str:
    nodes = 'node' if changes.created + changes.deleted == 1 else 'nodes'
    return f'no policy {"placed" if changes.created else "chose"} the {nodes}'


def _reasons(changes: Changes) -> str:
    """Return the reasons why policies change nothing, else that of the reply."""
    if not changes.policies:
        return 'the request has no policies'
    reasons = dict.fromkeys(one.reason for one in changes.skipped)
    return '; '.join(reasons) or changes.reason.rstrip('.')


def _updates(count: object) -> str:
    return counted(count, 'load-balancer update')
