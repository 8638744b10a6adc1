"""The history of one node in decision logs: where it was placed, and why it was chosen or spared.

Most requests do not ask for an explanation of each victim. Their decisions are therefore made again
from the records, with all explanations.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct

from placement_worker.contract import actions, codec, rpc
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.decisions import replay
from placement_worker.decisions.records import Entry
from placement_worker.errors import InvalidRequest
from placement_worker.formats.text import counted, shortened
from placement_worker.policies.base import AFTER, BEFORE
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.node_patches import MEMBER
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.registry import Registry

PLANS = ('regions', 'zones')
"""The details of a decision that hold the rows of a plan."""

Kind = Literal['placed', 'chosen', 'spared', 'joined', 'left', 'failed']


class Event(Struct, frozen=True, omit_defaults=True):
    """The effect of one decision on a node.

    `places`: the rows of the plans by region and zone.
    """

    at: datetime.datetime
    event: Kind
    node: str
    action: str
    text: str
    action_id: str | None = None
    request_id: str | None = None
    places: list[dict[str, Any]] = []


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line of a log that is no record, or whose request is not valid any more."""

    path: str
    number: int
    error: str


def read(paths: Sequence[str], node: str, registry: Registry) -> Iterator[Event | InvalidLine]:
    """Yield the events of a node in the order of time; lines that are no records come first.

    The plan of a new node precedes its id. If a log has the creation of the node, all logs are
    therefore read again, for that plan.

    :param node: an id or a name.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    events: list[Event] = []
    created: dict[str, Node] = {}
    for found in _lines(paths, [node]):
        if isinstance(found, InvalidLine):
            yield found
            continue
        entry, request = found
        if isinstance(request, CheckRequest):
            events += _of_check(entry, request, node, registry)
            created.update((request.action.id, one) for one in _new_nodes(request, node))
        else:
            events += _of_pool(_Record(entry, entry.method), _named(request.cluster.nodes, node))
    for found in _lines(paths, created):
        events += () if isinstance(found, InvalidLine) else _of_creation(*found, created)
    yield from sorted(events, key=lambda event: event.at)


@dataclass(frozen=True, slots=True)
class _Record:
    """A record and its action."""

    entry: Entry
    action: str
    action_id: str | None = None

    @classmethod
    def of(cls, entry: Entry, check: CheckRequest) -> '_Record':
        """Return the record of a check, with its action."""
        return cls(entry, check.action.action, check.action.id)

    @property
    def reply(self) -> Mapping[str, Any]:
        """The recorded reply."""
        return self.entry.reply

    def event(self, kind: Kind, node: Node, text: str, *, plans: bool = False) -> Event:
        """Return an event of this record."""
        return Event(
            self.entry.at,
            kind,
            node.id,
            self.action,
            text,
            self.action_id,
            self.entry.request_id,
            list(self._rows()) if plans else [],
        )

    def _rows(self) -> Iterator[dict[str, Any]]:
        for decision in self.reply['decisions']:
            for plan in PLANS:
                rows = decision['details'].get(plan)
                yield from rows if isinstance(rows, list) else ()


def _lines(
    paths: Sequence[str], texts: Iterable[str]
) -> Iterator[tuple[Entry, CheckRequest | BindRequest] | InvalidLine]:
    """Yield the records, with their requests, of the lines that contain one of the texts."""
    sought = [msgspec.json.encode(text)[1:-1] for text in texts]
    for path in paths if sought else ():
        for number, entry in replay.entries(path, sought):
            if isinstance(entry, Entry) and entry.method == rpc.POLICY_REBALANCE.name:
                continue  # a plan alone has no effect on a node
            found = entry if isinstance(entry, InvalidRequest) else _with_request(entry)
            if isinstance(found, InvalidRequest):
                yield InvalidLine(path, number, str(found))
            else:
                yield found


def _with_request(entry: Entry) -> tuple[Entry, CheckRequest | BindRequest] | InvalidRequest:
    """Return a record and its request, or the error of a request that is not valid any more."""
    is_check = entry.method == 'policy_check'
    kind: type[CheckRequest | BindRequest] = CheckRequest if is_check else BindRequest
    try:
        return entry, codec.decode_encoded(bytes(entry.request), kind)
    except InvalidRequest as exc:
        return exc


def _of_check(entry: Entry, check: CheckRequest, node: str, registry: Registry) -> Iterator[Event]:
    record, nodes = _Record.of(entry, check), _nodes_of(check, node)
    if check.dry_run or not nodes:
        return
    yield from _of_pool(record, nodes)
    if check.target != BEFORE:
        return
    if entry.reply['action']['data']['status'] == 'ERROR':
        yield from _of_failure(record, check, nodes)
    elif check.action.action == actions.NODE_CREATE:
        yield from (_placed(record, one) for one in nodes)
    else:
        yield from _of_deletion(record, nodes, registry)


def _nodes_of(check: CheckRequest, name: str) -> list[Node]:
    """Return the nodes of a check with this id or name; the action's node comes first."""
    own = [check.action.node] if check.action.node else []
    return _named([*own, *check.cluster.nodes], name)


def _named(nodes: Iterable[Node], name: str) -> list[Node]:
    found: dict[str, Node] = {}
    for node in nodes:
        if name in (node.id, node.name):
            found.setdefault(node.id, node)
    return list(found.values())


def _new_nodes(check: CheckRequest, name: str) -> list[Node]:
    """Return the nodes with this id or name that the action of an AFTER check has created."""
    if check.target != AFTER:
        return []
    new = set(ActionData(check.action.data).creation.nodes)
    return [node for node in _nodes_of(check, name) if node.id in new]


def _of_creation(
    entry: Entry, request: CheckRequest | BindRequest, created: Mapping[str, Node]
) -> Iterator[Event]:
    """Yield the event of a new node, from the check that planned its place.

    :param created: id of the action -> the node that it has created.
    """
    if not isinstance(request, CheckRequest) or request.dry_run:
        return
    if request.target == BEFORE and request.action.id in created:
        yield _placed(_Record.of(entry, request), created[request.action.id])


def _placed(record: _Record, node: Node) -> Event:
    """Return the event of a new node, whose data name the place, with the plan."""
    patch = record.reply['nodes'].get(node.id, {})
    placement = patch.get('data', node.data).get('placement')
    known = placement if isinstance(placement, dict) else {}
    place = ', '.join(
        f'{what} {known[key]}'
        for what, key in (('region', 'region_name'), ('zone', 'zone'))
        if known.get(key)
    )
    text = f'in {place}' if place else f'nowhere: {_reason(record)}'
    return record.event('placed', node, text, plans=True)


def _reason(record: _Record) -> str:
    """Return the reason of a check."""
    return str(record.reply['action']['data']['reason'])


def _of_pool(record: _Record, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield the changes of the nodes' pool members."""
    for node in nodes:
        patch = record.reply['nodes'].get(node.id)
        if patch is None:
            continue
        before, after = node.data.get(MEMBER), patch['data'].get(MEMBER)
        if before and before != after:
            yield record.event('left', node, f'member {before} was removed')
        if after and before != after:
            yield record.event('joined', node, f'member {after} was added')
        if patch.get('status_reason'):
            yield record.event('failed', node, patch['status_reason'])


def _of_failure(record: _Record, check: CheckRequest, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield the failure of a check for nodes that its action or its reason names."""
    reason = _reason(record)
    for node in nodes:
        if node is check.action.node or _names(reason, node.id):
            yield record.event('failed', node, reason)


def _names(text: str, node_id: str) -> bool:
    """Return whether a text has an id as a whole: "n12 is protected" does not name n1."""
    return re.search(rf'(?<![\w-]){re.escape(node_id)}(?![\w-])', text) is not None


def _of_deletion(record: _Record, nodes: Iterable[Node], registry: Registry) -> Iterator[Event]:
    """Yield whether the nodes are victims of the action, with their ranks."""
    candidates = ActionData(record.reply['action']['data']).deletion.candidates
    if candidates is None:
        return
    rows = _rows_of_nodes(record.entry, registry)
    number = counted(len(candidates), 'victim')
    for node in nodes:
        row = rows.get(node.id, {})
        rank = f'rank {row["rank"]} ({row["reason"]})' if 'rank' in row else 'rank unknown'
        if node.id in candidates:
            yield record.event('chosen', node, f'{rank} among {number}', plans=True)
        elif 'until' in row:
            yield record.event('spared', node, _protection(row), plans=True)
        else:
            yield record.event('spared', node, f'{rank} after {number}', plans=True)


def _protection(row: Mapping[str, str]) -> str:
    """Return the protection of a node in words, with its end and its reason."""
    until = f' until {row["until"]}' if row['until'] else ''
    reason = f' ({shortened(row["reason"])})' if row['reason'] else ''
    return f'protected{until}{reason}'


def _rows_of_nodes(entry: Entry, registry: Registry) -> Mapping[str, Mapping[str, Any]]:
    """Return node id -> its row in the explanation of a deletion.

    The deletion policy has rows of the victims, and of the first spared and the first protected
    nodes. The rows of the load-balancing policies give the reasons of the victims that they spare.
    """
    rows: dict[str, dict[str, Any]] = {}
    for decision in replay.explained(entry, registry)['decisions']:
        if decision['policy_type'].rpartition('-')[0] in (Deletion.name, LoadBalancing.name):
            for key in ('victims', 'spared', 'protected_nodes'):
                for row in decision['details'].get(key, ()):
                    rows[row['id']] = {**rows.get(row['id'], {}), **row}
    return rows
