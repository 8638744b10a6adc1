"""The clusters of decision logs, each one as its latest check describes it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from placement_worker.cloud.snapshot import Location, stated_place
from placement_worker.contract import actions, codec, rpc
from placement_worker.contract.action_data import CREATION, ActionData, Placement
from placement_worker.contract.model import Action, Binding, Cluster, Excerpt, in_utc
from placement_worker.decisions import replay, unnamed_victims
from placement_worker.decisions.log_records import MALFORMED, InvalidLine, check_of
from placement_worker.decisions.records import Entry
from placement_worker.errors import InvalidRequest
from placement_worker.policies.base import BEFORE


class _ClusterId(Excerpt, frozen=True):
    """The part of a cluster that identifies it."""

    id: str


class _Head(Excerpt, frozen=True):
    """The part of a request that decides whether to decode the others, which takes longer."""

    cluster: _ClusterId
    dry_run: bool = False


class _Line(NamedTuple):
    """A line of a log."""

    path: str
    number: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class LatestCluster:
    """A cluster as its latest check describes it.

    `entry`: the record of that check. `cluster`: without the nodes that the action deletes.
    `new_places`: the number of nodes that the action creates, by region and zone. The check does
    not describe these nodes. `unnamed_victims`: the number of nodes of `cluster` that the action
    deletes without naming them.
    """

    entry: Entry
    action: str
    cluster: Cluster
    policies: Sequence[Binding]
    new_places: Counter[Location]
    unnamed_victims: Counter[Location]

    @property
    def places(self) -> Counter[Location]:
        """The number of nodes by region and zone."""
        return Counter(map(stated_place, self.cluster.nodes))


def read(paths: Sequence[str]) -> Iterator[LatestCluster | InvalidLine]:
    """Yield the clusters by name; lines that are no records come first.

    Deleted clusters are left out. Dry runs do not count: their nodes may be invented.

    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    latest: dict[str, _Line] = {}
    for path in paths:
        for number, found in replay.entries(path, [msgspec.json.encode(rpc.POLICY_CHECK.name)]):
            try:
                _keep_latest(latest, _Line(path, number, _entry(found)))
            except MALFORMED as exc:
                yield InvalidLine(path, number, str(exc))
    clusters: list[LatestCluster] = []
    for line in latest.values():
        try:
            clusters += _existing(line.entry)
        except MALFORMED as exc:
            yield InvalidLine(line.path, line.number, str(exc))
    yield from sorted(clusters, key=lambda one: (one.cluster.name or '', one.cluster.id))


def _entry(found: Entry | InvalidRequest) -> Entry:
    if isinstance(found, InvalidRequest):
        raise found
    return found


def _keep_latest(latest: dict[str, _Line], line: _Line) -> None:
    """Keep the line if it has a check, and no later one of its cluster is known.

    :raises InvalidRequest: the line has no valid request.
    """
    if line.entry.method != rpc.POLICY_CHECK.name:
        return
    head = codec.decode_encoded(bytes(line.entry.request), _Head)
    known = latest.get(head.cluster.id)
    if not head.dry_run and (known is None or in_utc(known.entry.at) <= in_utc(line.entry.at)):
        latest[head.cluster.id] = line


def _existing(entry: Entry) -> Iterator[LatestCluster]:
    """Yield the cluster of a check, unless the check is that of its deletion.

    :raises InvalidRequest: the request or the reply is not valid any more.
    :raises InvalidInput: the reply has data that no decision has.
    """
    check, reply = check_of(entry)
    data = reply.action.data if check.target == BEFORE else {}
    goes_on = data.get('status') == 'OK'
    if check.action.action == actions.CLUSTER_DELETE and goes_on:
        return
    leaving = set(_victims(check.action, data)) if goes_on else set()
    staying = [node for node in check.cluster.nodes if node.id not in leaving]
    yield LatestCluster(
        entry,
        check.action.action,
        structs.replace(check.cluster, nodes=staying),
        check.policies,
        _new_places(check.action, data) if goes_on else Counter(),
        unnamed_victims.by_place(check.action.action, data) if goes_on else Counter(),
    )


def _victims(action: Action, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the nodes that an action deletes.

    :raises InvalidInput: the data are none of a decision.
    """
    yield from ActionData(data).deletion.candidates or ()
    if action.action == actions.NODE_DELETE and action.node:
        yield action.node.id


def _new_places(action: Action, data: Mapping[str, Any]) -> Counter[Location]:
    """Return the number of nodes that an action creates, by region and zone.

    :raises InvalidInput: the data are none of a decision.
    """
    count = ActionData(data).creation.count if CREATION in data else 0
    if action.action == actions.NODE_CREATE:
        count = 1
    planned = Counter(Placement.of(data.get('placement')).places[:count])
    planned[None, None] += count - planned.total()
    return +planned
