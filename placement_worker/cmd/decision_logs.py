"""The commands that read decision logs: `placement-policy replay`, `why` and `clusters`.

A log may be damaged or of another version, so an invalid line is reported and skipped, and the exit
status says so. Its values come from requests, possibly hostile ones, and are escaped.
"""

import datetime
import shlex
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec
from typing_extensions import override

from placement_worker.cloud.snapshot import counts_in_words, place_in_words
from placement_worker.cmd import output
from placement_worker.cmd.base import INVALID, SOME_ERROR, Lister, row_of
from placement_worker.cmd.output import Paint
from placement_worker.contract.action_data import Location
from placement_worker.decisions import cluster_history, node_history, replay
from placement_worker.decisions.cluster_history import Check, LatestCluster, Summary
from placement_worker.decisions.node_history import Event
from placement_worker.decisions.records import Entry, InvalidLine, LogReader
from placement_worker.formats.text import counted, escaped, escaped_lines, listed, shortened
from placement_worker.policies.registry import Registry

T = TypeVar('T')
Row: TypeAlias = Mapping[str, Any]
MAX_SKIPPED = 5  # skipped lines that have a message of their own
MAX_LATEST = 20  # decisions about a cluster in a table
MAX_VALUE_LENGTH = 100  # characters
_NOT_FOUND = (
    'name the logs of all workers with their rotated files; a request that was refused, failed, '
    'was parked or reached no worker has no decision: look for its cluster in the log of each '
    'worker (journalctl --unit placement-worker) and in "placement-policy parked list"'
)


class _LogCommand(Lister):
    _skipped = 0

    def add_log_argument(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            '--log',
            dest='logs',
            type=LogReader,
            metavar='FILE',
            nargs='+',
            required=True,
            help='decision logs of all workers in any order, compressed by gzip or not',
        )

    @override
    def run(self, parsed_args: Namespace) -> int:
        logs: Sequence[LogReader] = parsed_args.logs
        self.progress.detail = lambda: next(
            (f', {log.path} {log.share:.0%}' for log in logs if 0 < log.share < 1), ''
        )
        return super().run(parsed_args)

    def valid(self, items: Iterable[T | InvalidLine]) -> Iterator[T]:
        """Yield all items but invalid lines, of which the first ones have a message each."""
        for item in items:
            if not isinstance(item, InvalidLine):
                yield item
                continue
            self._skipped += 1
            if self._skipped <= MAX_SKIPPED:
                where = f'{item.path}, line {item.number}'
                self.write_error(f'{where}: {item.error.rstrip()}; skipped the line')

    def write_or_yield(
        self, args: Namespace, rows: Iterable[Row], lines: Iterable[str]
    ) -> Iterator[Row]:
        """Write the lines at once in place of a table; yield the rows for other formats."""
        if args.formatter == 'table':
            self.write('\n'.join(lines))
        else:
            yield from rows

    def end(self, *, failed: bool) -> None:
        """Report the lines that have no message of their own, and set the exit status."""
        if self._skipped > MAX_SKIPPED:
            more = counted(self._skipped - MAX_SKIPPED, 'more line')
            self.write_error(f'Skipped {more}; check that the file is a decision log')
        self.status = INVALID if self._skipped else SOME_ERROR * failed


class Replay(_LogCommand):
    examples = (
        'placement-policy replay /var/log/placement-worker/decisions.jsonl',
        'placement-policy replay decisions.jsonl.2.gz decisions.jsonl.1 decisions.jsonl    '
        '# rotated files',
        'placement-policy replay -f jsonl decisions.jsonl    # one line of JSON per difference',
        'placement-policy replay --request req-24f4a58e decisions.jsonl > request.yaml',
    )
    epilog = (
        'The option [decision_log] file of the worker names the log. Exit status: 0 all decisions '
        'are the same, 1 some decision differs or no request has the id, 2 a log cannot be read '
        'or has invalid lines.'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            'logs',
            type=LogReader,
            metavar='LOG',
            nargs='+',
            help='decision logs; compressed ones end in .gz',
        )
        parser.add_argument(
            '--request',
            metavar='ID',
            help='print the requests with this id as YAML for check and rebalance, without a '
            'replay; checks become dry runs',
        )

    @override
    def rows(self, args: Namespace) -> Iterator[Row]:
        if args.request:
            yield from self._requests(args)
            return
        registry = Registry.installed()
        replayed = different = 0
        for where, entry in self.valid(_entries(args.logs)):
            replayed += 1
            if differences := replay.differences(entry, registry):
                different += 1
                about = {
                    'line': where,
                    'request_id': entry.request_id,
                    'version': entry.version,
                    'packages': entry.packages,
                }
                rows = ({**about, **row_of(difference)} for difference in differences)
                yield from self.write_or_yield(args, rows, self._lines(where, entry, differences))
        self.end(failed=bool(different))
        if args.formatter == 'table':
            version = metadata.version('placement-worker')
            result = self.paint('all the same', 'green') if replayed else 'nothing to compare'
            if different:
                replies = counted(different, 'different reply', 'different replies')
                result = self.paint(replies, 'red')
            self.write(f'{counted(replayed, "decision")} replayed with {version}: {result}')

    def _requests(self, args: Namespace) -> Iterator[Row]:
        is_found = False
        for where, entry in self.valid(_entries(args.logs, msgspec.json.encode(args.request))):
            if entry.request_id == args.request:
                is_found = True
                request: dict[str, Any] = msgspec.json.decode(entry.request)
                request.pop('expires_at', None)
                request |= {'dry_run': True} if entry.method == 'policy_check' else {}
                document = escaped_lines(output.document(request, 'yaml'))
                lines = [escaped(f'# {where}: {_subject(entry)}'), document]
                yield from self.write_or_yield(args, [request], lines)
        self.end(failed=not is_found)
        if self.status == SOME_ERROR:
            self.write_error(f'No request {args.request} in the logs; {_NOT_FOUND}')

    def _lines(self, where: str, entry: Entry, changes: list[replay.Difference]) -> Iterator[str]:
        yield self.paint(f'{where}: {_subject(entry)}', 'bold')
        for difference in changes:
            yield escaped(f'  {difference.at}')
            yield self.paint(f'    - {_short_value(difference.was)}', 'red')
            yield self.paint(f'    + {_short_value(difference.now)}', 'green')


class Why(_LogCommand):
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
    def add_arguments(self, parser: ArgumentParser) -> None:
        # argparse would show NAME last, where it takes the name for a file of --log.
        parser.usage = '%(prog)s NAME --log FILE [FILE ...] [options]'
        parser.add_argument(
            'name', metavar='NAME', help='id or name of a node or a cluster, or id of an action'
        )
        self.add_log_argument(parser)

    @override
    def rows(self, args: Namespace) -> Iterator[Row]:
        logs, name = args.logs, args.name
        has_decisions = False
        for event in self.valid(node_history.events_of_node(logs, name, Registry.installed())):
            has_decisions = True
            yield from self.write_or_yield(args, [row_of(event)], _event_lines(event, self.paint))
        if not has_decisions:
            checks, of_cluster = cluster_history.decisions_about(logs, name)
            has_decisions = bool(checks or of_cluster)
            for check in checks:
                lines = _check_lines(check, self.paint)
                yield from self.write_or_yield(args, [row_of(check.summary)], lines)
            if of_cluster and not checks:
                lines = _cluster_lines(of_cluster, logs)
                yield from self.write_or_yield(args, map(row_of, of_cluster), lines)
        self.end(failed=not has_decisions)
        if self.status == SOME_ERROR:
            self.write_error(
                f'No decision about a node, an action or a cluster {name} in the logs; {_NOT_FOUND}'
            )

    @override
    def _refuse(self, parser: ArgumentParser, message: str) -> NoReturn:
        order = '; put NAME before --log' if message.endswith(' required: NAME') else ''
        super()._refuse(parser, message + order)


class Clusters(_LogCommand):
    has_more = True
    examples = (
        'placement-policy clusters --log /var/log/placement-worker/decisions.jsonl --zone az1',
        'placement-policy clusters --log host1.jsonl host2.jsonl --cluster web -f yaml > web.yaml',
    )
    epilog = (
        'The nodes are those of the latest check of each cluster, without the nodes that its '
        'action deletes, and those that it creates. -f yaml prints files for placement-policy '
        'rebalance. Exit status: 0 clusters were found, 1 none was found, 2 a log cannot be read '
        'or has invalid lines.'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        self.add_log_argument(parser)
        parser.add_argument('--cluster', metavar='NAME', help='only clusters with this id or name')
        parser.add_argument('--zone', help='only clusters with old or new nodes in this zone')
        parser.add_argument('--region', help='only clusters with old or new nodes in this region')

    @override
    def rows(self, args: Namespace) -> Iterable[Row]:
        clusters = list(self.valid(cluster_history.latest_clusters(args.logs)))
        chosen = [cluster for cluster in clusters if _is_chosen(cluster, args)]
        self.end(failed=not chosen)
        if not chosen:
            self.write_error(_no_cluster(clusters, args))
        others = (cluster for cluster in clusters if not _is_chosen(cluster, args))
        if missed := [other for other in others if _is_chosen(other, args, or_unknown=True)]:
            has = 'has' if len(missed) == 1 else 'have'
            self.write_error(
                f'{counted(len(missed), "cluster")} {has} nodes of unknown region or zone: '
                f'{listed(map(_cluster_name, missed))}; compare with Nova'
            )
        if args.formatter == 'yaml':
            for cluster in chosen:
                self._write_file(cluster)
        return map(_cluster_summary if self.is_long(args) else _cluster_row, chosen)

    @override
    def produce_output(self, parsed_args: Namespace, column_names: Sequence[str], data: Any) -> int:
        if parsed_args.formatter == 'yaml':  # `rows` has written files
            return 0
        return super().produce_output(parsed_args, column_names, data)

    def _write_file(self, cluster: LatestCluster) -> None:
        new, gone = cluster.new_places, cluster.unnamed_victims
        missing = f'; without {counted(new.total(), "node")} to create' if new else ''
        extra = f'; with {counted(gone.total(), "node")} to delete' if gone else ''
        name, decided = _cluster_name(cluster), f'decided {_time(cluster.entry.at)}'
        self.write(escaped(f'# {name}: {cluster.action} {decided}{missing}{extra}'))
        file = {'cluster': cluster.cluster, 'policies': cluster.policies}
        self.write(output.document(file, 'yaml'))
        # A pipe to rebalance hides the comment.
        warning = f'Warning: the file of cluster {name}'
        check = f'{cluster.action}, {decided}'
        if new:
            self.write_error(
                f'{warning} lacks the nodes to create by {check} ({listed(counts_in_words(new))}); '
                'if they exist, the file is out of date: correct its nodes before a plan'
            )
        if gone:
            self.write_error(
                f'{warning} has the nodes to delete by {check} ({listed(counts_in_words(gone))}), '
                'which the engine chose: remove them before a plan'
            )


def _entries(
    logs: Sequence[LogReader], text: bytes = b''
) -> Iterator[tuple[str, Entry] | InvalidLine]:
    for log in logs:
        for number, entry in log.entries((text,)):
            if isinstance(entry, Entry):
                yield f'{log.path}, line {number}', entry
            else:
                yield InvalidLine(log.path, number, str(entry))


def _subject(entry: Entry) -> str:
    action: Any = msgspec.json.decode(entry.request).get('action')
    what = action.get('action') if isinstance(action, dict) else entry.method
    request = f'request {entry.request_id}, ' if entry.request_id else ''
    versions = ', '.join([entry.version, *entry.packages])
    return f'{what}, {request}decided {_time(entry.at)} by {versions}'


def _short_value(value: object) -> str:
    return shortened(msgspec.json.encode(value).decode(), MAX_VALUE_LENGTH)


def _event_lines(event: Event, paint: Paint) -> Iterator[str]:
    action = ' '.join(filter(None, (event.action, event.action_id)))
    title = escaped(f'{_time(event.at)}  {action}  node {event.node} ')
    yield title + paint(event.event, 'bold') + escaped(f': {event.text}')
    place = f', {event.place}' if event.place else ''
    yield escaped(f'{output.INDENT}cluster {event.cluster}{place}{_request(event)}')
    yield escaped(f'{output.INDENT}{_worker(event)}')
    yield from (escaped(f'{output.INDENT}policy {policy}') for policy in event.policies)
    yield from (escaped(f'{output.INDENT}warning {warning}') for warning in event.warnings)
    if event.places:
        hidden = () if event.event == 'placed' else output.HIDDEN_IN_DELETIONS
        yield textwrap.indent(output.table(event.places, hidden), output.INDENT)


def _check_lines(check: Check, paint: Paint) -> Iterator[str]:
    summary = check.summary
    about = f'{"dry run of " if summary.dry_run else ""}action {summary.action_id}'
    yield escaped(f'{_time(summary.at)}  {about}{_request(summary)}, {_worker(summary)}')
    if summary.nodes:
        yield escaped(f'{output.INDENT}nodes: {listed(summary.nodes)}')
    yield from output.check_lines(check.reply, check.request, paint)


def _cluster_lines(decisions: Sequence[Summary], logs: Sequence[LogReader]) -> Iterator[str]:
    latest = decisions[-MAX_LATEST:]
    number = f'{len(latest)} of {counted(len(decisions), "decision")}'
    yield escaped(f'Cluster {latest[-1].cluster}, the latest {number}:')
    yield output.table(list(map(_decision_row, latest)))
    if ids := [decision.action_id for decision in latest if decision.action_id]:
        paths = (log.path for log in logs)
        command = shlex.join(['placement-policy', 'why', ids[-1], '--log', *paths])
        yield escaped(f'Show the policies and places of an action: {command}')


def _decision_row(decision: Summary) -> dict[str, Any]:
    return {
        'time': _time(decision.at),
        'action': [decision.action, decision.action_id or 'no action id'],
        'check': [decision.target or '-', *['dry run'] * decision.dry_run],
        'places': [
            *(f'to create in {place}: {count}' for place, count in decision.to_create.items()),
            *(f'to delete in {place}: {count}' for place, count in decision.to_delete.items()),
        ],
        'outcome': [decision.status, *map(shortened, (decision.reason, *decision.warnings))],
    }


def _request(decision: Event | Summary) -> str:
    return f', request {decision.request_id}' if decision.request_id else ''


def _worker(decision: Event | Summary) -> str:
    host = f' on {decision.host}' if decision.host else ''
    return ', '.join([f'worker {decision.version}{host}', *decision.packages])


def _is_chosen(cluster: LatestCluster, args: Namespace, *, or_unknown: bool = False) -> bool:
    """Return whether a cluster matches the options, also with nodes of unknown place."""

    def fits(wanted: str | None, name: str | None) -> bool:
        return wanted in (None, name) or (or_unknown and name is None)

    is_placed = any(
        fits(args.region, region) and fits(args.zone, zone)
        for region, zone in (*cluster.places, *cluster.new_places)
    )
    return _is_named(cluster, args.cluster) and (is_placed or not (args.zone or args.region))


def _is_named(cluster: LatestCluster, name: str | None) -> bool:
    return name in (None, cluster.cluster.id, cluster.cluster.name)


def _no_cluster(clusters: Sequence[LatestCluster], args: Namespace) -> str:
    if not clusters:
        return 'The logs have no check of a cluster; name the logs of all workers'
    if not any(_is_named(cluster, args.cluster) for cluster in clusters):
        names = listed(map(_cluster_name, clusters))
        return f'No check of cluster {args.cluster} in the logs; their clusters are {names}'
    places = {place for cluster in clusters for place in (*cluster.places, *cluster.new_places)}
    words = listed(sorted(map(place_in_words, places)))
    return f'No such cluster has nodes in this place; the logs have nodes in {words}'


def _cluster_row(cluster: LatestCluster) -> dict[str, Any]:
    request_id = cluster.entry.request_id or 'no request id'
    return {
        'cluster': _cluster_name(cluster),
        'project': cluster.cluster.project,
        'nodes': [
            *counts_in_words(cluster.places),
            *(f'to create in {text}' for text in counts_in_words(cluster.new_places)),
            *(f'to delete in {text}' for text in counts_in_words(cluster.unnamed_victims)),
        ],
        'latest_check': [_time(cluster.entry.at), cluster.action, request_id],
    }


def _cluster_summary(cluster: LatestCluster) -> dict[str, Any]:
    return {
        'cluster': cluster.cluster.id,
        'name': cluster.cluster.name,
        'project': cluster.cluster.project,
        'nodes': len(cluster.cluster.nodes),
        'places': _place_rows(cluster.places),
        'to_create': _place_rows(cluster.new_places),
        'to_delete': _place_rows(cluster.unnamed_victims),
        'at': msgspec.to_builtins(cluster.entry.at),
        'action': cluster.action,
        'request_id': cluster.entry.request_id,
    }


def _place_rows(places: Mapping[Location, int]) -> list[dict[str, Any]]:
    return [
        {'region': region, 'zone': zone, 'nodes': nodes} for (region, zone), nodes in places.items()
    ]


def _cluster_name(cluster: LatestCluster) -> str:
    return cluster.cluster.name or cluster.cluster.id


def _time(moment: datetime.datetime) -> str:
    return moment.isoformat(timespec='seconds')
