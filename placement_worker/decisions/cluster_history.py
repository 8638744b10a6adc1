"""Clusters in decision logs: their latest state, and the decisions about a cluster or an action.

A record has the cluster as the engine sent it before the action. Its nodes are therefore corrected
by what the reply lets the engine create and delete.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from msgspec import Struct, structs

from placement_worker.cloud.snapshot import stated_place
from placement_worker.contract import actions, rpc
from placement_worker.contract.action_data import CREATION, ActionData, Location, Placement
from placement_worker.contract.model import (
    Action,
    Binding,
    CheckReply,
    CheckRequest,
    Cluster,
    Decision,
    in_utc,
)
from placement_worker.decisions import records
from placement_worker.decisions.explanations import unnamed_victims
from placement_worker.decisions.records import (
    MALFORMED,
    CheckRecord,
    Entry,
    InvalidLine,
    LogReader,
    circumstances,
)
from placement_worker.policies.base import BEFORE


@dataclass(frozen=True, slots=True)
class LatestCluster:
    """A cluster as its latest check describes it.

    :ivar cluster: without the nodes that the action deletes.
    :ivar new_places: the numbers of nodes that the action creates; `cluster` has none of them.
    :ivar unnamed_victims: the numbers of nodes of `cluster` that the action deletes without names.
    """

    entry: Entry
    action: str
    cluster: Cluster
    policies: Sequence[Binding]
    new_places: Counter[Location]
    unnamed_victims: Counter[Location]

    @property
    def places(self) -> Counter[Location]:
        return Counter(map(stated_place, self.cluster.nodes))


def latest_clusters(logs: Sequence[LogReader]) -> Iterator[LatestCluster | InvalidLine]:
    """Yield the clusters by name; lines that are no records come first.

    Deleted clusters are left out. Dry runs do not count: their nodes may be invented. Errors of
    reading are those of `LogReader.entries`.
    """
    latest: dict[str, tuple[datetime.datetime, LatestCluster | None]] = {}
    for path, number, line in records.lines_with(logs, [rpc.POLICY_CHECK.name]):
        try:
            record = records.decoded(line)
            if not isinstance(record, CheckRecord) or record.request.dry_run:
                continue
            cluster_id, at = record.request.cluster.id, in_utc(record.entry.at)
            if cluster_id not in latest or latest[cluster_id][0] <= at:
                latest[cluster_id] = (at, _existing(record))
        except MALFORMED as exc:
            yield InvalidLine(path, number, str(exc))
    clusters = [cluster for _, cluster in latest.values() if cluster]
    yield from sorted(clusters, key=lambda latest: (latest.cluster.name or '', latest.cluster.id))


class Summary(Struct, frozen=True, omit_defaults=True):
    """A decision about an action, or about the attachment or detachment of a policy.

    `action`: its type, or the method of an attachment or detachment. `nodes`: the ids of those that
    the action creates, deletes or acts on. `to_create` and `to_delete`: the numbers of nodes by
    zone, or by region if the zones are not planned. `version` and `host`: those of the worker.
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


def decisions_about(logs: Sequence[LogReader], name: str) -> DecisionsAbout:
    """Return the decisions about an action or a cluster with this id or name, with dry runs.

    Malformed lines are left out. Errors of reading are those of `LogReader.entries`.
    """
    about = DecisionsAbout([], [])
    for _, _, line in records.lines_with(logs, [name]):
        try:
            record = records.decoded(line)
            if isinstance(record, CheckRecord):
                summary = _of_check(record)
                if record.request.action.id == name:
                    about.of_action.append(Check(summary, record.request, record.reply))
            else:
                summary = Summary(
                    action=record.entry.method,
                    status=record.reply.status,
                    reason=record.reply.reason,
                    **circumstances(record),
                )
        except MALFORMED:
            continue
        if name in (record.request.cluster.id, record.request.cluster.name):
            about.of_cluster.append(summary)
    about.of_action.sort(key=lambda check: in_utc(check.summary.at))
    about.of_cluster.sort(key=lambda summary: in_utc(summary.at))
    return about


def _existing(check: CheckRecord) -> LatestCluster | None:
    request = check.request
    goes_on = request.target == BEFORE and check.data['status'] == 'OK'
    if request.action.action == actions.CLUSTER_DELETE and goes_on:
        return None
    data = check.data if goes_on else {}
    leaving = set(_victims(request.action, data)) if goes_on else set()
    return LatestCluster(
        check.entry,
        request.action.action,
        structs.replace(
            request.cluster,
            nodes=[node for node in request.cluster.nodes if node.id not in leaving],
        ),
        request.policies,
        _new_places(request.action, data) if goes_on else Counter(),
        unnamed_victims(request.action.action, data),
    )


def _victims(action: Action, data: Mapping[str, Any]) -> Iterator[str]:
    yield from ActionData(data).deletion.candidates or ()
    if action.action == actions.NODE_DELETE and action.node:
        yield action.node.id


def _new_places(action: Action, data: Mapping[str, Any]) -> Counter[Location]:
    count = ActionData(data).creation.count if CREATION in data else 0
    if action.action == actions.NODE_CREATE:
        count = 1
    planned = Counter(Placement.of(data.get('placement')).places[:count])
    planned[None, None] += count - planned.total()
    return +planned


def _of_check(record: CheckRecord) -> Summary:
    request, data = record.request, record.data
    goes_on = request.target == BEFORE and data['status'] == 'OK'
    decided = ActionData(data if goes_on else {})
    return Summary(
        action=request.action.action,
        status=data['status'],
        reason=data['reason'],
        action_id=request.action.id,
        target=request.target,
        dry_run=request.dry_run,
        nodes=list(dict.fromkeys(_ids_of_nodes(record))),
        to_create=decided.creation.zones or decided.creation.regions or {},
        to_delete=decided.deletion.zones or decided.deletion.regions or {},
        decisions=record.reply.decisions,
        **circumstances(record),
    )


def _ids_of_nodes(record: CheckRecord) -> Iterator[str]:
    action = record.request.action
    if action.node:
        yield action.node.id
    yield from ActionData(action.data).creation.nodes
    yield from ActionData(record.data).deletion.candidates or ()
