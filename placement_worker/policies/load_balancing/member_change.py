"""Change which nodes of a cluster are members of a pool."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Node, NodePatch
from placement_worker.contract.values import text_or_none
from placement_worker.errors import LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.octavia.pools import Member, Members, Pool
from placement_worker.octavia.updater import Statistics, cause
from placement_worker.policies.base import Outcome, State
from placement_worker.policies.load_balancing.node_addresses import WantedMembers
from placement_worker.policies.load_balancing.node_patches import MEMBER, NodeChange, patches
from placement_worker.policies.load_balancing.results import (
    OF_A_NODE,
    Result,
    failure_text,
)


@dataclass
class Plan:
    """The changes of a pool.

    :ivar members: the present ones; an addition leaves out those that it removes.
    :ivar remove: member id -> node id.
    :ivar add: the members to add, unless they are present.
    """

    members: Members
    remove: Mapping[str, str] = field(default_factory=dict)
    add: Sequence[Member] = ()


@dataclass(frozen=True)
class MemberChange(ABC):
    """A change of the members of some nodes.

    :ivar alone: whether no other client changes the pool at the same time.
    """

    state: State
    nodes: Sequence[Node]
    dry_run: bool = False
    alone: bool = False

    failure: ClassVar[str]

    def run(self, pool: Pool, wanted: WantedMembers) -> Outcome:
        """Plan the change and carry it out.

        :param wanted: the desired members of nodes.
        :raises LoadBalancerFailed: nodes have failed; `nodes` has their patches.
        :raises RequestExpired: the request expired.
        """
        result = Result()
        with self.all_failed_on_error(pool.pool_id, pool.updater.statistics):
            plan = self.plan(pool, wanted, result)
        if self.dry_run:
            return self._planned(pool, plan, result)
        kept = self._remove(pool, plan, result)
        add = [member for member in plan.add if member.node_id not in kept]
        if add:
            result.include(pool.add(add, plan.members))
        nodes = self._patches(result, kept)
        return result.outcome(self.failure, pool.pool_id, pool.updater.statistics, nodes)

    @abstractmethod
    def plan(self, pool: Pool, wanted: WantedMembers, result: Result) -> Plan:
        """Compare the pool with the nodes, and note in the result the nodes without a change."""

    @abstractmethod
    def outdated(self, result: Result, kept: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the keys to drop from the data of nodes: node id -> keys.

        :param kept: the nodes whose members to remove are still present.
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
            result = Result(failed=failed)
            nodes = {} if self.dry_run else self._patches(result, kept=failed)
            reason = failure_text(self.failure, failed) if failed else cause(exc)
            raise LoadBalancerFailed(reason, result.details(pool_id, statistics), nodes) from exc

    def _planned(self, pool: Pool, plan: Plan, result: Result) -> Outcome:
        present, missing = plan.members.compare(plan.add)
        result.include(present)
        result.added = [member.node_id for member in missing]
        result.removed = list(dict.fromkeys(plan.remove.values()))
        updates = pool.updates_to_add(len(missing))
        updates += pool.updates_to_remove(len(plan.remove), alone=self.alone)
        return result.planned_outcome(pool.pool_id, pool.updater.statistics, updates)

    def _remove(self, pool: Pool, plan: Plan, result: Result) -> set[str]:
        """Remove members; return the nodes whose members are still present."""
        failures = pool.remove(plan.remove, alone=self.alone) if plan.remove else {}
        kept = {plan.remove[member_id]: cause(exc) for member_id, exc in failures.items()}
        result.failed |= kept
        result.expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        result.removed = [
            node_id for node_id in dict.fromkeys(plan.remove.values()) if node_id not in kept
        ]
        return set(kept)

    def _patches(self, result: Result, kept: Collection[str]) -> dict[str, NodePatch]:
        """Return the patches of the nodes; without a status for failures if the request expired."""
        outdated = self.outdated(result, kept)
        message = OF_A_NODE[self.failure]
        failure = None if result.expired else message
        members = {*result.members, *result.already_there}
        return patches(
            self.state,
            self.nodes,
            {
                node.id: NodeChange(outdated.get(node.id, ()), failure=failure)
                if node.id in result.failed
                else NodeChange(
                    outdated.get(node.id, ()),
                    result.members.get(node.id),
                    repaired=message if node.id in members else None,
                )
                for node in self.nodes
            },
        )

    def _stored_member(self, node: Node) -> str | None:
        return text_or_none(self.state.node_data(node).get(MEMBER))
