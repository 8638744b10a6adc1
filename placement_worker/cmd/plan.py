"""The command `placement-policy plan`: a dry run as a diff of places, victims and pool members.

Everything that a request or a plugin may have written is escaped before columns are aligned: an
escape character in a name would otherwise shift the columns or control the terminal.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker.cmd import output, plan_changes
from placement_worker.cmd.output import Paint, Style
from placement_worker.cmd.plan_changes import Changes, PlaceChange, PoolChange, Victim
from placement_worker.cmd.request_files import FilesCommand, check_request_of, decided
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest
from placement_worker.formats.documents import Document
from placement_worker.formats.text import counted, escaped

UNCHANGED, FAILED, CHANGED = 0, 1, 2
_SHOWN_SEPARATELY = ('pool', 'added', 'removed', 'updates', 'estimated_s')


class Plan(FilesCommand):
    request_type = CheckRequest
    error_status = FAILED
    severity = (UNCHANGED, CHANGED, FAILED)
    examples = (
        'placement-policy plan examples/scale-in.yaml    # victims with their reasons',
        'placement-policy plan --cloud cloud.yaml request.yaml -f json',
        'placement-policy plan --config-file /etc/placement-worker/operator.conf request.yaml',
    )
    epilog = (
        'Exit status: 0 nothing would change, 2 something would change, 1 a check ended in ERROR, '
        'a request was invalid, or no worker replied. The exit status of check differs.'
    )

    @override
    def handle(self, caller: Caller, document: Document, args: argparse.Namespace) -> int:
        request = check_request_of(caller, document.data, 'full')
        request = msgspec.structs.replace(request, dry_run=True)
        changes = plan_changes.compare(request, decided(caller, request))
        self.write_result(args.format, changes, plan_lines(changes, self.paint))
        self.note_shipped_cloud(args, document)
        if changes.status != 'OK':
            return FAILED
        return CHANGED if changes.any else UNCHANGED


def plan_lines(changes: Changes, paint: Paint) -> Iterator[str]:
    yield from output.warnings(changes.warnings, paint)
    title = f'{changes.action} of cluster {changes.cluster}, {changes.target}'
    if changes.status != 'OK':
        yield paint(f'{title}: {changes.status}', 'bold')
        yield f'{paint("!", "red")} {escaped(changes.reason)}'
        for key, value in changes.details.items():
            yield from output.detail(key, value)
        yield ''
        return
    after = changes.size + changes.created - changes.deleted
    growth = f' -> {after}' if after != changes.size else ''
    yield paint(f'{title}: {counted(changes.size, "node")}{growth}', 'bold')
    yield ''
    for section in _sections(changes, paint):
        yield from section
        yield ''
    yield _summary(changes, paint)
    yield ''


def _sections(changes: Changes, paint: Paint) -> Iterator[Iterable[str]]:
    for key, rows in changes.places.items():
        yield _places(key, rows, paint)
    if changes.victims:
        victims = list(_victims(changes.victims, paint))
        yield ['To be deleted, in this order:', *output.shortened(victims)]
    if changes.protected:
        cells = [
            (node.id, node.place, f'until {node.until}' if node.until else '', node.reason)
            for node in changes.protected
        ]
        nodes = [f'    {row}' for row in _aligned(cells)]
        yield ['Protected from deletion:', *output.shortened(nodes)]
    for pool in changes.pools:
        yield _pool(pool, paint)
    if changes.wait_s:
        yield [f'Wait: {output.drain_sentence(changes.wait_s)}']


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
    rows = [(node.id, node.place, node.reason, node.status) for node in victims]
    return (f'  {paint("- " + row, "red")}' for row in _aligned(rows))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    rows = [tuple(map(escaped, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f'{text:<{width}}' for text, width in zip(row, widths, strict=True))
        yield '  '.join(cells).rstrip()


def _pool(pool: PoolChange, paint: Paint) -> Iterator[str]:
    details = pool.details
    name = details.get('pool')
    yield escaped(f'Pool{f" {name}" if name else ""} ({pool.policy}):')
    removed, added = (_members(details.get(key)) for key in ('removed', 'added'))
    yield from output.shortened([f'  {paint(f"- {member}", "red")}' for member in removed])
    yield from output.shortened([f'  {paint(f"+ {member}", "green")}' for member in added])
    has_cost = pool.is_changed or bool(details.get('updates'))
    for key, value in details.items():
        if key == 'api_calls' and not has_cost:
            continue
        if key not in _SHOWN_SEPARATELY and value not in (None, [], {}, 0, ''):
            yield escaped(f'    {key.replace("_", " ")}: {_detail_value(value)}')
    updates = details.get('updates')
    if has_cost and updates is not None:
        seconds = details.get('estimated_s')
        about = f', about {seconds:g} s' if isinstance(seconds, (int, float)) else ''
        yield escaped(f'    {_updates(updates)}{about}')


def _members(members: Any) -> Sequence[str]:
    """Return node ids, which a plugin may also give as the keys of a mapping or as a count."""
    if isinstance(members, (list, tuple, Mapping)):
        return [str(member) for member in members]
    return [counted(members, 'node')] if isinstance(members, int) and members else []


def _detail_value(value: Any) -> str:
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
    moved = changes.created + changes.deleted
    if moved and not changes.is_decided:
        verb, nodes = 'placed' if changes.created else 'chose', 'node' if moved == 1 else 'nodes'
        summary += f'; no policy {verb} the {nodes}: {_reasons(changes)}'
    return paint('Plan: ', 'bold') + escaped(summary) + '. Nothing was done.'


def _reasons(changes: Changes) -> str:
    if not changes.policies:
        return 'the request has no policies'
    reasons = dict.fromkeys(policy.reason for policy in changes.skipped)
    return '; '.join(reasons) or changes.reason.rstrip('.')


def _updates(count: object) -> str:
    return counted(count, 'load-balancer update')
