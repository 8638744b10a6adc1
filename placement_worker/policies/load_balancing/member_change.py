"""Changes of the members of a pool: for nodes that were created, recovered, or are to be deleted.

A change is planned from the members that the pool has, whatever an earlier check stored: its reply
may be lost, and addresses are used again. A node whose member could not be changed gets the status
WARNING; changes for other nodes stay, so that a repeated check does only the rest.

:source: senlin/policies/lb_policy.py of Senlin 16, for the texts of failures.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Data, Node, NodePatch
from placement_worker.errors import LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.formats.text import counted, shortened
from placement_worker.octavia.load_balancers import find_object
from placement_worker.octavia.pools import Additions, Key, Member, Pool, PoolMembers, key_of
from placement_worker.octavia.updater import cause
from placement_worker.policies.base import Outcome, State
from placement_worker.policies.load_balancing.attached_pool import AttachedPool
from placement_worker.policies.load_balancing.node_addresses import Locate, Located

# The key of a node's data that an engine sets, and its value for a node that has a new server.
RECOVERY, RECREATED = 'recovery', 'RECREATE'
UNKNOWN_NODE = 'The cluster has no such node'
# The reason of the status of a node whose failure is repaired.
REPAIRED = 'Succeeded in adding node into lb pool.'
# The approximate duration of an update of a load balancer; 0.5 to 1.5 s were measured.
_UPDATE_S = 1.0


@dataclass
class PoolPlan:
    """The changes that a pool needs; once they are carried out, those that succeeded.

    :ivar before: the members before the change.
    :ivar nodes: the nodes whose data the change may concern.
    :ivar remove: member id -> node id.
    :ivar present: the members that need no change: node id -> member id.
    :ivar passed_over: the ids of nodes without a member to remove, or with a foreign one.
    :ivar failed: node id -> cause.
    :ivar added: node id -> id of its new member.
    :ivar unchanged: the ids of nodes that keep their members and data, because a change failed.
    :ivar expired: whether the request expired before the changes were complete.
    """

    before: PoolMembers
    nodes: Sequence[Node]
    remove: dict[str, str] = field(default_factory=dict)
    add: list[Member] = field(default_factory=list)
    present: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    added: Mapping[str, str] = field(default_factory=dict)
    unchanged: Collection[str] = ()
    expired: bool = False

    def carry_out(self, pool: Pool, *, is_sole_writer: bool) -> None:
        failures: Mapping[str, Exception] = {}
        if self.remove:
            failures = pool.remove(self.remove, is_sole_writer=is_sole_writer)
        causes = {self.remove[member_id]: cause(exc) for member_id, exc in failures.items()}
        self.unchanged = causes.keys()
        self.remove = {
            key: node_id for key, node_id in self.remove.items() if node_id not in causes
        }
        add = [member for member in self.add if member.node_id not in causes]
        additions = pool.add(add) if add else Additions()
        self.added = additions.added
        self.failed |= {**causes, **additions.failed}
        self.passed_over += additions.foreign
        self.warnings += [foreign_text(*pair) for pair in additions.foreign.items()]
        has_expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        self.expired = has_expired or additions.expired

    @property
    def nodes_left(self) -> list[str]:
        """The ids of the nodes whose members were removed."""
        return list(dict.fromkeys(self.remove.values()))

    @cached_property
    def after(self) -> dict[str, str]:
        """The members of nodes after the change: node id -> member id."""
        return {**self.present, **self.added}

    @cached_property
    def known_ids(self) -> set[str]:
        """The ids of members that the policy had or has in its pool."""
        return self.before.managed | set(self.after.values())

    @cached_property
    def lost_ids(self) -> set[str]:
        """The ids of members that were removed, or that other nodes may have taken over."""
        return {*self.remove, *self.added.values()}

    def summary(self, prefix: str = '') -> str:
        counts = {
            f'{prefix}removed': self.nodes_left,
            f'{prefix}added': self.added,
            'in the pool already': self.present,
        }
        parts = [f'{len(ids)} {change}' for change, ids in counts.items() if ids]
        return ', '.join(parts) or 'Nothing to change'


@dataclass(frozen=True)
class MemberChange(ABC):
    """A change of the members of some nodes.

    :cvar failure: the message if nodes fail, which their ids follow.
    :cvar node_failure: the message in the status of such a node.
    :ivar unknown_nodes: ids that no node of the cluster has -> cause.
    :ivar ends_recovery: whether `recovery` is dropped from the data.
    """

    state: State
    nodes: Sequence[Node]
    attached: AttachedPool
    dry_run: bool = False
    unknown_nodes: Mapping[str, str] = field(default_factory=dict)
    ends_recovery: bool = False

    failure: ClassVar[str]
    node_failure: ClassVar[str]

    def run(self, pool: Pool, locate: Locate) -> Outcome:
        with self.all_failed_on_error():
            plan = self.plan(pool, locate)
            if self.dry_run:
                return self._planned(pool, plan)
        plan.carry_out(pool, is_sole_writer=self.attached.is_sole_writer)
        details, patches = self._details(plan), self._patches(plan)
        if plan.expired:
            raise RequestExpired('Request expired', details, patches, plan.warnings)
        if plan.failed:
            reason = failure_text(self.failure, plan.failed)
            raise LoadBalancerFailed(reason, details, patches, plan.warnings)
        return Outcome('APPLIED', plan.summary(), None, patches, None, details, plan.warnings)

    @abstractmethod
    def plan(self, pool: Pool, locate: Locate) -> PoolPlan:
        """Compare the pool with the nodes."""

    @abstractmethod
    def data_after(self, node: Node, plan: PoolPlan) -> Data:
        """Return the data of a node after the change."""

    @contextmanager
    def all_failed_on_error(self) -> Iterator[None]:
        """Turn an error of the block, which must not write, into the failure of all nodes.

        :raises LoadBalancerFailed: the block failed.
        """
        try:
            yield
        except (ApiError, Rejected) as exc:
            failed = {
                **self.unknown_nodes,
                **dict.fromkeys((node.id for node in self.nodes), cause(exc)),
            }
            plan = PoolPlan(PoolMembers([], ()), self.nodes, failed=failed)
            patches = {} if self.dry_run else self._patches(plan)
            reason = failure_text(self.failure, failed) if failed else cause(exc)
            raise LoadBalancerFailed(reason, self._details(plan), patches) from exc

    def _planned(self, pool: Pool, plan: PoolPlan) -> Outcome:
        plan.added = {member.node_id: '' for member in plan.add}
        is_sole_writer = self.attached.is_sole_writer
        updates = pool.updates_to_add(plan.add)
        updates += pool.updates_to_remove(len(plan.remove), is_sole_writer=is_sole_writer)
        warnings = [*plan.warnings]
        if updates:
            balancer = find_object(pool.updater, 'loadbalancer', pool.lb_id)
            status = balancer['provisioning_status'] if balancer else 'DELETED'
            if status in ('ERROR', 'DELETED'):
                text = f'Load balancer {pool.lb_id} is in {status}: the check would fail'
                warnings.append(text)
        reason = f'{plan.summary("to be ")}, in {counted(updates, "update")}; nothing was written'
        details = {**self._changes(plan), 'updates': updates, 'estimated_s': updates * _UPDATE_S}
        return Outcome('APPLIED', reason, details=details, warnings=warnings)

    def _details(self, plan: PoolPlan) -> dict[str, Any]:
        statistics = self.attached.updater.statistics
        return {
            **self._changes(plan),
            'updates': statistics.updates,
            'waited_s': round(statistics.waited_s, 3),
        }

    def _changes(self, plan: PoolPlan) -> dict[str, Any]:
        return {
            'pool': self.attached.stored.pool_id,
            'added': list(plan.added),
            'removed': plan.nodes_left,
            'already_there': list(plan.present),
            'passed_over': plan.passed_over,
            'failed': dict(sorted(plan.failed.items())),
            'api_calls': self.attached.updater.statistics.calls,
        }

    def _patches(self, plan: PoolPlan) -> dict[str, NodePatch]:
        """Return the patches of the nodes; without a status for failures if the request expired."""
        patches: dict[str, NodePatch] = {}
        for node in plan.nodes:
            if node.id in plan.unchanged:
                data = self.state.node_data(node)
            else:
                data = self.data_after(node, plan)
            if self.ends_recovery:
                data = {key: value for key, value in data.items() if key != RECOVERY}
            has_failed = node.id in plan.failed and not plan.expired
            patches |= node_patch(
                self.state,
                node,
                data,
                failure=self.node_failure if has_failed else None,
                repaired=self.node_failure if node.id in plan.after else None,
            )
        return patches


@dataclass(frozen=True)
class MemberAddition(MemberChange):
    """Give nodes members at their addresses, and remove their members at other addresses.

    A member at the address of a node is taken over if the node that claims it by tags or data is
    gone, or has another address now; a node that moved gets a new member.

    :ivar recreated: whether the nodes have new servers. A node whose new address is unknown then
        loses its member.
    :ivar repairs: whether the members of nodes that are gone are removed, too.
    """

    recreated: bool = False
    repairs: bool = False

    failure = 'Failed in adding nodes into lb pool'
    node_failure = 'Failed in adding node into lb pool.'

    @override
    def plan(self, pool: Pool, locate: Locate) -> PoolPlan:
        listed = pool.members()
        if listed is None:
            raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more')
        members = listed.remaining()
        located, nodes = self._located_with_rivals(members, locate)
        plan = PoolPlan(members, nodes, warnings=list(located.warnings))
        keys = {member.node_id: member.key for member in located.members}
        for member in located.members:
            self._plan_member(plan, member, keys)
        self._plan_removals(plan, keys)
        for node_id, reason in located.failed.items():
            claimed = members.by_node.get(node_id, ())
            own = [member_id for member_id in claimed if members.claims[member_id][0] == node_id]
            if own and not self.recreated:
                plan.present[node_id] = own[0]
            else:
                plan.failed[node_id] = reason
        plan.failed = {**self.unknown_nodes, **plan.failed}
        return plan

    @override
    def data_after(self, node: Node, plan: PoolPlan) -> Data:
        data, records = self.state.node_data(node), self.attached.records
        member_id = plan.after.get(node.id)
        if member_id is None and plan.lost_ids.isdisjoint(records.ids(data)):
            return data
        return records.updated(data, plan.known_ids, member_id)

    def _located_with_rivals(
        self, members: PoolMembers, locate: Locate
    ) -> tuple[Located, Sequence[Node]]:
        """Locate the nodes, and all others that claim a member at the address of one of them.

        Several servers may have exchanged their addresses, so the rivals of rivals count as well.
        """
        located, nodes = locate(self.nodes), list(self.nodes)
        while True:
            known = {node.id for node in nodes}
            ids = [member_id for node_id in known for member_id in members.by_node.get(node_id, ())]
            occupants = (members.by_key.get(member.key) for member in located.members)
            ids += [occupant['id'] for occupant in occupants if occupant]
            rivals = {rival for member_id in ids for rival in members.claims.get(member_id, ())}
            new = [self.attached.nodes[node_id] for node_id in sorted(rivals - known)]
            if not new:
                return located, nodes
            nodes += new
            more = [*located.members, *locate(new).members]
            located = Located(more, located.failed, located.warnings)

    def _plan_member(self, plan: PoolPlan, member: Member, keys: Mapping[str, Key]) -> None:
        occupant = plan.before.by_key.get(member.key)
        if occupant is None:
            plan.add.append(member)
            return
        claims = plan.before.claims.get(occupant['id'], ())
        is_in_use = any(keys.get(node_id) == member.key for node_id in claims)
        if member.node_id in claims:
            is_tagged = plan.before.tagged_node(occupant) in (None, member.node_id)
            if is_tagged and occupant['provisioning_status'] == 'ACTIVE':
                plan.present[member.node_id] = occupant['id']
            else:
                plan.add.append(replace(member, present=occupant, is_kept=True))
        elif occupant['id'] in plan.before.managed and not is_in_use:
            plan.add.append(replace(member, present=occupant))
        else:
            plan.passed_over.append(member.node_id)
            plan.warnings.append(foreign_text(member.node_id, occupant['id']))

    def _plan_removals(self, plan: PoolPlan, keys: Mapping[str, Key]) -> None:
        """Remove members at addresses that their nodes do not have any more."""
        members, taken = plan.before, set(keys.values())
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
    def plan(self, pool: Pool, locate: Locate) -> PoolPlan:
        # All policies of a check decide from one listing; a pool that is gone has no members.
        listed = self.state.cloud.pool_members.get(pool.pool_id)
        members = pool.members() if listed is None else pool.members_of(listed)
        members = members or pool.members_of([])
        plan = PoolPlan(members, self.nodes)
        leaving = {node.id for node in self.nodes}
        contested = []  # ids of members that staying nodes claim, too
        for node in self.nodes:
            for member_id in members.by_node.get(node.id, ()):
                if leaving.issuperset(members.claims[member_id]):
                    plan.remove[member_id] = node.id
                else:
                    contested.append(member_id)
        without_member = [node.id for node in self.nodes if node.id not in members.by_node]
        self._plan_by_address(plan, without_member, contested, locate)
        treated = {*plan.remove.values(), *plan.failed}
        plan.passed_over = [node_id for node_id in without_member if node_id not in treated]
        return plan

    @override
    def data_after(self, node: Node, plan: PoolPlan) -> Data:
        data = self.state.node_data(node)
        is_failed = node.id in plan.failed
        return data if is_failed else self.attached.records.updated(data, plan.known_ids)

    def _plan_by_address(
        self,
        plan: PoolPlan,
        without_member: Sequence[str],
        contested: Sequence[str],
        locate: Locate,
    ) -> None:
        """Plan the removal of members whose owner only their address shows.

        The nodes fail if their addresses cannot be looked up.
        """
        leaving = {node.id for node in self.nodes}
        claims, left_behind = plan.before.claims, plan.before.left_behind
        ids = {node_id for member_id in contested for node_id in claims[member_id]}
        ids.update(without_member if left_behind else ())
        if not ids:
            return
        try:
            located = locate([self.attached.nodes[node_id] for node_id in sorted(ids)])
        except Rejected as exc:
            plan.failed.update(dict.fromkeys(sorted(ids & leaving), str(exc)))
            return
        holders = {member.key: member.node_id for member in located.members}
        owners = {
            member_id: holders.get(key_of(plan.before.by_id[member_id]), claims[member_id][0])
            for member_id in contested
        }
        owners |= {left_behind[key]: holders[key] for key in holders if key in left_behind}
        plan.remove |= {
            member_id: node_id for member_id, node_id in owners.items() if node_id in leaving
        }


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


def node_patch(
    state: State, node: Node, data: Data, *, failure: str | None = None, repaired: str | None = None
) -> dict[str, NodePatch]:
    """Return the patch of a node by its id; nothing if it stays the same.

    :param data: its data after the change.
    :param failure: the message for its status, if it has failed.
    :param repaired: the failure message that is cleared if the node has its member.
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
