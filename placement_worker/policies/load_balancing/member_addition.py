"""Add members for nodes to a pool."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from typing_extensions import override

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import LoadBalancerFailed
from placement_worker.octavia.api_errors import NOT_FOUND
from placement_worker.octavia.member_ownership import Member, key_of
from placement_worker.octavia.pools import Pool
from placement_worker.policies.load_balancing.member_change import MemberChange, Plan
from placement_worker.policies.load_balancing.node_addresses import WantedMembers
from placement_worker.policies.load_balancing.node_patches import MEMBER
from placement_worker.policies.load_balancing.results import NOT_ADDED, Result

UNKNOWN_NODE = 'The cluster has no such node'


@dataclass(frozen=True)
class MemberAddition(MemberChange):
    """Add members for nodes.

    :ivar unknown_ids: ids that no node of the cluster has.
    :ivar recreated: whether the nodes have new servers, so that their members are outdated.
    """

    unknown_ids: Sequence[str] = ()
    recreated: bool = False

    failure = NOT_ADDED

    @override
    def plan(self, pool: Pool, wanted: WantedMembers, result: Result) -> Plan:
        result.failed = self.unknown_failures()
        shown = _remaining(pool)
        present = self._present(shown)
        if not self.recreated:
            result.already_there = list(present.values())
        known = set(result.already_there)
        add, failed = wanted.members([node for node in self.nodes if node.id not in known])
        result.failed |= failed
        if not self.recreated:
            return Plan(shown, add=add)
        remove = present | self._elsewhere(pool, shown, add)
        return Plan([member for member in shown if member['id'] not in remove], remove, add)

    @override
    def outdated(self, result: Result, kept: Collection[str]) -> dict[str, Sequence[str]]:
        if not self.recreated:
            return {}
        return {
            node.id: ('recovery',) if node.id in kept else ('recovery', MEMBER)
            for node in self.nodes
        }

    @override
    def unknown_failures(self) -> dict[str, str]:
        return dict.fromkeys(self.unknown_ids, UNKNOWN_NODE)

    def _present(self, shown: Sequence[Resource]) -> dict[str, str]:
        """Return the members in the nodes' data that are present: member id -> node id."""
        there = {member['id'] for member in shown}
        stored = {str(self.state.node_data(node).get(MEMBER)): node.id for node in self.nodes}
        return {member_id: node_id for member_id, node_id in stored.items() if member_id in there}

    def _elsewhere(
        self, pool: Pool, shown: Sequence[Resource], wanted: Sequence[Member]
    ) -> dict[str, str]:
        """Return the nodes' members at other addresses than theirs: member id -> node id."""
        own, at = pool.ownership.by_node(shown), {member.node_id: member.key for member in wanted}
        keys = {member['id']: key_of(member) for member in shown}
        return {
            member_id: node.id
            for node in self.nodes
            for member_id in sorted(own.get(node.id, ()))
            if keys[member_id] != at.get(node.id)
        }


def _remaining(pool: Pool) -> list[Resource]:
    """Return the members of a pool that are not being deleted.

    :raises LoadBalancerFailed: the pool is gone.
    """
    try:
        return pool.remaining()
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more') from exc
