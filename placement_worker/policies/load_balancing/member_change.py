"""Changes of the members of a pool: for nodes that were created, recovered, or are to be deleted.

A change is planned from the members that the pool has, whatever an earlier check stored: its reply
may be lost, and addresses are used again. All nodes whose member could not be changed get a
warning; the others keep what was done for them, so that a repeated check only does the rest.

:source: senlin/policies/lb_policy.py of Senlin 16, for the texts of failures.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import CheckRequest, Data, Node, NodePatch
from placement_worker.contract.values import mapping_or_empty
from placement_worker.errors import LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.formats.text import counted, shortened
from placement_worker.octavia.load_balancers import find_object
from placement_worker.octavia.pools import Additions, Key, Member, Members, Pool, key_of
from placement_worker.octavia.updater import Statistics, cause
from placement_worker.policies.base import Outcome, State
from placement_worker.policies.load_balancing.node_addresses import Located, MembersOf

# The key of a node's data that holds the id of its member, and the key for further policies: policy
# id -> member id. Engines and Senlin know the first one alone.
MEMBER, MEMBERS = 'lb_member', 'lb_members'
# The key that an engine sets, and its value for a node that has a new server.
RECOVERY, RECREATED = 'recovery', 'RECREATE'
UNKNOWN_NODE = 'The cluster has no such node'
# The reason of the status of a node whose failure is repaired.
REPAIRED = 'Succeeded in adding node into lb pool.'
# The approximate duration of an update of a load balancer; 0.5 to 1.5 s were measured.
_UPDATE_S = 1.0


@dataclass(frozen=True, slots=True)
class MemberRecords:
    """The ids of a policy's members in the data of nodes, which other policies write as well.

    :ivar others: the other load-balancing policies. If none of them can have written `lb_member`,
        it names a member of this policy, even if the member is gone.
    """

    policy_id: str
    others: Set[str]

    def ids(self, data: Data) -> list[str]:
        """Return the recorded ids; `lb_member` may name a member of another policy's pool."""
        ids = (data.get(MEMBER), mapping_or_empty(data.get(MEMBERS)).get(self.policy_id))
        return [member_id for member_id in ids if isinstance(member_id, str)]

    def updated(self, data: Data, known: Collection[str], member_id: str | None = None) -> Data:
        """Return data that record another member of the policy, or none.

        :param known: the ids of members that the policy had or has in its pool.
        """
        after = {key: value for key, value in data.items() if key != MEMBERS}
        others = mapping_or_empty(data.get(MEMBERS))
        others = {key: value for key, value in others.items() if key != self.policy_id}
        first = data.get(MEMBER)
        if self.others <= others.keys() or not isinstance(first, str) or first in known:
            after.pop(MEMBER, None)
        if member_id and MEMBER in after:
            others[self.policy_id] = member_id
        elif member_id:
            after[MEMBER] = member_id
        return {**after, MEMBERS: others} if others else after


def recorded_members(data: Data) -> set[str]:
    ids = (data.get(MEMBER), *mapping_or_empty(data.get(MEMBERS)).values())
    return {member_id for member_id in ids if isinstance(member_id, str)}


@dataclass
class Plan:
    """The changes of a pool, and the nodes that need none.

    :ivar members: the present ones.
    :ivar nodes: the nodes whose data the change may concern.
    :ivar remove: member id -> node id.
    :ivar present: the members that need no change: node id -> member id.
    :ivar passed_over: the ids of nodes without a member to remove, or with a foreign one.
    :ivar failed: node id -> cause.
    """

    members: Members
    nodes: Sequence[Node]
    remove: dict[str, str] = field(default_factory=dict)
    add: list[Member] = field(default_factory=list)
    present: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MemberChange(ABC):
    """A change of the members of some nodes.

    :cvar failure: the message if nodes fail, which their ids follow.
    :cvar node_failure: the message in the status of such a node.
    :ivar cluster: all nodes of the cluster, by id.
    :ivar alone: whether no other client changes the pool at the same time.
    :ivar unknown_ids: ids that no node of the cluster has.
    :ivar ends_recovery: whether `recovery` is dropped from the data.
    """

    state: State
    nodes: Sequence[Node]
    cluster: Mapping[str, Node]
    records: MemberRecords
    dry_run: bool = False
    alone: bool = False
    unknown_ids: Sequence[str] = ()
    ends_recovery: bool = False

    failure: ClassVar[str]
    node_failure: ClassVar[str]

    def run(self, pool: Pool, members_of: MembersOf) -> Outcome:
        with self.all_failed_on_error(pool.pool_id, pool.updater.statistics):
            plan = self.plan(pool, members_of)
            if self.dry_run:
                return self._planned(pool, plan)
        result = _Result(pool.pool_id, pool.updater.statistics, plan)
        kept = self._remove(pool, result)
        add = [member for member in plan.add if member.node_id not in kept]
        if add:
            result.include(pool.add(add))
        return result.outcome(self.failure, self._patches(result, kept))

    @abstractmethod
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        """Compare the pool with the nodes."""

    @abstractmethod
    def data_after(self, node: Node, result: '_Result', known: Collection[str]) -> Data:
        """Return the data of a node after the change.

        :param known: the ids of members that the policy had or has in its pool.
        """

    @property
    def unknown_failures(self) -> dict[str, str]:
        return dict.fromkeys(self.unknown_ids, UNKNOWN_NODE)

    @contextmanager
    def all_failed_on_error(self, pool_id: str, statistics: Statistics) -> Iterator[None]:
        """Let all nodes fail if the block, which writes nothing, fails.

        :raises LoadBalancerFailed: the block failed.
        """
        try:
            yield
        except (ApiError, Rejected) as exc:
            failed = self.unknown_failures | dict.fromkeys(
                (node.id for node in self.nodes), cause(exc)
            )
            plan = Plan(Members([], ()), self.nodes, failed=failed)
            result = _Result(pool_id, statistics, plan)
            nodes = {} if self.dry_run else self._patches(result, kept=failed)
            reason = failure_text(self.failure, failed) if failed else cause(exc)
            raise LoadBalancerFailed(reason, result.details(), nodes) from exc

    def _planned(self, pool: Pool, plan: Plan) -> Outcome:
        result = _Result(pool.pool_id, pool.updater.statistics, plan)
        result.added = {member.node_id: '' for member in plan.add}
        result.removed = list(dict.fromkeys(plan.remove.values()))
        updates = pool.updates_to_add(plan.add)
        updates += pool.updates_to_remove(len(plan.remove), alone=self.alone)
        if updates:
            balancer = find_object(pool.updater, 'loadbalancer', pool.lb_id)
            status = balancer['provisioning_status'] if balancer else 'DELETED'
            if status in ('ERROR', 'DELETED'):
                text = f'Load balancer {pool.lb_id} is in {status}: the check would fail'
                plan.warnings.append(text)
        return result.planned_outcome(updates)

    def _remove(self, pool: Pool, result: '_Result') -> set[str]:
        """Remove members; return the nodes whose members are still present."""
        leaving = result.plan.remove
        failures = pool.remove(leaving, alone=self.alone) if leaving else {}
        kept = {leaving[member_id]: cause(exc) for member_id, exc in failures.items()}
        result.plan.failed |= kept
        result.expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        gone = {member_id: node_id for member_id, node_id in leaving.items() if node_id not in kept}
        result.gone, result.removed = set(gone), list(dict.fromkeys(gone.values()))
        return set(kept)

    def _patches(self, result: '_Result', kept: Collection[str]) -> dict[str, NodePatch]:
        """Return the patches of the nodes; without a status for failures if the request expired.

        :param kept: the failed nodes whose members to remove are still present.
        """
        members = result.members
        known = result.plan.members.managed | set(members.values())
        patches: dict[str, NodePatch] = {}
        for node in result.plan.nodes:
            is_failed = node.id in result.plan.failed
            before = self.state.node_data(node)
            data = before if node.id in kept else self.data_after(node, result, known)
            if self.ends_recovery:
                data = {key: value for key, value in data.items() if key != RECOVERY}
            patches |= node_patch(
                self.state,
                node,
                data,
                failure=self.node_failure if is_failed and not result.expired else None,
                repaired=self.node_failure if node.id in members else None,
            )
        return patches


@dataclass(frozen=True)
class MemberAddition(MemberChange):
    """Give nodes members at their addresses, and remove their members at other addresses.

    A member belongs to the node at its address: it is taken over if the node that has it by its
    tags or data is gone, or has another address now. The latter gets a member of its own.

    :ivar recreated: whether the nodes have new servers. Then members without an address go as well.
    :ivar repairs: whether the members of nodes that are gone are removed, too.
    """

    recreated: bool = False
    repairs: bool = False

    failure = 'Failed in adding nodes into lb pool'
    node_failure = 'Failed in adding node into lb pool.'

    @override
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        listed = pool.members()
        if listed is None:
            raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more')
        members = listed.remaining()
        located, nodes = self._locate(members, members_of)
        plan = Plan(members, nodes, warnings=list(located.warnings))
        keys = {member.node_id: member.key for member in located.members}
        for member in located.members:
            self._plan_member(plan, member, keys)
        self._plan_removal(plan, keys)
        for node_id, reason in located.failed.items():
            claimed = members.by_node.get(node_id, ())
            own = [member_id for member_id in claimed if members.claims[member_id][0] == node_id]
            if own and not self.recreated:
                plan.present[node_id] = own[0]
            else:
                plan.failed[node_id] = reason
        plan.failed = self.unknown_failures | plan.failed
        return plan

    @override
    def data_after(self, node: Node, result: '_Result', known: Collection[str]) -> Data:
        data = self.state.node_data(node)
        member_id = result.members.get(node.id)
        if member_id is None and result.lost.isdisjoint(self.records.ids(data)):
            return data
        return self.records.updated(data, known, member_id)

    def _locate(self, members: Members, members_of: MembersOf) -> tuple[Located, Sequence[Node]]:
        """Look up the nodes, and all others that claim a member at the address of one of them.

        Several servers may have exchanged their addresses, so the others are looked up as well.
        """
        located, nodes = members_of(self.nodes), list(self.nodes)
        while True:
            known = {node.id for node in nodes}
            ids = [member_id for node_id in known for member_id in members.by_node.get(node_id, ())]
            there = (members.by_key.get(member.key) for member in located.members)
            ids += [member['id'] for member in there if member]
            rivals = {rival for member_id in ids for rival in members.claims.get(member_id, ())}
            new = [self.cluster[node_id] for node_id in sorted(rivals - known)]
            if not new:
                return located, nodes
            nodes += new
            more = members_of(new)
            located = Located([*located.members, *more.members], located.failed, located.warnings)

    def _plan_member(self, plan: Plan, member: Member, keys: Mapping[str, Key]) -> None:
        there = plan.members.by_key.get(member.key)
        if there is None:
            plan.add.append(member)
            return
        claims = plan.members.claims.get(there['id'], ())
        is_shared = any(keys.get(node_id) == member.key for node_id in claims)
        if member.node_id in claims:
            is_tagged = plan.members.tagged_node(there) in (None, member.node_id)
            if is_tagged and there['provisioning_status'] == 'ACTIVE':
                plan.present[member.node_id] = there['id']
            else:
                plan.add.append(replace(member, present=there, is_kept=True))
        elif there['id'] in plan.members.managed and not is_shared:
            plan.add.append(replace(member, present=there))
        else:
            plan.passed_over.append(member.node_id)
            plan.warnings.append(foreign_text(member.node_id, there['id']))

    def _plan_removal(self, plan: Plan, keys: Mapping[str, Key]) -> None:
        """Remove members at addresses that their nodes do not have any more."""
        members, taken = plan.members, set(keys.values())
        for node in plan.nodes:
            for member_id in members.by_node.get(node.id, ()):
                key, claims = key_of(members.by_id[member_id]), members.claims[member_id]
                has_moved = all(keys.get(claim, key) != key for claim in claims)
                is_lost = self.recreated and claims == [node.id] and node.id not in keys
                if key not in taken and (has_moved or is_lost):
                    plan.remove[member_id] = node.id
        for key, member_id in members.left_behind.items() if self.repairs else ():
            node_id = members.tagged_node(members.by_id[member_id])
            if node_id is not None and key not in taken:
                plan.remove[member_id] = node_id


class MemberRemoval(MemberChange):
    """Remove the members of nodes, and those left behind at their addresses."""

    failure = 'Failed in removing deleted node(s) from lb pool'
    node_failure = 'Failed in removing node from lb pool.'

    @override
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        members = self._members(pool)
        plan = Plan(members, self.nodes)
        leaving = {node.id: node for node in self.nodes}
        contested = []
        for node in self.nodes:
            for member_id in members.by_node.get(node.id, ()):
                if leaving.keys() >= set(members.claims[member_id]):
                    plan.remove[member_id] = node.id
                else:
                    contested.append(member_id)
        without_member = [node_id for node_id in leaving if node_id not in members.by_node]
        self._plan_by_address(plan, leaving, without_member, contested, members_of)
        treated = {*plan.remove.values(), *plan.failed}
        plan.passed_over = [node_id for node_id in without_member if node_id not in treated]
        return plan

    @override
    def data_after(self, node: Node, result: '_Result', known: Collection[str]) -> Data:
        data = self.state.node_data(node)
        is_failed = node.id in result.plan.failed
        return data if is_failed else self.records.updated(data, known)

    def _plan_by_address(
        self,
        plan: Plan,
        leaving: Mapping[str, Node],
        without_member: Sequence[str],
        contested: Sequence[str],
        members_of: MembersOf,
    ) -> None:
        """Remove the members whose nodes only the addresses tell.

        The nodes fail if their addresses cannot be looked up.

        :param without_member: the ids of nodes that claim no member.
        :param contested: the ids of members that nodes which stay claim as well.
        """
        claims, left_behind = plan.members.claims, plan.members.left_behind
        ids = {node_id for member_id in contested for node_id in claims[member_id]}
        ids.update(without_member if left_behind else ())
        if not ids:
            return
        nodes = {**self.cluster, **leaving}
        try:
            located = members_of([nodes[node_id] for node_id in sorted(ids)])
        except Rejected as exc:
            plan.failed.update(dict.fromkeys(sorted(ids & leaving.keys()), str(exc)))
            return
        holders = {member.key: member.node_id for member in located.members}
        owners = {
            member_id: holders.get(key_of(plan.members.by_id[member_id]), claims[member_id][0])
            for member_id in contested
        }
        owners |= {left_behind[key]: holders[key] for key in holders if key in left_behind}
        plan.remove |= {
            member_id: node_id for member_id, node_id in owners.items() if node_id in leaving
        }

    def _members(self, pool: Pool) -> Members:
        """Return the members before the check; a pool that is gone has none."""
        listed = self.state.cloud.pool_members.get(pool.pool_id)
        members = pool.members() if listed is None else pool.members_of(listed)
        return members or pool.members_of([])


@dataclass
class _Result:
    """The nodes that were added and removed, as `details` lists them.

    :ivar plan: the plan, with the failures and warnings of its execution.
    :ivar added: node id -> id of its new member.
    :ivar gone: the ids of members that were removed.
    :ivar expired: whether the request expired before the changes were complete.
    """

    pool_id: str
    statistics: Statistics
    plan: Plan
    added: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    expired: bool = False

    @cached_property
    def members(self) -> dict[str, str]:
        """The members of nodes after the change: node id -> member id."""
        return self.plan.present | self.added

    @cached_property
    def lost(self) -> set[str]:
        """The ids of members that were removed, or that other nodes may have taken over."""
        return self.gone | set(self.added.values())

    def include(self, additions: Additions) -> None:
        self.added = additions.added
        self.plan.passed_over += additions.foreign
        self.plan.warnings += [foreign_text(*pair) for pair in additions.foreign.items()]
        self.plan.failed |= additions.failed
        self.expired = self.expired or additions.expired

    def outcome(self, failure: str, patches: Mapping[str, NodePatch]) -> Outcome:
        details, failed, warnings = self.details(), self.plan.failed, self.plan.warnings
        if self.expired:
            raise RequestExpired('Request expired', details, patches, warnings)
        if failed:
            raise LoadBalancerFailed(failure_text(failure, failed), details, patches, warnings)
        return Outcome('APPLIED', self._summary(), None, patches, None, details, warnings)

    def planned_outcome(self, updates: int) -> Outcome:
        reason = f'{self._summary("to be ")}, in {counted(updates, "update")}; nothing was written'
        estimate = {'updates': updates, 'estimated_s': updates * _UPDATE_S}
        details = {**self._nodes(), **estimate}
        return Outcome('APPLIED', reason, details=details, warnings=self.plan.warnings)

    def details(self) -> dict[str, Any]:
        return {
            **self._nodes(),
            'updates': self.statistics.updates,
            'waited_s': round(self.statistics.waited_s, 3),
        }

    def _nodes(self) -> dict[str, Any]:
        return {
            'pool': self.pool_id,
            'added': list(self.added),
            'removed': self.removed,
            'already_there': list(self.plan.present),
            'passed_over': self.plan.passed_over,
            'failed': dict(sorted(self.plan.failed.items())),
            'api_calls': self.statistics.calls,
        }

    def _summary(self, prefix: str = '') -> str:
        counts = {
            f'{prefix}removed': self.removed,
            f'{prefix}added': self.added,
            'in the pool already': self.plan.present,
        }
        parts = [f'{len(ids)} {what}' for what, ids in counts.items() if ids]
        return ', '.join(parts) or 'Nothing to change'


def foreign_text(node_id: str, member_id: str) -> str:
    return (
        f'Node {shortened(node_id)} gets no member, because its address has member {member_id} of '
        'another client, policy or node, which this policy neither changes nor removes'
    )


def failure_text(failure: str, failed: Mapping[str, str]) -> str:
    """Return a failure as Senlin words it, followed by the cause for the first node.

    :param failed: node id -> cause; not empty.
    """
    node_id, first_cause = next(iter(failed.items()))
    return f'{failure}: {list(failed)} ({node_id}: {first_cause})'


def nodes_of(request: CheckRequest, node_ids: Iterable[str]) -> tuple[list[Node], list[str]]:
    """Return the nodes with these ids, and the ids without a node.

    The action's node takes precedence over the same node of the cluster.
    """
    known = {node.id: node for node in request.cluster.nodes}
    if request.action.node is not None:
        known[request.action.node.id] = request.action.node
    wanted = list(node_ids)
    nodes = [known[node_id] for node_id in wanted if node_id in known]
    return nodes, [node_id for node_id in wanted if node_id not in known]


def node_patch(
    state: State, node: Node, data: Data, *, failure: str | None = None, repaired: str | None = None
) -> dict[str, NodePatch]:
    """Return the patch of a node by its id; nothing if it stays the same.

    :param data: its data after the change.
    :param failure: the message for its status, if it has failed.
    :param repaired: the message of an earlier failure that its member ends.
    """
    if failure is not None:
        return {node.id: NodePatch(data, *_failed_status(node, failure))}
    if repaired and (node.status, node.status_reason) == ('WARNING', repaired):
        return {node.id: NodePatch(data, 'ACTIVE', REPAIRED)}
    before = state.nodes.get(node.id, NodePatch(node.data))
    return {node.id: msgspec.structs.replace(before, data=data)} if data != before.data else {}


def _failed_status(node: Node, message: str) -> tuple[str, str]:
    """Return the status and reason of a failed node; an unhealthy one keeps its earlier reason."""
    if node.status not in ('WARNING', 'ERROR'):
        return 'WARNING', message
    before = node.status_reason or message
    return node.status, before if message in before else f'{before.rstrip(". ")}. {message}'
