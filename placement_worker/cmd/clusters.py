"""The command `placement-policy clusters`."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker.cloud.stated_places import Location, counts_in_words, in_words
from placement_worker.cmd import decision_logs, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, LocalCommand
from placement_worker.cmd.decision_logs import SkippedLines
from placement_worker.decisions import latest_clusters
from placement_worker.decisions.latest_clusters import LatestCluster
from placement_worker.decisions.log_records import InvalidLine
from placement_worker.formats.text import counted, escaped, listed


class Clusters(LocalCommand):
    """The command `clusters`."""

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
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        decision_logs.add_argument(parser)
        parser.add_argument('--cluster', metavar='NAME', help='only clusters with this id or name')
        parser.add_argument('--zone', help='only clusters with old or new nodes in this zone')
        parser.add_argument('--region', help='only clusters with old or new nodes in this region')
        output.add_format_argument(parser, ('table', 'yaml', 'jsonl'))

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        skipped, clusters = SkippedLines(self), []
        for found in latest_clusters.read(parsed_args.logs):
            if isinstance(found, InvalidLine):
                skipped.skip(found.path, found.number, found.error)
            else:
                clusters.append(found)
        skipped.summarize()
        chosen = [one for one in clusters if _is_chosen(one, parsed_args)]
        if chosen:
            self._show(chosen, parsed_args.format)
        else:
            self.write_error(_nothing_found(clusters, parsed_args))
        return INVALID if skipped.number else OK if chosen else SOME_ERROR

    def _show(self, clusters: Sequence[LatestCluster], form: str) -> None:
        if form == 'table':
            self.write(output.table([_row(one) for one in clusters]))
        for one in clusters if form == 'jsonl' else ():
            self.write(escaped(msgspec.json.encode(_summary(one)).decode()))
        for one in clusters if form == 'yaml' else ():
            self.write(escaped(f'# {_about(one)}'))
            file = {'cluster': one.cluster, 'policies': one.policies}
            self.write(output.document(file, 'yaml'))
            for warning in _warnings(one):  # a pipe to rebalance hides the comment
                self.write_error(f'Warning: {warning}')


def _is_chosen(one: LatestCluster, args: argparse.Namespace) -> bool:
    is_named = args.cluster in (None, one.cluster.id, one.cluster.name)
    is_placed = any(_is_in(place, args) for place in (*one.places, *one.new_places))
    return is_named and (is_placed or not (args.zone or args.region))


def _is_in(place: Location, args: argparse.Namespace) -> bool:
    region, zone = place
    return args.region in (None, region) and args.zone in (None, zone)


def _nothing_found(clusters: Sequence[LatestCluster], args: argparse.Namespace) -> str:
    """Return the error that no cluster was found, with what the logs have."""
    if not clusters:
        return 'The logs have no check of a cluster; name the logs of all workers'
    if args.cluster and not any(args.cluster in (c.cluster.id, c.cluster.name) for c in clusters):
        names = listed(map(_name, clusters))
        return f'No check of cluster {args.cluster} in the logs; their clusters are {names}'
    found = {place for one in clusters for place in (*one.places, *one.new_places)}
    places = sorted(map(in_words, found))
    return f'No such cluster has nodes in this place; the logs have nodes in {listed(places)}'


def _row(one: LatestCluster) -> dict[str, Any]:
    return {
        'cluster': _name(one),
        'project': one.cluster.project,
        'nodes': [
            *counts_in_words(one.places),
            *(f'to create in {text}' for text in counts_in_words(one.new_places)),
            *(f'to delete in {text}' for text in counts_in_words(one.unnamed_victims)),
        ],
        'latest_check': [
            _time(one),
            one.action,
            one.entry.request_id or 'no request id',
        ],
    }


def _summary(one: LatestCluster) -> dict[str, Any]:
    return {
        'cluster': one.cluster.id,
        'name': one.cluster.name,
        'project': one.cluster.project,
        'nodes': len(one.cluster.nodes),
        'places': _rows(one.places),
        'to_create': _rows(one.new_places),
        'to_delete': _rows(one.unnamed_victims),
        'at': one.entry.at,
        'action': one.action,
        'request_id': one.entry.request_id,
    }


def _about(one: LatestCluster) -> str:
    """Return the cluster and its check in words, with the nodes that the document lacks."""
    check = f'{one.action} decided {_time(one)}'
    new, gone = one.new_places.total(), one.unnamed_victims.total()
    missing = f'; without {counted(new, "node")} to create' if new else ''
    extra = f'; with {counted(gone, "node")} to delete' if gone else ''
    return f'{_name(one)}: {check}{missing}{extra}'


def _warnings(one: LatestCluster) -> Iterator[str]:
    """Yield the warnings that a plan of the document would leave out nodes, or has too many."""
    check = f'{one.action}, decided {_time(one)}'
    if one.new_places:
        yield (
            f'the file of cluster {_name(one)} lacks the nodes to create by {check} '
            f'({listed(counts_in_words(one.new_places))}); if they exist, the file is out of date: '
            'correct its nodes before a plan'
        )
    if one.unnamed_victims:
        yield (
            f'the file of cluster {_name(one)} has the nodes to delete by {check} '
            f'({listed(counts_in_words(one.unnamed_victims))}), which the engine chose: remove '
            'them before a plan'
        )


def _name(one: LatestCluster) -> str:
    return one.cluster.name or one.cluster.id


def _time(one: LatestCluster) -> str:
    return one.entry.at.isoformat(timespec='seconds')


def _rows(places: Mapping[Location, int]) -> list[dict[str, Any]]:
    return [
        {'region': region, 'zone': zone, 'nodes': nodes} for (region, zone), nodes in places.items()
    ]
