"""The history of one node in decision logs: its place, and why it was chosen or spared.

Most requests do not ask for an explanation of each victim. Their decisions are therefore made again
from the records, with all explanations.
"""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from placement_worker.cloud.snapshot import Location, counts_in_words, stated_place
from placement_worker.contract import action_data, actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import (
    Action,
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    Decision,
    Node,
)
from placement_worker.decisions import records, replay
from placement_worker.decisions.records import (
    MALFORMED,
    DecodedEntry,
    Entry,
    InvalidLine,
    data_of_action,
    decoded,
)
from placement_worker.formats.text import counted, day_or_time, shortened
from placement_worker.planning.shortage import is_evidence
from placement_worker.policies.base import AFTER, BEFORE
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.member_change import recorded_members
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.places import deleted_ids, stated_location
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.registry import Registry
from placement_worker.policies.victim_selection import KEPT
from placement_worker.policies.zone_placement import ZonePlacement

PLANS = ('regions', 'zones')  # details of a decision that hold the rows of a plan
# The policy types of this package; a plugin cannot replace them.
_OWN_TYPES = frozenset(
    {Deletion.name, LoadBalancing.name, RegionPlacement.name, ZonePlacement.name}
)
# The actions whose victims the engine chooses if no policy does; the others name them.
_COUNTED = frozenset({actions.CLUSTER_SCALE_IN, actions.CLUSTER_RESIZE})
_EXPLAINED = ('victims', 'spared', 'protected_nodes')  # details that have a row per node
Kind = Literal['placed', 'chosen', 'spared', 'unnamed', 'joined', 'left', 'failed', 'recorded']


class Event(Struct, frozen=True, omit_defaults=True):
    """The effect of one decision on a node.

    `cluster`: name or id. `policies`: name, type and reason of each policy that was not skipped.
    `version` and `host`: those of the worker. `packages`: those of the record. `place`: region and
    zone of the node. `places`: the rows of the plans by region and zone. `warnings`: those of the
    reply.
    """

    at: datetime.datetime
    event: Kind
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
    paths: Sequence[str], node: str, registry: Registry
) -> Iterator[Event | InvalidLine]:
    """Yield the events of a node in the order of time; lines that are no records come first.

    The plan of a new node precedes its id. If a log has the creation of the node, all logs are
    therefore read again, for that plan.

    :param node: an id or a name.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    events: list[Event] = []
    created: dict[str, list[Node]] = defaultdict(list)
    for path, number, found in records.lines_with(paths, [node]):
        try:
            record = decoded(found)
            events += _events(record, node, registry)
            _add_new(created, record, node)
        except MALFORMED as exc:
            yield InvalidLine(path, number, str(exc))
    for _, _, found in records.lines_with(paths, created):
        try:
            events += _of_creation(decoded(found), created)
        except MALFORMED:  # reported above if it concerns the node
            continue
    yield from sorted(events, key=lambda event: event.at)


def clusters_of_node(paths: Sequence[str], node: str) -> list[str]:
    """Return the clusters whose requests have a node, by name.

    :param node: an id or a name.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    found = set()
    for _, _, entry in records.lines_with(paths, [node]):
        try:
            cluster = decoded(entry).request.cluster
        except MALFORMED:
            continue
        if _named(cluster.nodes, node):
            found.add(cluster.name or cluster.id)
    return sorted(found)


def _events(record: DecodedEntry, name: str, registry: Registry) -> list[Event]:
    check = record.request
    if isinstance(check, BindRequest):
        return list(_pool_changes(record, _named(check.cluster.nodes, name)))
    nodes = _nodes_of(check, name)
    if check.dry_run or not nodes:
        return []
    events = list(_pool_changes(record, nodes))
    if check.target != BEFORE:
        return events
    if data_of_action(record).get('status') == 'ERROR':
        events += _failures(record, check.action.node, nodes)
    elif check.action.action == actions.NODE_CREATE:
        events += (_placed(record, node) for node in nodes)
    else:
        events += _deletion_events(record, nodes, registry)
        events += _recorded(record, nodes)
    return events


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


def _add_new(created: dict[str, list[Node]], record: DecodedEntry, name: str) -> None:
    """Add the nodes with this id or name that the action of an AFTER check has created."""
    check = record.request
    if isinstance(check, CheckRequest) and check.target == AFTER:
        new = set(ActionData(check.action.data).creation.nodes)
        found = [node for node in _nodes_of(check, name) if node.id in new]
        if found:
            created[check.action.id] = found


def _of_creation(record: DecodedEntry, created: Mapping[str, Sequence[Node]]) -> Iterator[Event]:
    """Yield the events of new nodes, from the check that planned their places.

    :param created: id of the action -> the nodes that it has created.
    """
    check = record.request
    if isinstance(check, CheckRequest) and check.target == BEFORE and not check.dry_run:
        for node in created.get(check.action.id, ()):
            yield _placed(record, node)


def _event(
    record: DecodedEntry, kind: Kind, node: Node, text: str, *, plans: bool = False
) -> Event:
    action = record.request.action if isinstance(record.request, CheckRequest) else None
    return Event(
        at=record.entry.at,
        event=kind,
        node=node.id,
        action=action.action if action else record.entry.method,
        text=text,
        cluster=record.request.cluster.name or record.request.cluster.id,
        policies=list(_policies(record)),
        version=record.entry.version,
        action_id=action.id if action else None,
        request_id=record.entry.request_id,
        host=record.entry.host,
        packages=record.entry.packages,
        place=_place_of(node),
        places=plan_rows(record.reply) if plans else [],
        warnings=record.reply.warnings,
    )


def _policies(record: DecodedEntry) -> Iterator[str]:
    if isinstance(record.request, BindRequest):
        policy = record.request.policy
        yield f'{policy.name or policy.id} ({policy.spec.type_name})'
    elif isinstance(record.reply, CheckReply):
        for one in record.reply.decisions:
            if one.outcome != 'SKIPPED':
                yield f'{one.policy_name or one.policy_id} ({one.policy_type}): {one.reason}'


def _place_of(node: Node) -> str | None:
    """Return region and zone of a node in words, as far as the record names them."""
    region, zone = stated_place(node)
    parts = (f'region {region}' if region else '', f'zone {zone}' if zone else '')
    return ', '.join(filter(None, parts)) or None


def _placed(record: DecodedEntry, node: Node) -> Event:
    """Return the event of a new node, whose data name the place, with the plan."""
    patch = record.reply.nodes.get(node.id)
    place = _place_of(Node(node.id, data=patch.data if patch else node.data))
    text = f'in {place}' if place else f'nowhere: {_reason_of_check(record)}'
    return _event(record, 'placed', node, text, plans=True)


def _recorded(record: DecodedEntry, nodes: Iterable[Node]) -> Iterator[Event]:
    check = record.request
    if not isinstance(check, CheckRequest):
        return
    deleted = deleted_ids(check, data_of_action(record))
    kept = action_data.recorded_failures((record.reply.cluster or check.cluster).data)
    by_place = {(one.region_name, one.zone): one for one in kept}
    for node in nodes:
        failure = by_place.get(stated_location(node, check))
        if failure and node.id in deleted and is_evidence(node):
            attempts = counted(failure.attempts, 'failed attempt')
            text = f'{attempts} in {_place_of(node)}, the latest at {day_or_time(failure.at)}'
            yield _event(record, 'recorded', node, text)


def _pool_changes(record: DecodedEntry, nodes: Iterable[Node]) -> Iterator[Event]:
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


def _failures(
    record: DecodedEntry, acted_on: Node | None, nodes: Iterable[Node]
) -> Iterator[Event]:
    text = _reason_of_check(record)
    for node in nodes:
        if node is acted_on or _names(text, node.id):
            yield _event(record, 'failed', node, text)


def _reason_of_check(record: DecodedEntry) -> str:
    return str(data_of_action(record).get('reason', ''))


def _names(text: str, node_id: str) -> bool:
    """Return whether a text has an id as a whole: "n12 is protected" does not name n1."""
    return re.search(rf'(?<![\w-]){re.escape(node_id)}(?![\w-])', text) is not None


def _deletion_events(
    record: DecodedEntry, nodes: Iterable[Node], registry: Registry
) -> Iterator[Event]:
    """Yield whether the nodes are victims of the action, with their ranks."""
    candidates = ActionData(data_of_action(record)).deletion.candidates
    if candidates is None:
        yield from _unnamed(record, nodes)
        return
    rows = _rows_of_nodes(record.entry, registry)
    number = counted(len(candidates), 'victim')
    for node in nodes:
        row = rows.get(node.id, {})
        if node.id in candidates:
            rank = _rank(candidates.index(node.id) + 1, _reason(record, node, row))
            yield _event(record, 'chosen', node, f'{rank} among {number}', plans=True)
        elif 'until' in row:
            yield _event(record, 'spared', node, _protection(row), plans=True)
        else:
            rank = _rank(row.get('rank', 'unknown'), row.get('reason'))
            yield _event(record, 'spared', node, f'{rank} after {number}', plans=True)


def _unnamed(record: DecodedEntry, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield that the engine chooses the victims, if the action deletes nodes without naming any."""
    request = record.request
    action = request.action.action if isinstance(request, CheckRequest) else ''
    counts = unnamed_victims(action, data_of_action(record))
    places = ', '.join(counts_in_words(counts))
    for node in nodes if counts else ():
        number = counted(counts.total(), 'victim')
        text = f'{number} without a name ({places}): no policy chose, so the engine did'
        yield _event(record, 'unnamed', node, text, plans=True)


def _rank(rank: object, reason: object) -> str:
    return f'rank {rank} ({reason})' if reason else f'rank {rank}'


def _reason(record: DecodedEntry, node: Node, row: Mapping[str, Any]) -> str:
    """Return the reason of a victim, with the policy that chose it if it is known."""
    reason = str(row.get('reason', ''))
    request, reply = record.request, record.reply
    if reason not in ('', KEPT) or not isinstance(request, CheckRequest):
        return reason
    return reason_of_choice(node.id, request, cast(CheckReply, reply)) or reason


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
                for row in _rows_with('id', decision['details'].get(key)):
                    rows[row['id']] = {**rows.get(row['id'], {}), **row}
    return rows


def _rows_with(key: str, listed: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list whose key is a string, whatever else an edited record holds."""
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, dict) and isinstance(row.get(key), str):
            yield row


def reason_of_choice(node_id: str, request: CheckRequest, reply: CheckReply) -> str:
    """Return the reason to delete a node that the deletion policy did not choose, or ''."""
    if node_id in _named_by_action(request.action):
        return 'named by the action'
    if stated_candidates(request.action.data) is not None:
        return ''
    if found := _plugin(reply.decisions):
        return f'chosen by {found.policy_name or found.policy_id}: {shortened(found.reason)}'
    return 'chosen by load balancing' if _is_by_load_balancing(reply.decisions) else ''


def stated_candidates(data: Mapping[str, Any]) -> Any:
    """Return the list of victims in the data of an action, valid or not, or None."""
    decided = data.get(DELETION)
    return decided.get('candidates') if isinstance(decided, dict) else None


def _named_by_action(action: Action) -> Sequence[str]:
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    return action.candidate_inputs.candidates or ()


def _plugin(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision of the only plugin that could choose victims, or None.

    A decision does not say what it wrote, so that of one of several plugins is unknown.
    """
    found: list[Decision] = []
    for one in decisions:
        name = one.policy_type.rpartition('-')[0]
        if name == Deletion.name and one.outcome == 'APPLIED':
            break
        if name not in _OWN_TYPES and one.outcome == 'APPLIED':
            found.append(one)
    return found[0] if len(found) == 1 else None


def _is_by_load_balancing(decisions: Sequence[Decision]) -> bool:
    """Return whether load balancing was the first policy that could choose nodes."""
    choosers = (
        decision.policy_type
        for decision in decisions
        if decision.outcome == 'APPLIED' and not set(PLANS) & decision.details.keys()
    )
    return next(choosers, '').startswith(f'{LoadBalancing.name}-')


def unnamed_victims(action: str, data: Mapping[str, Any]) -> Counter[Location]:
    """Return the number of nodes that the engine chooses as victims, by region and zone.

    :param data: the data of the action in the reply.
    :raises InvalidInput: the data are none of a decision.
    """
    if action not in _COUNTED or DELETION not in data:
        return Counter()
    deletion = ActionData(data).deletion
    if deletion.candidates is not None:
        return Counter()
    planned = planned_by_place(deletion)
    planned[None, None] += deletion.count - planned.total()
    return +planned


def planned_by_place(change: action_data.Change) -> Counter[Location]:
    """Return the number of nodes that the policies planned to create or delete, by place.

    :raises InvalidInput: the plan is none of a decision.
    """
    if isinstance(change, action_data.Deletion) and change.places is not None:
        return Counter({(place.region, place.zone): place.nodes for place in change.places})
    if change.zones:
        return Counter({(None, zone): count for zone, count in change.zones.items()})
    return Counter({(region, None): count for region, count in (change.regions or {}).items()})


def plan_rows(reply: CheckReply | BindReply) -> list[dict[str, Any]]:
    """Return the rows of all plans; those that a later policy replaced have a note.

    :raises InvalidInput: the reply has data that no decision has.
    """
    if not isinstance(reply, CheckReply):
        return []
    found: list[dict[str, Any]] = []
    for plan in PLANS:
        planned = [
            row
            for decision in reply.decisions
            for row in _rows_with('name', decision.details.get(plan))
        ]
        found += _corrected(planned, reply, plan) if planned else ()
    return found


def _corrected(
    planned: list[dict[str, Any]], reply: CheckReply, plan: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows with the counts of the reply, and rows of the places that it adds.

    The rows stay as they are if the reply has no counts by these places, or if zones of several
    regions have the same name.
    """
    changes = ActionData(reply.action.data).decided((CREATION, DELETION))
    counts = getattr(changes[0], plan) if len(changes) == 1 else None
    names = [row['name'] for row in planned]
    if counts is None or len(set(names)) < len(names):
        yield from planned
        return
    sign = 1 if changes[0].kind == CREATION else -1
    for row in planned:
        yield _with_count(row, counts.get(row['name'], 0), sign)
    for name in sorted(counts.keys() - set(names)):
        yield {'name': name, 'planned': counts[name], 'note': 'of a later policy'}


def _with_count(row: Mapping[str, Any], count: int, sign: int) -> dict[str, Any]:
    was, current = row.get('planned'), row.get('current')
    if was == count or not isinstance(was, int) or not isinstance(current, int):
        return dict(row)
    note = ', '.join(filter(None, (str(row.get('note') or ''), f'{was} before a later policy')))
    return {**row, 'planned': count, 'final': current + sign * count, 'note': note}
