"""Changes of the members of a pool: for nodes that were created, recovered, or are to be deleted.

A change is planned from the members that the pool has, whatever an earlier check stored: its reply
may be lost, and addresses are used again. All nodes whose member could not be changed get a
warning; the others keep what was done for them, so that a repeated check only does the rest.

:source: senlin/policies/lb_policy.py of Senlin 16, for the texts of failures.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import override

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import CheckRequest, Node, NodePatch
from placement_worker.contract.values import text_or_none
from placement_worker.errors import LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.formats.text import counted
from placement_worker.octavia.pools import Additions, Member, Members, Pool, key_of
from placement_worker.octavia.updater import Statistics, cause
from placement_worker.policies.base import Outcome, State
from placement_worker.policies.load_balancing.node_addresses import MembersOf

# The key of a node's data that holds the id of its member.
MEMBER = 'lb_member'
# The key that an engine sets, and its value for a node that has a new server.
RECOVERY, RECREATED = 'recovery', 'RECREATE'
UNKNOWN_NODE = 'The cluster has no such node'
# The reason of the status of a node whose failure is repaired.
REPAIRED = 'Succeeded in adding node into lb pool.'
# The approximate duration of an update of a load balancer; 0.5 to 1.5 s were measured.
_UPDATE_S = 1.0


@dataclass
class Plan:
    """The changes of a pool, and the nodes that need none.

    :ivar members: the present ones; an addition leaves out those that it removes.
    :ivar remove: member id -> node id.
    :ivar add: the members to add, unless they are present.
    :ivar already_there: the ids of nodes whose members are present; others may turn out to be.
    :ivar passed_over: the ids of nodes without a member to remove.
    :ivar failed: node id -> cause.
    """

    members: Members
    remove: Mapping[str, str] = field(default_factory=dict)
    add: Sequence[Member] = ()
    already_there: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MemberChange(ABC):
    """A change of the members of some nodes.

    :cvar failure: the message if nodes fail, which their ids follow.
    :cvar node_failure: the message in the status of such a node.
    :ivar alone: whether no other client changes the pool at the same time.
    """

    state: State
    nodes: Sequence[Node]
    dry_run: bool = False
    alone: bool = False

    failure: ClassVar[str]
    node_failure: ClassVar[str]

    def run(self, pool: Pool, members_of: MembersOf) -> Outcome:
        """Plan the change and carry it out.

        :raises LoadBalancerFailed: nodes have failed; `nodes` has their patches.
        :raises RequestExpired: the request expired.
        """
        with self.all_failed_on_error(pool.pool_id, pool.updater.statistics):
            plan = self.plan(pool, members_of)
        result = _Result(
            pool.pool_id,
            pool.updater.statistics,
            already_there=plan.already_there,
            passed_over=plan.passed_over,
            failed=plan.failed,
        )
        if self.dry_run:
            return self._planned(pool, plan, result)
        kept = self._remove(pool, plan, result)
        add = [member for member in plan.add if member.node_id not in kept]
        if add:
            result.include(pool.add(add, plan.members))
        return result.outcome(self.failure, self._patches(result, kept))

    @abstractmethod
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        """Compare the pool with the nodes."""

    @abstractmethod
    def outdated(self, failed: Collection[str], kept: Collection[str]) -> dict[str, Sequence[str]]:
        """Return the keys to drop from the data of nodes: node id -> keys.

        :param kept: the failed nodes whose members to remove are still present.
        """

    def unknown_failures(self) -> dict[str, str]:
        """Return the causes for ids that no node has."""
        return {}

    @contextmanager
    def all_failed_on_error(self, pool_id: str, statistics: Statistics) -> Iterator[None]:
        """Let all nodes fail if the block, which writes nothing, fails.

        :raises LoadBalancerFailed: the block failed.
        """
        try:
            yield
        except (ApiError, Rejected) as exc:
            failed = self.unknown_failures() | dict.fromkeys(
                (node.id for node in self.nodes), cause(exc)
            )
            result = _Result(pool_id, statistics, failed=failed)
            nodes = {} if self.dry_run else self._patches(result, kept=failed)
            reason = failure_text(self.failure, failed) if failed else cause(exc)
            raise LoadBalancerFailed(reason, result.details(), nodes) from exc

    def stored_member(self, node: Node) -> str | None:
        return text_or_none(self.state.node_data(node).get(MEMBER))

    def _planned(self, pool: Pool, plan: Plan, result: '_Result') -> Outcome:
        present, missing = plan.members.compare(plan.add)
        result.include(present)
        result.added = [member.node_id for member in missing]
        result.removed = list(dict.fromkeys(plan.remove.values()))
        updates = pool.updates_to_add(len(missing))
        updates += pool.updates_to_remove(len(plan.remove), alone=self.alone)
        return result.planned_outcome(updates)

    def _remove(self, pool: Pool, plan: Plan, result: '_Result') -> set[str]:
        """Remove members; return the nodes whose members are still present."""
        failures = pool.remove(plan.remove, alone=self.alone) if plan.remove else {}
        kept = {plan.remove[member_id]: cause(exc) for member_id, exc in failures.items()}
        result.failed |= kept
        result.expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        result.removed = [
            node_id for node_id in dict.fromkeys(plan.remove.values()) if node_id not in kept
        ]
        return set(kept)

    def _patches(self, result: '_Result', kept: Collection[str]) -> dict[str, NodePatch]:
        """Return the patches of the nodes; without a status for failures if the request expired."""
        outdated = self.outdated(result.failed, kept)
        members = {*result.members, *result.already_there}
        patches: dict[str, NodePatch] = {}
        for node in self.nodes:
            drop = outdated.get(node.id, ())
            if node.id in result.failed:
                failure = None if result.expired else self.node_failure
                patches |= node_patch(self.state, node, drop, failure=failure)
            else:
                repaired = self.node_failure if node.id in members else None
                member_id = result.members.get(node.id)
                patches |= node_patch(self.state, node, drop, member_id, repaired=repaired)
        return patches


@dataclass(frozen=True)
class MemberAddition(MemberChange):
    """Add members for nodes that are not in the pool.

    :ivar unknown_ids: ids that no node of the cluster has.
    :ivar recreated: whether the nodes have new servers, so that their members are outdated.
    """

    unknown_ids: Sequence[str] = ()
    recreated: bool = False

    failure = 'Failed in adding nodes into lb pool'
    node_failure = 'Failed in adding node into lb pool.'

    @override
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        members = pool.members()
        if members is None:
            raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more')
        members = members.remaining()
        stored = {self.stored_member(node): node.id for node in self.nodes}
        ids = members.by_id
        present = {member_id: node for member_id, node in stored.items() if member_id in ids}
        failed = self.unknown_failures()
        if self.recreated:
            add, without_address = members_of(self.nodes)
            remove = present | self._elsewhere(members, add)
            return Plan(members.without(remove), remove, add, failed=failed | without_address)
        known = set(present.values())
        add, without_address = members_of([node for node in self.nodes if node.id not in known])
        already_there = list(present.values())
        return Plan(members, add=add, already_there=already_there, failed=failed | without_address)

    @override
    def outdated(self, failed: Collection[str], kept: Collection[str]) -> dict[str, Sequence[str]]:
        if not self.recreated:
            return {}
        return {
            node.id: (RECOVERY,) if node.id in kept else (RECOVERY, MEMBER) for node in self.nodes
        }

    @override
    def unknown_failures(self) -> dict[str, str]:
        return dict.fromkeys(self.unknown_ids, UNKNOWN_NODE)

    def _elsewhere(self, members: Members, wanted: Sequence[Member]) -> dict[str, str]:
        """Return the nodes' members at other addresses than theirs: member id -> node id."""
        keys = {member.node_id: member.key for member in wanted}
        return {
            member_id: node.id
            for node in self.nodes
            for member_id in sorted(members.by_node.get(node.id, ()))
            if key_of(members.by_id[member_id]) != keys.get(node.id)
        }


class MemberRemoval(MemberChange):
    """Remove the members of nodes, and those left behind at their addresses."""

    failure = 'Failed in removing deleted node(s) from lb pool'
    node_failure = 'Failed in removing node from lb pool.'

    @override
    def plan(self, pool: Pool, members_of: MembersOf) -> Plan:
        members = self._members(pool)
        remove: dict[str, str] = {}
        without_member = []
        for node in self.nodes:
            stored = self.stored_member(node)
            ids = members.of_node(node.id, stored)
            remove.update(dict.fromkeys(sorted(ids), node.id))
            if not ids and not stored:
                without_member.append(node)
        left_behind, failed = _left_behind(members, without_member, members_of)
        treated = {*left_behind.values(), *failed}
        passed_over = [node.id for node in without_member if node.id not in treated]
        return Plan(members, remove | left_behind, passed_over=passed_over, failed=failed)

    @override
    def outdated(self, failed: Collection[str], kept: Collection[str]) -> dict[str, Sequence[str]]:
        return {node.id: (MEMBER,) for node in self.nodes if node.id not in failed}

    def _members(self, pool: Pool) -> Members:
        """Return the members before the check; a pool that is gone has none."""
        listed = self.state.cloud.pool_members.get(pool.pool_id)
        members = pool.members() if listed is None else pool.members_of(listed)
        return members or pool.members_of([])


def _left_behind(
    members: Members, nodes: Sequence[Node], members_of: MembersOf
) -> tuple[dict[str, str], dict[str, str]]:
    """Return members left behind by deleted nodes whose addresses were reused.

    The nodes fail if their addresses cannot be looked up.

    :returns: member id -> id of the node that has the address now; node id -> cause.
    """
    left = members.left_behind
    if not left or not nodes:
        return {}, {}
    try:
        wanted, _without_address = members_of(nodes)
    except Rejected as exc:
        return {}, dict.fromkeys((node.id for node in nodes), str(exc))
    return {left[member.key]: member.node_id for member in wanted if member.key in left}, {}


@dataclass
class _Result:
    """The nodes that were added and removed, as `details` lists them.

    :ivar failed: node id -> cause.
    :ivar members: node id -> id of a member that the policy added.
    :ivar expired: whether the request expired before the changes were complete.
    """

    pool_id: str
    statistics: Statistics
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    already_there: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    expired: bool = False

    def include(self, additions: Additions) -> None:
        self.added += additions.added
        self.already_there += [*additions.adopted, *additions.foreign]
        self.members |= {**additions.added, **additions.adopted}
        self.failed |= additions.failed
        self.expired = self.expired or additions.expired

    def outcome(self, failure: str, patches: Mapping[str, NodePatch]) -> Outcome:
        """Return the outcome of the policy.

        :param failure: the message if nodes have failed.
        :raises RequestExpired: the request expired.
        :raises LoadBalancerFailed: nodes have failed; `nodes` has the patches.
        """
        details = self.details()
        if self.expired:
            raise RequestExpired('Request expired', details, patches)
        if self.failed:
            raise LoadBalancerFailed(failure_text(failure, self.failed), details, patches)
        return Outcome('APPLIED', self._summary(), nodes=patches, details=details)

    def planned_outcome(self, updates: int) -> Outcome:
        """Return the outcome of a dry run.

        :param updates: the number of updates that the changes would take.
        """
        reason = f'{self._summary("to be ")}, in {counted(updates, "update")}; nothing was written'
        estimate = {'updates': updates, 'estimated_s': updates * _UPDATE_S}
        return Outcome('APPLIED', reason, details={**self._nodes(), **estimate})

    def details(self) -> dict[str, Any]:
        return {
            **self._nodes(),
            'updates': self.statistics.updates,
            'waited_s': round(self.statistics.waited_s, 3),
        }

    def _nodes(self) -> dict[str, Any]:
        return {
            'pool': self.pool_id,
            'added': self.added,
            'removed': self.removed,
            'already_there': self.already_there,
            'passed_over': self.passed_over,
            'failed': dict(sorted(self.failed.items())),
            'api_calls': self.statistics.calls,
        }

    def _summary(self, prefix: str = '') -> str:
        counts = {
            f'{prefix}removed': self.removed,
            f'{prefix}added': self.added,
            'in the pool already': self.already_there,
        }
        parts = [f'{len(ids)} {what}' for what, ids in counts.items() if ids]
        return ', '.join(parts) or 'Nothing to change'


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
    state: State,
    node: Node,
    outdated: Sequence[str] = (),
    member_id: str | None = None,
    *,
    failure: str | None = None,
    repaired: str | None = None,
) -> dict[str, NodePatch]:
    """Return the patch of a node by its id; nothing if it stays the same.

    :param outdated: the keys to drop from its data.
    :param member_id: the id of its new member.
    :param failure: the message for its status, if it has failed.
    :param repaired: the message of an earlier failure that its member ends.
    """
    before = state.node_data(node)
    after = {key: value for key, value in before.items() if key not in outdated}
    if member_id:
        after[MEMBER] = member_id
    if failure is not None:
        return {node.id: NodePatch(after, *_failed_status(node, failure))}
    if repaired and (node.status, node.status_reason) == ('WARNING', repaired):
        return {node.id: NodePatch(after, 'ACTIVE', REPAIRED)}
    return {node.id: NodePatch(after)} if after != before else {}


def _failed_status(node: Node, message: str) -> tuple[str, str]:
    """Return the status and reason of a failed node; an unhealthy one keeps its earlier reason."""
    if node.status not in ('WARNING', 'ERROR'):
        return 'WARNING', message
    before = node.status_reason or message
    return node.status, before if message in before else f'{before.rstrip(". ")}. {message}'
