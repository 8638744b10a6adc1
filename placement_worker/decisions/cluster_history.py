"""Clusters in decision logs: their latest state, and the decisions about a cluster or an action.

A record has the cluster as the engine sent it before the action. Its nodes are therefore corrected
by what the reply lets the engine create and delete.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from placement_worker.cloud.snapshot import Location, stated_place
from placement_worker.contract import actions, codec, rpc
from placement_worker.contract.action_data import CREATION, ActionData, Placement
from placement_worker.contract.model import (
    Action,
    Binding,
    BindReply,
    CheckReply,
    CheckRequest,
    Cluster,
    Decision,
    Excerpt,
    in_utc,
)
from placement_worker.decisions import records
from placement_worker.decisions.node_history import unnamed_victims
from placement_worker.decisions.records import (
    MALFORMED,
    DecodedEntry,
    Entry,
    InvalidLine,
    check_of,
    data_of_action,
)
from placement_worker.errors import InvalidRequest
from placement_worker.policies.base import BEFORE


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


def latest_clusters(paths: Sequence[str]) -> Iterator[LatestCluster | InvalidLine]:
    """Yield the clusters by name; lines that are no records come first.

    Deleted clusters are left out. Dry runs do not count: their nodes may be invented.

    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    latest: dict[str, _Line] = {}
    for path in paths:
        for number, found in records.entries(path, [msgspec.json.encode(rpc.POLICY_CHECK.name)]):
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


class Summary(Struct, frozen=True, omit_defaults=True):
    """A decision about an action, or about the attachment or detachment of a policy.

    `action`: its type, or the method of an attachment or detachment. `nodes`: the ids of those that
    the action creates, deletes or acts on. `to_create` and `to_delete`: the numbers of nodes by
    zone, or by region if the zones are not planned. `version` and `host`: those of the worker.
    `packages`: those of the record. `warnings`: those of the reply. `decisions`: those of the
    policies.
    """

    at: datetime.datetime
    action: str
    status: Literal['OK', 'ERROR']
    reason: str
    cluster: str
    version: str
    action_id: str | None = None
    target: str | None = None
    dry_run: bool = False
    nodes: list[str] = []
    to_create: dict[str, int] = {}
    to_delete: dict[str, int] = {}
    request_id: str | None = None
    host: str | None = None
    packages: list[str] = []
    warnings: list[str] = []
    decisions: list[Decision] = []


class Check(NamedTuple):
    summary: Summary
    request: CheckRequest
    reply: CheckReply


class DecisionsAbout(NamedTuple):
    """The checks of an action, and all decisions about a cluster, in the order of time."""

    of_action: list[Check]
    of_cluster: list[Summary]


def decisions_about(paths: Sequence[str], name: str) -> DecisionsAbout:
    """Return the decisions about the action and the cluster with this name, with dry runs.

    Malformed lines are left out.

    :param name: the id of an action, or the id or the name of a cluster.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    found = DecisionsAbout([], [])
    for _, _, entry in records.lines_with(paths, [name]):
        try:
            record = records.decoded(entry)
            request, reply = record.request, record.reply
            if isinstance(request, CheckRequest) and isinstance(reply, CheckReply):
                summary = _of_check(record, request, reply)
                if request.action.id == name:
                    found.of_action.append(Check(summary, request, reply))
            elif isinstance(reply, BindReply):
                summary = _of_binding(record, reply)
        except MALFORMED:
            continue
        if name in (request.cluster.id, request.cluster.name):
            found.of_cluster.append(summary)
    found.of_action.sort(key=lambda check: in_utc(check.summary.at))
    found.of_cluster.sort(key=lambda one: in_utc(one.at))
    return found


class _ClusterId(Excerpt, frozen=True):
    id: str


class _Head(Excerpt, frozen=True):
    """The part of a request that decides whether to decode the others, which takes longer."""

    cluster: _ClusterId
    dry_run: bool = False


class _Line(NamedTuple):
    path: str
    number: int
    entry: Entry


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
        unnamed_victims(check.action.action, data) if goes_on else Counter(),
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


def _of_check(record: DecodedEntry, request: CheckRequest, reply: CheckReply) -> Summary:
    data = data_of_action(record)
    goes_on = request.target == BEFORE and data['status'] == 'OK'
    decided = ActionData(data if goes_on else {})
    return Summary(
        at=record.entry.at,
        action=request.action.action,
        status=data['status'],
        reason=data['reason'],
        cluster=request.cluster.name or request.cluster.id,
        version=record.entry.version,
        action_id=request.action.id,
        target=request.target,
        dry_run=request.dry_run,
        nodes=list(dict.fromkeys(_ids_of_nodes(record, request))),
        to_create=decided.creation.zones or decided.creation.regions or {},
        to_delete=decided.deletion.zones or decided.deletion.regions or {},
        request_id=record.entry.request_id,
        host=record.entry.host,
        packages=record.entry.packages,
        warnings=reply.warnings,
        decisions=reply.decisions,
    )


def _of_binding(record: DecodedEntry, reply: BindReply) -> Summary:
    return Summary(
        at=record.entry.at,
        action=record.entry.method,
        status=reply.status,
        reason=reply.reason,
        cluster=record.request.cluster.name or record.request.cluster.id,
        version=record.entry.version,
        request_id=record.entry.request_id,
        host=record.entry.host,
        packages=record.entry.packages,
        warnings=reply.warnings,
    )


def _ids_of_nodes(record: DecodedEntry, check: CheckRequest) -> Iterator[str]:
    if check.action.node:
        yield check.action.node.id
    yield from ActionData(check.action.data).creation.nodes
    yield from ActionData(data_of_action(record)).deletion.candidates or ()
