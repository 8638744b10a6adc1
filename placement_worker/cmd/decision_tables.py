"""Tables of the decisions about an action or a cluster, for `placement-policy why`."""

import shlex
from collections.abc import Sequence
from typing import Any

from placement_worker.cmd import output
from placement_worker.cmd.colors import Paint
from placement_worker.decisions.action_history import Check, Summary
from placement_worker.decisions.history_events import Event
from placement_worker.formats.text import counted, escaped, listed, shortened

MAX_LATEST = 20
"""The number of decisions about a cluster that the table shows."""


def of_check(check: Check, paint: Paint) -> str:
    """Return a check of an action as `placement-policy check` shows it, below its circumstances."""
    one = check.summary
    about = f'{"dry run of " if one.dry_run else ""}action {one.action_id}'
    about += f', request {one.request_id}' if one.request_id else ''
    lines = [escaped(f'{time_of(one)}  {about}, {worker_of(one)}')]
    if one.nodes:
        lines.append(escaped(f'{output.INDENT}nodes: {listed(one.nodes)}'))
    lines.append(output.check_reply(check.reply, check.request, 'table', paint))
    return '\n'.join(lines)


def of_cluster(found: Sequence[Summary], logs: Sequence[str]) -> str:
    """Return the latest decisions about a cluster, and the command that shows one of them.

    :param logs: the files of this command.
    """
    latest = found[-MAX_LATEST:]
    number = f'{len(latest)} of {counted(len(found), "decision")}'
    lines = [
        escaped(f'Cluster {latest[-1].cluster}, the latest {number}:'),
        output.table([_row(one) for one in latest]),
    ]
    ids = [one.action_id for one in latest if one.action_id]
    if ids:
        command = shlex.join(['placement-policy', 'why', ids[-1], '--log', *logs])
        lines.append(escaped(f'Show the policies and places of an action: {command}'))
    return '\n'.join(lines)


def _row(one: Summary) -> dict[str, Any]:
    return {
        'time': time_of(one),
        'action': [one.action, one.action_id or 'no action id'],
        'check': [one.target or '-', *['dry run'] * one.dry_run],
        'places': [
            *(f'to create in {place}: {count}' for place, count in one.to_create.items()),
            *(f'to delete in {place}: {count}' for place, count in one.to_delete.items()),
        ],
        'outcome': [one.status, *map(shortened, (one.reason, *one.warnings))],
    }


def time_of(one: Event | Summary) -> str:
    """Return the time of a decision."""
    return one.at.isoformat(timespec='seconds')


def worker_of(one: Event | Summary) -> str:
    """Return the version and the host of the worker, and the packages of the record, if any."""
    worker = f'worker {one.version}' + (f' on {one.host}' if one.host else '')
    return ', '.join([worker, *one.packages])
