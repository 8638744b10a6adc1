"""Nodes of a cluster join a pool and leave it: what is written to the pool, and what becomes of the
nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypedDict

from placement_worker.cloud.ports import ApiError, Resource, Subnet
from placement_worker.contract.model import Cluster, Node, NodePatch
from placement_worker.errors import InvalidInput, LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.octavia.pools import Added, Pool, reason
from placement_worker.planning.pool_difference import Member, address_of, duplicates, key
from placement_worker.policies.base import Outcome, State
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties

NOT_ADDED = 'Failed in adding nodes into lb pool'
NOT_REMOVED = 'Failed in removing deleted node(s) from lb pool'
OF_A_NODE = {
    NOT_ADDED: 'Failed in adding node into lb pool.',
    NOT_REMOVED: 'Failed in removing node from lb pool.',
}
"""What is said of each node where that is said of all."""
STRANGER = 'The cluster has no such node'
MEMBER = 'lb_member'
"""The key of a node's data that holds the id of its member."""
UPDATE_S = 1.0
"""What an update of a load balancer takes, about: 0.5 to 1.5 s were measured."""


Find = Callable[[Sequence[Node]], tuple[list[Member], dict[str, str]]]
"""Says what members nodes should be, and why some cannot be: node id -> reason."""


@dataclass
class Ledger:
    """What became of nodes, for `details`: ids, and reasons for those that failed.

    `members`: the ids of those that we know to be ours. `late`: the caller waits no more.
    """

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    already_there: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    late: bool = False

    def book(self, added: Added) -> None:
        """Take over what the pool tells of members that were to be added."""
        self.added += added.added
        self.already_there += [*added.adopted, *added.foreign]
        self.members |= {**added.added, **added.adopted}
        self.failed |= added.failed
        self.late = self.late or added.late

    def told(self, would: str = '') -> str:
        """In a few words; `would` goes before what is still to be done."""
        counts = {
            f'{would}removed': self.removed,
            f'{would}added': self.added,
            'in the pool already': self.already_there,
        }
        return (
            ', '.join(f'{len(ids)} {what}' for what, ids in counts.items() if ids)
            or 'Nothing to change'
        )

    def details(self, pool: Pool, planned_updates: int | None = None) -> dict[str, Any]:
        """As spec.md 5 lists them; of a dry run what it would take."""
        tally = pool.driver.tally
        done = planned_updates is None
        return {
            'pool': pool.pool_id,
            'added': self.added,
            'removed': self.removed,
            'already_there': self.already_there,
            'passed_over': self.passed_over,
            'failed': dict(sorted(self.failed.items())),
            'api_calls': tally.calls,
            'updates': tally.updates if planned_updates is None else planned_updates,
            **(
                {'waited_s': round(tally.waited_s, 3)}
                if done
                else {'estimated_s': (planned_updates or 0) * UPDATE_S}
            ),
        }


@dataclass(frozen=True)
class Sought:
    """How a node is to be found as a member: its address on this network, and the port of the
    pool.
    """

    region: str | None
    subnet: Subnet
    port: int

    @classmethod
    def of(cls, state: State, cluster: Cluster, properties: LoadBalancingProperties) -> 'Sought':
        """How the nodes of a cluster are to be found in the pool.

        :raises InvalidInput: the cloud has no such subnet.
        """
        region, pool = cluster.profile.region, properties.pool
        subnet = state.cloud.subnet(region, pool.subnet)
        if subnet is None:
            raise InvalidInput(f'The cloud has no subnet {pool.subnet}, which the pool is of.')
        return cls(region, subnet, pool.protocol_port)

    def members(self, nodes: Sequence[Node], state: State) -> tuple[list[Member], dict[str, str]]:
        """The members that nodes should be, and why some cannot be: node id -> reason."""
        failed: dict[str, str] = {}
        home = self.region or state.cloud.load_balancer_region
        for node in nodes:
            region = state.cloud.region_of(node)
            if region and home and region != home:
                failed[node.id] = f'The node is in region {region}, the load balancer in {home}'
        asked = [
            node
            for node in nodes
            if node.id not in failed and not (node.details and node.details.addresses)
        ]
        servers = state.cloud.servers_of(asked)
        found = []
        for node in nodes:
            if node.id in failed:
                continue
            server = servers.get(node.physical_id or '')
            address = address_of(node, server, self.subnet.network.name, self.subnet.ip_version)
            if address is None:
                failed[node.id] = (
                    f'The node has no address of IP version {self.subnet.ip_version} on network '
                    f'{self.subnet.network.name}, which subnet {self.subnet.name} is of'
                )
            else:
                found.append(Member(node.id, node.name or node.id, address, self.port))
        twice = duplicates(found)
        failed.update(
            {node_id: f'Node {first} has the same address' for node_id, first in twice.items()}
        )
        return [member for member in found if member.node_id not in twice], failed


class Joining(TypedDict, total=False):
    """What else there is to say of nodes that join.

    `strangers`: ids that are of no node of the cluster. `recovered`: whether the members that nodes
    have, if any, are those of servers that are no more. `dry_run`: whether nothing is to be
    written.
    """

    strangers: Sequence[str]
    recovered: bool
    dry_run: bool


def leave(
    pool: Pool,
    state: State,
    nodes: Sequence[Node],
    find: Find,
    *,
    alone: bool,
    dry_run: bool = False,
) -> Outcome:
    """Take nodes out of the pool.

    :param find: says where those would be members that neither know of a member nor are known by
        one.
    :param alone: whether nobody else changes the pool meanwhile.
    :raises LoadBalancerFailed: some are still in it; `nodes` says what became of each.
    """
    ledger, doomed, lost = Ledger(), {}, []
    with looking(pool, state, nodes, NOT_REMOVED, dry_run=dry_run):
        shown = _members(pool, pool.members)
    there, ours = {member['id'] for member in shown}, pool.of_nodes(shown)
    for node in nodes:
        stored = said if isinstance(said := state.node_data(node).get(MEMBER), str) else None
        ids = there & {stored, *ours.get(node.id, ())}
        doomed.update(dict.fromkeys(sorted(ids), node.id))
        if not ids and not stored:
            lost.append(node)
    inherited, ledger.failed = _inherited(pool, shown, lost, find)
    doomed |= inherited
    found = {*inherited.values(), *ledger.failed}
    ledger.passed_over = [node.id for node in lost if node.id not in found]
    if dry_run:
        ledger.removed = list(dict.fromkeys(doomed.values()))
        return _planned(pool, ledger, pool.updates_to_remove(len(doomed), alone=alone))
    faults = pool.remove(doomed, alone=alone) if doomed else {}
    ledger.failed |= {doomed[member_id]: reason(exc) for member_id, exc in faults.items()}
    ledger.late = any(isinstance(exc, RequestExpired) for exc in faults.values())
    ledger.removed = [
        node_id for node_id in dict.fromkeys(doomed.values()) if node_id not in ledger.failed
    ]
    patches: dict[str, NodePatch] = {}
    for node in nodes:
        if node.id in ledger.failed:
            patches |= _warned(state, node, NOT_REMOVED, ledger)
        else:
            patches |= changed(state, node, (MEMBER,))
    return _outcome(pool, ledger, patches, NOT_REMOVED)


def join(
    pool: Pool,
    state: State,
    nodes: Sequence[Node],
    find: Find,
    *,
    strangers: Sequence[str] = (),
    recovered: bool = False,
    dry_run: bool = False,
) -> Outcome:
    """Add nodes to the pool.

    :param find: says what members the nodes should be.
    :param strangers: ids that are of no node of the cluster.
    :param recovered: whether the members that nodes have, if any, are those of servers that are no
        more.
    :raises LoadBalancerFailed: some are not in it; `nodes` says what became of each.
    """
    ledger = Ledger(failed=dict.fromkeys(strangers, STRANGER))
    with looking(
        pool, state, nodes, NOT_ADDED, strangers=strangers, recovered=recovered, dry_run=dry_run
    ):
        shown = _members(pool, pool.standing, must_exist=True)
        there = {member['id'] for member in shown}
        stored = {str(state.node_data(node).get(MEMBER)): node.id for node in nodes}
        present = {
            member_id: node_id for member_id, node_id in stored.items() if member_id in there
        }
        if not recovered:
            ledger.already_there = list(present.values())
        known = set(ledger.already_there)
        wanted, homeless = find([node for node in nodes if node.id not in known])
    ledger.failed |= homeless
    doomed = {**present, **_elsewhere(pool, shown, nodes, wanted)} if recovered else {}
    shown = [member for member in shown if member['id'] not in doomed]
    if dry_run:
        added, missing = pool.sort(wanted, shown)
        ledger.book(added)
        ledger.added = [member.node_id for member in missing]
        ledger.removed = list(dict.fromkeys(doomed.values()))
        return _planned(pool, ledger, pool.updates_to_add(len(missing)) + len(doomed))
    kept = _remove_old(pool, doomed, ledger)
    ledger.book(pool.add([member for member in wanted if member.node_id not in kept], shown))
    patches: dict[str, NodePatch] = {}
    for node in nodes:
        drop = _outdated(recovered, node.id in kept)
        member_id = ledger.members.get(node.id)
        if node.id in ledger.failed:
            patches |= _warned(state, node, NOT_ADDED, ledger, drop)
        else:
            patches |= changed(state, node, drop, **({MEMBER: member_id} if member_id else {}))
    return _outcome(pool, ledger, patches, NOT_ADDED)


@contextmanager
def looking(
    pool: Pool,
    state: State,
    nodes: Sequence[Node],
    failure: str,
    *,
    strangers: Sequence[str] = (),
    recovered: bool = False,
    dry_run: bool = False,
) -> Iterator[None]:
    """While it is looked at what there is: if that fails, all nodes have failed, for that reason.

    :raises LoadBalancerFailed: `failure`, or its cause alone where there are no nodes.
        Nothing was written.
    """
    try:
        yield
    except (ApiError, Rejected) as exc:
        why = {
            **dict.fromkeys(strangers, STRANGER),
            **dict.fromkeys((node.id for node in nodes), reason(exc)),
        }
        ledger = Ledger(failed=why)
        patches: dict[str, NodePatch] = {}
        for node in () if dry_run else nodes:
            patches |= _warned(state, node, failure, ledger, _outdated(recovered, kept=True))
        said = summary(failure, why) if why else reason(exc)
        raise LoadBalancerFailed(said, ledger.details(pool), patches) from exc


def summary(failure: str, failed: Mapping[str, str]) -> str:
    """Return a failure as Senlin words it, followed by the cause for the first node.

    :param failed: node id -> cause; not empty.
    """
    node_id, cause = next(iter(failed.items()))
    return f'{failure}: {list(failed)} ({node_id}: {cause})'


def changed(state: State, node: Node, drop: Iterable[str] = (), **new: Any) -> dict[str, NodePatch]:
    """The patch of a node's data: without some keys, with others; {} if that changes nothing."""
    before = state.node_data(node)
    dropped = set(drop)
    after = {**{key: value for key, value in before.items() if key not in dropped}, **new}
    return {} if after == before else {node.id: NodePatch(after)}


def _outdated(recovered: bool, kept: bool) -> tuple[str, ...]:
    """The keys of a node's data that say no more what is the case."""
    if not recovered:
        return ()
    return ('recovery',) if kept else ('recovery', MEMBER)


def _elsewhere(
    pool: Pool, shown: Sequence[Resource], nodes: Iterable[Node], wanted: Iterable[Member]
) -> dict[str, str]:
    """The members that we have added for nodes at other addresses than theirs: member id -> node
    id.
    """
    ours, where = pool.of_nodes(shown), {member.node_id: member.key for member in wanted}
    at = {member['id']: key(member['address'], member['protocol_port']) for member in shown}
    return {
        member_id: node.id
        for node in nodes
        for member_id in sorted(ours.get(node.id, ()))
        if at[member_id] != where.get(node.id)
    }


def _inherited(
    pool: Pool, shown: Sequence[Resource], lost: Sequence[Node], find: Find
) -> tuple[dict[str, str], dict[str, str]]:
    """The members of nodes that are no more, at the addresses of these ones: member id -> node id.

    :returns: and the nodes of which that cannot be told: node id -> reason.
    """
    left = pool.left_behind(shown)
    if not left or not lost:
        return {}, {}
    try:
        wanted, _homeless = find(lost)
    except Rejected as exc:
        return {}, dict.fromkeys((node.id for node in lost), str(exc))
    return {left[member.key]: member.node_id for member in wanted if member.key in left}, {}


def _remove_old(pool: Pool, doomed: Mapping[str, str], ledger: Ledger) -> set[str]:
    """Take the members of servers that are no more out of the pool; the nodes of those that are
    still there.
    """
    faults = pool.remove(doomed, alone=False)
    kept = {doomed[member_id]: reason(exc) for member_id, exc in faults.items()}
    ledger.failed |= kept
    ledger.late = any(isinstance(exc, RequestExpired) for exc in faults.values())
    ledger.removed = [node_id for node_id in dict.fromkeys(doomed.values()) if node_id not in kept]
    return set(kept)


def _members(
    pool: Pool, shown: Callable[[], list[Resource]], *, must_exist: bool = False
) -> list[Resource]:
    """What the pool shows; of one that is gone nothing.

    :raises LoadBalancerFailed: it is gone, and must not be.
    :raises ApiError: Octavia does not say.
    """
    try:
        return shown()
    except ApiError as exc:
        if exc.status != 404:
            raise
        if must_exist:
            raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more') from exc
        return []


def _warned(
    state: State, node: Node, failure: str, ledger: Ledger, drop: Iterable[str] = ()
) -> dict[str, NodePatch]:
    """The patch of a node that was to be changed, but nobody waits any more: what is the case,
    without a warning.
    """
    patch = changed(state, node, drop)
    if ledger.late:
        return patch
    data = patch[node.id].data if patch else dict(state.node_data(node))
    return {node.id: NodePatch(data, *_worse(node, OF_A_NODE[failure]))}


def _worse(node: Node, said: str) -> tuple[str, str]:
    """Return status and reason of a node that failed here; one in ERROR stays so, and keeps its
    reason.
    """
    before = node.status_reason or ''
    if node.status != 'ERROR' or not before:
        return 'ERROR' if node.status == 'ERROR' else 'WARNING', said
    return 'ERROR', before if said in before else f'{before.rstrip(". ")}. {said}'


def _planned(pool: Pool, ledger: Ledger, updates: int) -> Outcome:
    """What a dry run says."""
    said = f'{ledger.told("to be ")}, in {updates} update{"" if updates == 1 else "s"}; nothing was written'
    return Outcome('APPLIED', said, details=ledger.details(pool, updates))


def _outcome(pool: Pool, ledger: Ledger, patches: Mapping[str, NodePatch], failure: str) -> Outcome:
    details = ledger.details(pool)
    if ledger.late:
        raise RequestExpired('Request expired', details, patches)
    if ledger.failed:
        raise LoadBalancerFailed(summary(failure, ledger.failed), details, patches)
    return Outcome('APPLIED', ledger.told(), nodes=patches, details=details)
