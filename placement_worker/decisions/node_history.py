"""The history of one node in decision logs: its place, and why it was chosen or spared.

Most requests do not ask for an explanation of each victim. Their decisions are therefore made again
from the records, with all explanations.
"""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from placement_worker.cloud.snapshot import counts_in_words, stated_place
from placement_worker.contract import action_data, actions
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckRequest, Node
from placement_worker.decisions import records, replay
from placement_worker.decisions.explanations import (
    final_plan_rows,
    reason_of_choice,
    rows_with,
    unnamed_victims,
)
from placement_worker.decisions.records import (
    MALFORMED,
    BindingRecord,
    CheckRecord,
    Entry,
    InvalidLine,
    LogReader,
    circumstances,
)
from placement_worker.formats.text import counted, day_or_time, shortened
from placement_worker.planning.shortage import is_evidence
from placement_worker.policies.base import AFTER, BEFORE
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.attached_pool import recorded_members
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.recorded_failures import deleted_ids, stated_location
from placement_worker.policies.registry import Registry

_EXPLAINED = ('victims', 'spared', 'protected_nodes')  # details that have a row per node
EventKind = Literal['placed', 'chosen', 'spared', 'unnamed', 'joined', 'left', 'failed', 'recorded']


class Event(Struct, frozen=True, omit_defaults=True):
    """The effect of one decision on a node.

    `cluster`: name or id. `policies`: name, type and reason of each policy that was not skipped.
    `version` and `host`: those of the worker. `place`: region and zone of the node. `places`: the
    rows of the plans by region and zone.
    """

    at: datetime.datetime
    event: EventKind
    node: str
    action: str
    text: str
    cluster: str
    policies: list[str]
    version: str
    action_id: str | None = None
    request_id: str | None = None
    host: str | None = None
    packages: list[str] = []
    place: str | None = None
    places: list[dict[str, Any]] = []
    warnings: list[str] = []


def events_of_node(
    logs: Sequence[LogReader], node: str, registry: Registry
) -> Iterator[Event | InvalidLine]:
    """Yield the events of a node (id or name) by time; lines that are no records come first.

    The plan of a new node precedes its id. If a log has the creation of the node, all logs are
    therefore read again, for that plan. Errors of reading are those of `LogReader.entries`.
    """
    events: list[Event] = []
    created: dict[str, list[Node]] = defaultdict(list)
    for path, number, line in records.lines_with(logs, [node]):
        try:
            record = records.decoded(line)
            events += list(_events(record, node, registry))  # all or none
            if isinstance(record, CheckRecord):
                _add_new(created, record, node)
        except MALFORMED as exc:
            yield InvalidLine(path, number, str(exc))
    for _, _, line in records.lines_with(logs, created):
        try:
            record = records.decoded(line)
            if isinstance(record, CheckRecord) and record.request.target == BEFORE:
                check = record.request
                new = () if check.dry_run else created.get(check.action.id, ())
                events += [_placed(record, node) for node in new]
        except MALFORMED:  # reported above if it concerns the node
            continue
    yield from sorted(events, key=lambda event: event.at)


def _events(record: CheckRecord | BindingRecord, name: str, registry: Registry) -> Iterator[Event]:
    if isinstance(record, BindingRecord):
        yield from _pool_changes(record, _named(record.request.cluster.nodes, name))
        return
    check = record.request
    nodes = _nodes_of(check, name)
    if check.dry_run or not nodes:
        return
    yield from _pool_changes(record, nodes)
    if check.target != BEFORE:
        return
    if record.data['status'] == 'ERROR':
        yield from _failures(record, nodes)
    elif check.action.action == actions.NODE_CREATE:
        for node in nodes:
            yield _placed(record, node)
    else:
        yield from _deletion_events(record, nodes, registry)
        yield from _recorded(record, nodes)


def _nodes_of(check: CheckRequest, name: str) -> list[Node]:
    own = [check.action.node] if check.action.node else []
    return _named([*own, *check.cluster.nodes], name)


def _named(nodes: Iterable[Node], name: str) -> list[Node]:
    by_id: dict[str, Node] = {}
    for node in nodes:
        if name in (node.id, node.name):
            by_id.setdefault(node.id, node)
    return list(by_id.values())


def _add_new(created: dict[str, list[Node]], record: CheckRecord, name: str) -> None:
    """Add the nodes with this id or name that the action of an AFTER check has created."""
    check = record.request
    if check.target == AFTER:
        new = set(ActionData(check.action.data).creation.nodes)
        nodes = [node for node in _nodes_of(check, name) if node.id in new]
        if nodes:
            created[check.action.id] = nodes


def _event(record: CheckRecord | BindingRecord, kind: EventKind, node: Node, text: str) -> Event:
    action = record.request.action if isinstance(record, CheckRecord) else None
    return Event(
        event=kind,
        node=node.id,
        action=action.action if action else record.entry.method,
        text=text,
        policies=list(_policies(record)),
        action_id=action.id if action else None,
        place=_place_of(node),
        **circumstances(record),
    )


def _planned_event(record: CheckRecord, kind: EventKind, node: Node, text: str) -> Event:
    return structs.replace(_event(record, kind, node, text), places=final_plan_rows(record.reply))


def _policies(record: CheckRecord | BindingRecord) -> Iterator[str]:
    if isinstance(record, BindingRecord):
        policy = record.request.policy
        yield f'{policy.name or policy.id} ({policy.spec.type_name})'
        return
    for decision in record.reply.decisions:
        if decision.outcome != 'SKIPPED':
            name = decision.policy_name or decision.policy_id
            yield f'{name} ({decision.policy_type}): {decision.reason}'


def _place_of(node: Node) -> str | None:
    region, zone = stated_place(node)
    parts = (f'region {region}' if region else '', f'zone {zone}' if zone else '')
    return ', '.join(filter(None, parts)) or None


def _placed(record: CheckRecord, node: Node) -> Event:
    patch = record.reply.nodes.get(node.id)
    place = _place_of(Node(node.id, data=patch.data if patch else node.data))
    text = f'in {place}' if place else f'nowhere: {record.data["reason"]}'
    return _planned_event(record, 'placed', node, text)


def _recorded(record: CheckRecord, nodes: Iterable[Node]) -> Iterator[Event]:
    check = record.request
    deleted = deleted_ids(check, record.data)
    failures = action_data.recorded_failures((record.reply.cluster or check.cluster).data)
    by_place = {(failure.region_name, failure.zone): failure for failure in failures}
    for node in nodes:
        failure = by_place.get(stated_location(node, check))
        if failure and node.id in deleted and is_evidence(node):
            attempts = counted(failure.attempts, 'failed attempt')
            text = f'{attempts} in {_place_of(node)}, the latest at {day_or_time(failure.at)}'
            yield _event(record, 'recorded', node, text)


def _pool_changes(record: CheckRecord | BindingRecord, nodes: Iterable[Node]) -> Iterator[Event]:
    for node in nodes:
        patch = record.reply.nodes.get(node.id)
        if patch is None:
            continue
        before, after = recorded_members(node.data), recorded_members(patch.data)
        for member_id in sorted(before - after):
            yield _event(record, 'left', node, f'member {member_id} was removed')
        for member_id in sorted(after - before):
            yield _event(record, 'joined', node, f'member {member_id} was added')
        if patch.status_reason and patch.status != 'ACTIVE':
            yield _event(record, 'failed', node, patch.status_reason)


def _failures(record: CheckRecord, nodes: Iterable[Node]) -> Iterator[Event]:
    text = record.data['reason']
    for node in nodes:
        whole_id = rf'(?<![\w-]){re.escape(node.id)}(?![\w-])'  # "n12 is protected" names no n1
        if node is record.request.action.node or re.search(whole_id, text):
            yield _event(record, 'failed', node, text)


def _deletion_events(
    record: CheckRecord, nodes: Iterable[Node], registry: Registry
) -> Iterator[Event]:
    candidates = ActionData(record.data).deletion.candidates
    if candidates is None:
        yield from _unnamed(record, nodes)
        return
    rows = _rows_of_nodes(record.entry, registry)
    number = counted(len(candidates), 'victim')
    for node in nodes:
        row = rows.get(node.id, {})
        if node.id in candidates:
            given = str(row.get('reason', ''))
            reason = reason_of_choice(node.id, record.request, record.reply, given)
            rank = _rank(candidates.index(node.id) + 1, reason)
            yield _planned_event(record, 'chosen', node, f'{rank} among {number}')
        elif 'until' in row:
            yield _planned_event(record, 'spared', node, _protection(row))
        else:
            rank = _rank(row.get('rank', 'unknown'), row.get('reason'))
            yield _planned_event(record, 'spared', node, f'{rank} after {number}')


def _unnamed(record: CheckRecord, nodes: Iterable[Node]) -> Iterator[Event]:
    counts = unnamed_victims(record.request.action.action, record.data)
    places = ', '.join(counts_in_words(counts))
    for node in nodes if counts else ():
        number = counted(counts.total(), 'victim')
        text = f'{number} without a name ({places}): no policy chose, so the engine did'
        yield _planned_event(record, 'unnamed', node, text)


def _rank(rank: object, reason: object) -> str:
    return f'rank {rank} ({reason})' if reason else f'rank {rank}'


def _protection(row: Mapping[str, Any]) -> str:
    until = f' until {row["until"]}' if row['until'] else ''
    reason = f' ({shortened(str(row["reason"]))})' if row.get('reason') else ''
    return f'protected{until}{reason}'


def _rows_of_nodes(entry: Entry, registry: Registry) -> Mapping[str, Mapping[str, Any]]:
    """Return node id -> its row in the explanation of a deletion.

    The deletion policy has rows of the victims, and of the first spared and the first protected
    nodes. The rows of the load-balancing policies give the reasons of the victims that they spare.
    A record that cannot be decided again has the rows that it was written with, if any.
    """
    rows: dict[str, dict[str, Any]] = {}
    for decision in replay.explained(entry, registry)['decisions']:
        if decision['policy_type'].rpartition('-')[0] in (Deletion.name, LoadBalancing.name):
            for key in _EXPLAINED:
                for row in rows_with('id', decision['details'].get(key)):
                    rows[row['id']] = {**rows.get(row['id'], {}), **row}
    return rows
