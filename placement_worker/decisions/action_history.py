"""The decisions about an action or a cluster in decision logs."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import BindReply, CheckReply, CheckRequest, Decision, in_utc
from placement_worker.decisions import history_events, log_records
from placement_worker.decisions.history_events import Record
from placement_worker.decisions.log_records import MALFORMED
from placement_worker.policies.base import BEFORE


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
    """A check of an action."""

    summary: Summary
    request: CheckRequest
    reply: CheckReply


class Found(NamedTuple):
    """The checks of an action, and all decisions about a cluster, in the order of time."""

    of_action: list[Check]
    of_cluster: list[Summary]


def read(paths: Sequence[str], name: str) -> Found:
    """Return the decisions about the action and the cluster with this name, with dry runs.

    Malformed lines are left out.

    :param name: the id of an action, or the id or the name of a cluster.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    found = Found([], [])
    for _, _, entry in log_records.lines(paths, [name]):
        try:
            record = log_records.decoded(entry)
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


def _of_check(record: Record, request: CheckRequest, reply: CheckReply) -> Summary:
    """Return the summary of a check.

    :raises InvalidInput: the record has data that no decision has.
    """
    data = history_events.data_of_action(record)
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


def _of_binding(record: Record, reply: BindReply) -> Summary:
    """Return the summary of an attachment or a detachment."""
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


def _ids_of_nodes(record: Record, check: CheckRequest) -> Iterator[str]:
    """Yield the ids of the nodes that an action creates, deletes or acts on.

    :raises InvalidInput: the record has data that no decision has.
    """
    if check.action.node:
        yield check.action.node.id
    yield from ActionData(check.action.data).creation.nodes
    yield from ActionData(history_events.data_of_action(record)).deletion.candidates or ()
