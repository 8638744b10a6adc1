"""The command `placement-policy why`."""

import argparse
import shlex
from collections.abc import Sequence
from typing import NoReturn

import msgspec
from typing_extensions import override

from placement_worker.cmd import decision_logs, decision_tables, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.decision_logs import SkippedLines
from placement_worker.decisions import action_history, node_history
from placement_worker.decisions.history_events import Event
from placement_worker.decisions.log_records import InvalidLine
from placement_worker.formats.text import escaped, listed
from placement_worker.policies.registry import Registry


class Why(LocalCommand):
    """The command `why`."""

    examples = (
        'placement-policy why n4 --log /var/log/placement-worker/decisions.jsonl',
        'placement-policy why n4 --log decisions.jsonl.2.gz decisions.jsonl.1 decisions.jsonl',
        'placement-policy why web --log decisions.jsonl    # the latest actions of cluster web',
        'placement-policy why n4 --log decisions.jsonl -f jsonl    # one line of JSON per event',
    )
    epilog = (
        'For a node, the output has its events; for an action, its checks; for a cluster, its '
        'latest decisions. The option [decision_log] file of the worker names the log. Exit '
        'status: 0 the log has decisions about NAME, 1 it has none, 2 a log cannot be read or has '
        'invalid lines.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        # argparse would show NAME last, where it takes the name for a file of --log.
        parser.usage = '%(prog)s [-h] NAME --log FILE [FILE ...] [-f {table,jsonl}]'
        parser.add_argument(
            'name', metavar='NAME', help='id or name of a node or a cluster, or id of an action'
        )
        decision_logs.add_argument(parser)
        output.add_format_argument(parser, ('table', 'jsonl'))

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        skipped, shown = SkippedLines(self), 0
        for found in node_history.read(parsed_args.logs, parsed_args.name, Registry.installed()):
            if isinstance(found, InvalidLine):
                skipped.skip(found.path, found.number, found.error)
                continue
            shown += 1
            if parsed_args.format == 'jsonl':
                self.write(escaped(msgspec.json.encode(found).decode()))
            else:
                self.write(self._described(found))
        shown = shown or self._show_decisions(parsed_args)
        skipped.summarize()
        if skipped.number or shown:
            return INVALID if skipped.number else OK
        self.write_error(_nothing_found(parsed_args.logs, parsed_args.name))
        return SOME_ERROR

    def _show_decisions(self, args: argparse.Namespace) -> int:
        """Show the checks of an action, or the decisions about a cluster; return their number."""
        checks, of_cluster = action_history.read(args.logs, args.name)
        summaries = [check.summary for check in checks] or of_cluster
        if args.format == 'jsonl':
            for one in summaries:
                self.write(escaped(msgspec.json.encode(one).decode()))
        elif checks:
            for check in checks:
                self.write(decision_tables.of_check(check, Paint.of(self.app.stdout)))
        elif of_cluster:
            self.write(decision_tables.of_cluster(of_cluster, args.logs))
        return len(summaries)

    @override
    def _refuse(self, prog_name: str, message: str) -> NoReturn:
        order = '; put NAME before --log' if message.endswith(' required: NAME') else ''
        super()._refuse(prog_name, message + order)

    def _described(self, event: Event) -> str:
        paint = Paint.of(self.app.stdout)
        about = ' '.join(filter(None, (event.action, event.action_id)))
        lines = [
            escaped(f'{decision_tables.time_of(event)}  {about}  node {event.node} ')
            + paint(event.event, 'bold')
            + escaped(f': {event.text}')
        ]
        about = f'{output.INDENT}cluster {event.cluster}'
        about += f', {event.place}' if event.place else ''
        about += f', request {event.request_id}' if event.request_id else ''
        lines.append(escaped(about))
        lines.append(escaped(f'{output.INDENT}{decision_tables.worker_of(event)}'))
        lines += [escaped(f'{output.INDENT}policy {policy}') for policy in event.policies]
        lines += [escaped(f'{output.INDENT}warning {warning}') for warning in event.warnings]
        if event.places:
            hidden = () if event.event == 'placed' else output.HIDDEN_IN_DELETIONS
            drawn = output.table(event.places, hidden)
            lines += [output.INDENT + line for line in drawn.splitlines()]
        return '\n'.join(lines)


def _nothing_found(logs: Sequence[str], name: str) -> str:
    """Return the error that no decision concerns a name, with the clusters of such a node."""
    clusters = node_history.clusters(logs, name)
    if not clusters:
        return (
            f'No decision about a node, an action or a cluster {name} in the logs; '
            f'{decision_logs.NOT_FOUND}'
        )
    command = shlex.join(['placement-policy', 'why', clusters[0], '--log', *logs])
    return (
        f'No decision names node {name} of cluster {listed(clusters)}; for the decisions about '
        f'the cluster, run: {command}'
    )
