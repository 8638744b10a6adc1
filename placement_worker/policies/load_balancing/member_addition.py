"""Add members for nodes to a pool."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from typing_extensions import override

from placement_worker.errors import LoadBalancerFailed
from placement_worker.octavia.pools import Member, Members, Pool, key_of
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
        members = pool.members()
        if members is None:
            raise LoadBalancerFailed(f'Pool {pool.pool_id} does not exist any more')
        members = members.remaining()
        stored = {self._stored_member(node): node.id for node in self.nodes}
        present = {
            member_id: stored[member_id] for member_id in stored if member_id in members.by_id
        }
        if not self.recreated:
            result.already_there = list(present.values())
        known = set(result.already_there)
        add, failed = wanted.members([node for node in self.nodes if node.id not in known])
        result.failed |= failed
        if not self.recreated:
            return Plan(members, add=add)
        remove = present | self._elsewhere(members, add)
        return Plan(members.without(remove), remove, add)

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

    def _elsewhere(self, members: Members, wanted: Sequence[Member]) -> dict[str, str]:
        """Return the nodes' members at other addresses than theirs: member id -> node id."""
        keys = {member.node_id: member.key for member in wanted}
        return {
            member_id: node.id
            for node in self.nodes
            for member_id in sorted(members.by_node.get(node.id, ()))
            if key_of(members.by_id[member_id]) != keys.get(node.id)
        }
