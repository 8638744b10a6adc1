"""The command `placement-policy why`."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

import msgspec
from typing_extensions import override

from placement_worker.cmd import decision_logs, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.decision_logs import SkippedLines
from placement_worker.decisions import node_history
from placement_worker.decisions.history_events import Event
from placement_worker.decisions.log_records import InvalidLine
from placement_worker.formats.text import escaped, listed
from placement_worker.policies.registry import Registry


class Why(LocalCommand):
    """The command `why`."""

    examples = (
        'placement-policy why n4 --log /var/log/placement-worker/decisions.jsonl',
        'placement-policy why n4 --log decisions.jsonl.2.gz decisions.jsonl.1 decisions.jsonl',
        'placement-policy why n4 --log decisions.jsonl -f jsonl    # one line of JSON per event',
    )
    epilog = (
        'The option [decision_log] file of the worker names the log. Exit status: 0 the log has '
        'events of the node, 1 it has none, 2 a log cannot be read or has invalid lines.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('node', metavar='NODE', help='id or name of a node')
        decision_logs.add_argument(parser)
        output.add_format_argument(parser, ('table', 'jsonl'))

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        skipped, shown = SkippedLines(self), 0
        for found in node_history.read(parsed_args.logs, parsed_args.node, Registry.installed()):
            if isinstance(found, InvalidLine):
                skipped.skip(found.path, found.number, found.error)
                continue
            shown += 1
            if parsed_args.format == 'jsonl':
                self.write(escaped(msgspec.json.encode(found).decode()))
            else:
                self.write(self._described(found))
        skipped.summarize()
        if skipped.number or shown:
            return INVALID if skipped.number else OK
        self.write_error(_nothing_found(parsed_args.logs, parsed_args.node))
        return SOME_ERROR

    @override
    def _refuse(self, prog_name: str, message: str) -> NoReturn:
        # argparse takes a node after --log for a file.
        order = '; put NODE before --log' if message.endswith(' required: NODE') else ''
        super()._refuse(prog_name, message + order)

    def _described(self, event: Event) -> str:
        paint = Paint.of(self.app.stdout)
        about = ' '.join(filter(None, (event.action, event.action_id)))
        lines = [
            escaped(f'{event.at.isoformat(timespec="seconds")}  {about}  node {event.node} ')
            + paint(event.event, 'bold')
            + escaped(f': {event.text}')
        ]
        about = f'{output.INDENT}cluster {event.cluster}'
        about += f', {event.place}' if event.place else ''
        about += f', request {event.request_id}' if event.request_id else ''
        lines.append(escaped(about))
        lines.append(escaped(f'{output.INDENT}{_worker(event.version, event.host)}'))
        lines += [escaped(f'{output.INDENT}policy {policy}') for policy in event.policies]
        if event.places:
            lines += [output.INDENT + line for line in output.table(event.places).splitlines()]
        return '\n'.join(lines)


def _worker(version: str, host: str | None) -> str:
    return f'worker {version}' + (f' on {host}' if host else '')


def _nothing_found(logs: Sequence[str], name: str) -> str:
    """Return the error for a name that no event has; an action or a cluster may have it."""
    found = node_history.namesake(logs, name)
    if found is None:
        return (
            f'No decision about node {name} in the logs; name the logs of all workers with their '
            'rotated files, and the node by its id or name'
        )
    remedy = f'name one of its nodes: {listed(found.nodes)}' if found.nodes else 'it has no nodes'
    return f'{name} is {found.kind}, not a node; {remedy}'
