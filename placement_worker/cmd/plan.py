"""The command `placement-policy plan`: a dry run as a diff of places, victims and pool members.

Placement policies explain their plans in `details`. The engine does not read these, and a plugin
may have replaced the plan later. Therefore an explained plan is shown only if it agrees with the
action's data in the reply. Everything that a request or a plugin may have written is escaped before
columns are aligned: an escape character in a name would otherwise shift the columns.
"""

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.cmd import output
from placement_worker.cmd.output import Paint, Style
from placement_worker.cmd.request_files import FilesCommand, check_request_of, decided
from placement_worker.contract import actions
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    ActionData,
    ChangeKind,
    Location,
    Placement,
    stated_candidates,
)
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.decisions import explanations
from placement_worker.errors import Rejected
from placement_worker.formats.documents import Document
from placement_worker.formats.text import counted, escaped, noun_for
from placement_worker.planning import sizing
from placement_worker.planning.placement import NO_KNOWN_PLACE
from placement_worker.planning.places import NO_PLACE
from placement_worker.planning.sizing import Size
from placement_worker.policies.base import AFTER
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement

UNCHANGED, FAILED, CHANGED = 0, 1, 2
_SHOWN_SEPARATELY = ('pool', 'added', 'removed', 'updates', 'estimated_s')
_ANY_SIZE = sys.maxsize  # the worker checks its own limit
_KINDS = {f'{RegionPlacement.name}-': 'regions', f'{ZonePlacement.name}-': 'zones'}


class PlaceChange(Struct, frozen=True):
    # The name of a zone, a region, or a zone of a region (`RegionOne/az1`).
    name: str
    before: int
    after: int
    note: str = ''


class Victim(Struct, frozen=True):
    # Strings are empty if the reply lacks the value.
    id: str
    place: str = ''
    reason: str = ''
    status: str = ''


class SkippedPolicy(Struct, frozen=True):
    policy: str
    reason: str


class PoolChange(Struct, frozen=True):
    policy: str
    details: dict[str, Any]

    @property
    def is_changed(self) -> bool:
        return bool(self.details.get('added') or self.details.get('removed'))


class Changes(Struct, frozen=True):
    """The difference that one action would make.

    `places`: kind of place (`zones`, `regions`, `nodes`) -> the change of each place. `protected`:
    id, place, end and reason of the first nodes that must not be deleted. `is_decided`:
    whether a policy placed the nodes to create or chose the nodes to delete. `wait_s`: the seconds
    between the removal of members and the deletion of their nodes.
    """

    action: str
    action_id: str
    target: str
    cluster: str
    status: str
    reason: str
    size: int
    policies: int = 0
    warnings: list[str] = []
    created: int = 0
    deleted: int = 0
    is_decided: bool = False
    places: dict[str, Sequence[PlaceChange]] = {}
    victims: list[Victim] = []
    protected: list[Mapping[str, Any]] = []
    pools: list[PoolChange] = []
    wait_s: int = 0
    patched: list[str] = []
    skipped: list[SkippedPolicy] = []
    details: dict[str, Any] = {}

    @property
    def any(self) -> bool:
        nodes_changed = self.created or self.deleted or self.patched
        return bool(nodes_changed or any(pool.is_changed for pool in self.pools))


class Plan(FilesCommand):
    request_type = CheckRequest
    error_status = FAILED
    severity = (UNCHANGED, CHANGED, FAILED)
    examples = (
        'placement-policy plan examples/scale-in.yaml    # victims with their reasons',
        'placement-policy plan --cloud cloud.yaml request.yaml -f json',
        'placement-policy plan --config-file /etc/placement-worker/operator.conf request.yaml',
    )
    epilog = (
        'Exit status: 0 nothing would change, 2 something would change, 1 a check ended in ERROR, '
        'a request was invalid, or no worker replied. The exit status of check differs.'
    )

    @override
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        request = check_request_of(caller, document.data, 'full')
        request = structs.replace(request, dry_run=True)
        changes = compare(request, decided(caller.policy_check(request)))
        self.write_result(args.format, changes, plan_lines(changes, self.paint))
        self.note_shipped_cloud(args, document)
        if changes.status != 'OK':
            return FAILED
        return CHANGED if changes.any else UNCHANGED


def plan_lines(changes: Changes, paint: Paint) -> Iterator[str]:
    yield from output.warnings(changes.warnings, paint)
    title = f'{changes.action} of cluster {changes.cluster}, {changes.target}'
    if changes.status != 'OK':
        yield paint(f'{title}: {changes.status}', 'bold')
        yield f'{paint("!", "red")} {escaped(changes.reason)}'
        for key, value in changes.details.items():
            yield from output.detail(key, value)
        yield ''
        return
    after = changes.size + changes.created - changes.deleted
    growth = f' -> {after}' if after != changes.size else ''
    yield paint(f'{title}: {counted(changes.size, "node")}{growth}', 'bold')
    yield ''
    for section in _sections(changes, paint):
        yield from section
        yield ''
    yield _summary(changes, paint)
    yield ''


def _sections(changes: Changes, paint: Paint) -> Iterator[Iterable[str]]:
    for key, rows in changes.places.items():
        yield _places(key, rows, paint)
    if changes.victims:
        cells = [(node.id, node.place, node.reason, node.status) for node in changes.victims]
        victims = [f'  {paint("- " + row, "red")}' for row in _aligned(cells)]
        yield ['To be deleted, in this order:', *output.shortened(victims)]
    if changes.protected:
        cells = [
            (row['id'], row['place'], row['until'] and f'until {row["until"]}', row['reason'])
            for row in changes.protected
        ]
        nodes = [f'    {row}' for row in _aligned(cells)]
        yield ['Protected from deletion:', *output.shortened(nodes)]
    for pool in changes.pools:
        yield _pool(pool, paint)
    if changes.wait_s:
        yield [f'Wait: {output.drain_sentence(changes.wait_s)}']


def _places(key: str, rows: Sequence[PlaceChange], paint: Paint) -> Iterator[str]:
    names = [escaped(row.name) for row in rows]
    width = max(map(len, names))
    digits = max(len(str(number)) for row in rows for number in (row.before, row.after))
    yield f'{key.capitalize()}:'
    for name, row in zip(names, rows, strict=True):
        sign, style = _sign(row.after - row.before)
        change = f'{row.after - row.before:+d}' if sign != ' ' else ''
        counts = f'{row.before:>{digits}} -> {row.after:>{digits}}'
        line = f'{sign} {name:<{width}}  {counts}  {change:<6} {row.note}'
        yield f'  {paint(line.rstrip(), style)}'


def _sign(difference: int) -> tuple[str, Style]:
    if difference > 0:
        return '+', 'green'
    return ('-', 'red') if difference else (' ', 'dim')


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    rows = [tuple(map(escaped, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f'{text:<{width}}' for text, width in zip(row, widths, strict=True))
        yield '  '.join(cells).rstrip()


def _pool(pool: PoolChange, paint: Paint) -> Iterator[str]:
    details = pool.details
    name = details.get('pool')
    yield escaped(f'Pool{f" {name}" if name else ""} ({pool.policy}):')
    removed, added = (_members(details.get(key)) for key in ('removed', 'added'))
    yield from output.shortened([f'  {paint(f"- {member}", "red")}' for member in removed])
    yield from output.shortened([f'  {paint(f"+ {member}", "green")}' for member in added])
    has_cost = pool.is_changed or bool(details.get('updates'))
    for key, value in details.items():
        if key == 'api_calls' and not has_cost:
            continue
        if key not in _SHOWN_SEPARATELY and value not in (None, [], {}, 0, ''):
            yield escaped(f'    {key.replace("_", " ")}: {_detail_value(value)}')
    updates = details.get('updates')
    if has_cost and updates is not None:
        seconds = details.get('estimated_s')
        about = f', about {seconds:g} s' if isinstance(seconds, (int, float)) else ''
        yield escaped(f'    {_updates(updates)}{about}')


def _members(members: Any) -> Sequence[str]:
    """Return node ids, which a plugin may also give as the keys of a mapping or as a count."""
    if isinstance(members, (list, tuple, Mapping)):
        return [str(member) for member in members]
    return [counted(members, 'node')] if isinstance(members, int) and members else []


def _detail_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ', '.join(f'{key}: {what}' for key, what in value.items())
    return ', '.join(map(str, value)) if isinstance(value, list) else str(value)


def _summary(changes: Changes, paint: Paint) -> str:
    if not changes.any:
        return paint('Policies change nothing: ', 'bold') + escaped(_reasons(changes))
    counts = [f'{counted(changes.created, "node")} to create'] * bool(changes.created)
    counts += [f'{counted(changes.deleted, "node")} to delete'] * bool(changes.deleted)
    updates = (pool.details.get('updates') for pool in changes.pools)
    counts += map(_updates, filter(None, updates))
    counts = counts or [f'the data of {counted(len(changes.patched), "node")} to change']
    summary = ', '.join(counts)
    moved = changes.created + changes.deleted
    if moved and not changes.is_decided:
        verb, nodes = 'placed' if changes.created else 'chose', 'node' if moved == 1 else 'nodes'
        summary += f'; no policy {verb} the {nodes}: {_reasons(changes)}'
    elif changes.deleted and not changes.victims:
        summary += '; no policy chose the ' + noun_for(changes.deleted, 'node')
    return paint('Plan: ', 'bold') + escaped(summary) + '. Nothing was done.'


def _reasons(changes: Changes) -> str:
    if not changes.policies:
        return 'the request has no policies'
    reasons = dict.fromkeys(policy.reason for policy in changes.skipped)
    return '; '.join(reasons) or changes.reason.rstrip('.')


def _updates(count: object) -> str:
    return counted(count, 'load-balancer update')


def compare(request: CheckRequest, reply: CheckReply) -> Changes:
    """Return the changes by a reply; with `explain: full` victims and places have reasons."""
    changes = Changes(
        action=request.action.action,
        action_id=request.action.id,
        target=request.target,
        cluster=request.cluster.name or request.cluster.id,
        status=reply.action.data['status'],
        reason=reply.action.data['reason'],
        size=len(sizing.current_nodes(request.action, request.cluster)),
        policies=len(request.policies),
        warnings=reply.warnings,
    )
    if changes.status != 'OK':
        failed = (item.details for item in reply.decisions if item.outcome == 'FAILED')
        return structs.replace(changes, details=next(failed, {}))
    changes = structs.replace(
        changes,
        pools=list(_pools(reply.decisions)),
        patched=sorted(reply.nodes),
        skipped=list(_skipped(request, reply)),
    )
    if request.target == AFTER:  # the engine has already applied the earlier decisions
        return changes
    try:
        return _sized(changes, request, reply)
    except Rejected as exc:  # no policy has read the inputs
        return structs.replace(changes, warnings=[*changes.warnings, str(exc)])


def _sized(changes: Changes, request: CheckRequest, reply: CheckReply) -> Changes:
    data = reply.action.data
    size = _size_of(request, data)
    stated = Snapshot(Inventory(), request.cluster)
    place_of = {node.id: stated.place_of(node) for node in request.cluster.nodes}
    victims = list(_victims(request, reply, place_of))
    places = _place_changes(reply, size, place_of, [victim.id for victim in victims])
    decided = data.get(size.kind)
    is_detailed = isinstance(decided, dict) and bool(decided.keys() - {'count'})
    return structs.replace(
        changes,
        created=size.count if size.kind == CREATION else 0,
        deleted=size.count if size.kind == DELETION else 0,
        is_decided=bool(places or victims or is_detailed),
        places=places,
        victims=victims,
        wait_s=output.drain_wait_s(data, reply.decisions),
        protected=list(_rows(reply.decisions, 'protected_nodes')),
    )


def _skipped(request: CheckRequest, reply: CheckReply) -> Iterator[SkippedPolicy]:
    """Yield the disabled policies, which the reply omits, and those that the worker skipped."""
    for name in (policy.name or policy.id for policy in request.policies if not policy.enabled):
        yield SkippedPolicy(name, f'policy {name} is disabled')
    for decision in reply.decisions:
        if decision.outcome == 'SKIPPED':
            name = decision.policy_name or decision.policy_id
            yield SkippedPolicy(name, decision.reason.rstrip('.'))


def _victims(
    request: CheckRequest, reply: CheckReply, place_of: Mapping[str, Location]
) -> Iterator[Victim]:
    chosen = stated_candidates(reply.action.data)
    if chosen is None and request.action.action == actions.CLUSTER_DEL_NODES:
        chosen = request.action.candidate_inputs.candidates
    ranked = {row['id']: row for row in _rows(reply.decisions, 'victims')}
    statuses = {node.id: node.status for node in request.cluster.nodes}
    for node_id in chosen or ():
        row = ranked.get(node_id, {})
        place = row.get('place') or (_place_name(place_of[node_id]) if node_id in place_of else '')
        reason = explanations.reason_of_choice(node_id, request, reply, row.get('reason', ''))
        yield Victim(node_id, place, reason, statuses.get(node_id, ''))


def _rows(decisions: Sequence[Decision], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows under a key of the details of deletion; plugins may use the key otherwise."""
    for decision in decisions:
        if decision.policy_type.startswith(f'{Deletion.name}-'):
            yield from decision.details.get(key, ())


def _pools(decisions: Sequence[Decision]) -> Iterator[PoolChange]:
    for decision in decisions:
        if decision.policy_type.startswith(f'{LOAD_BALANCING}-') and decision.outcome == 'APPLIED':
            yield PoolChange(decision.policy_name or decision.policy_id, decision.details)


def _size_of(request: CheckRequest, data: Mapping[str, Any]) -> Size:
    """Return the number of nodes that policies decided on, else that of the action."""
    kind: ChangeKind
    for kind in (CREATION, DELETION):
        decided = data.get(kind)
        count = decided.get('count', 1) if isinstance(decided, dict) else 0
        if count and isinstance(count, int):
            return Size(kind, count)
    action, cluster = request.action, request.cluster
    held = len(cluster.nodes)
    if action.action == actions.CLUSTER_CREATE:
        return Size(CREATION, max(cluster.desired_capacity - held, 0))
    if action.action == actions.CLUSTER_DELETE:
        return Size(DELETION, held)
    if action.action == actions.CLUSTER_REPLACE_NODES:  # existing nodes take the places of others
        return Size(DELETION, 0)
    size = sizing.size_of(action, ActionData(data), cluster, _ANY_SIZE)
    return size if size.kind == CREATION else Size(DELETION, min(size.count, held))


class _Explained(NamedTuple):
    kind: str
    rows: Sequence[PlaceChange]
    by_region: bool  # whether each zone belongs to a region

    def agrees(self, moved: Counter[Location], count: int) -> bool:
        """Return whether the reply may have this plan: the places of some nodes are unknown."""
        planned = Counter({row.name: abs(row.after - row.before) for row in self.rows})
        known = _by_name(moved, self._name)
        del known[NO_PLACE]
        return known <= planned and planned.total() <= count

    def _name(self, place: Location) -> str:
        region, zone = place
        if self.kind == 'regions':
            return region or NO_PLACE
        if self.by_region:
            return _place_name(place) if region and zone else NO_PLACE
        return zone or NO_PLACE


def _explained(decisions: Iterable[Decision]) -> Iterator[_Explained]:
    for decision in decisions:
        kind = _KINDS.get(decision.policy_type.rstrip('0123456789.'))
        if kind is None or decision.outcome != 'APPLIED' or kind not in decision.details:
            continue
        rows, changes = decision.details[kind], []
        for row in rows:
            name, note = row['name'], row['note']
            if note == NO_KNOWN_PLACE:
                if not row['current']:
                    continue
                name, note = NO_PLACE, ''
            name = _place_name((row.get('region_name'), name))
            changes.append(PlaceChange(name, row['current'], row['final'], note))
        yield _Explained(kind, changes, any('region_name' in row for row in rows))


def _place_changes(
    reply: CheckReply, size: Size, place_of: Mapping[str, Location], victims: Sequence[str]
) -> dict[str, Sequence[PlaceChange]]:
    """Return the explained plans if all agree with the reply, else the nodes by stated place."""
    gone = Counter(place_of[node_id] for node_id in victims if node_id in place_of)
    moved_places = _moved(ActionData(reply.action.data), size, gone)
    plans = list(_explained(reply.decisions))
    if plans and all(plan.agrees(moved_places, size.count) for plan in plans):
        return {plan.kind: plan.rows for plan in plans}
    if not moved_places:
        return {}
    before = _by_name(Counter(place_of.values()), _place_name)
    moved = _by_name(moved_places, _place_name)
    sign = 1 if size.kind == CREATION else -1
    # The worker may know nodes of a place that the request does not name.
    rows = [
        PlaceChange(name, before[name], max(before[name] + sign * moved[name], 0))
        for name in (*sorted(before), *sorted(moved.keys() - before))
    ]
    kind = 'nodes' if victims else 'zones' if any(zone for _, zone in moved_places) else 'regions'
    return {kind: rows}


def _place_name(place: Location) -> str:
    return '/'.join(filter(None, place)) or NO_PLACE


def _moved(data: ActionData, size: Size, gone: Counter[Location]) -> Counter[Location]:
    if not size.count:
        return Counter()
    entries = Placement.of(data.data.get('placement')).places if size.kind == CREATION else ()
    return Counter(entries) or gone or explanations.planned_by_place(data.change(size.kind))


def _by_name(places: Counter[Location], name: Callable[[Location], str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for place, count in places.items():
        counts[name(place)] += count
    return counts
