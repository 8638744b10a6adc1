"""Remove the members of nodes from a pool."""

from collections.abc import Collection, Sequence

from typing_extensions import override

from placement_worker.contract.model import Node
from placement_worker.errors import Rejected
from placement_worker.octavia.pools import Members, Pool
from placement_worker.policies.load_balancing.member_change import MemberChange, Plan
from placement_worker.policies.load_balancing.node_addresses import WantedMembers
from placement_worker.policies.load_balancing.node_patches import MEMBER
from placement_worker.policies.load_balancing.results import NOT_REMOVED, Result


class MemberRemoval(MemberChange):
    """Remove the members of nodes."""

    failure = NOT_REMOVED

    @override
    def plan(self, pool: Pool, wanted: WantedMembers, result: Result) -> Plan:
        members = self._members(pool)
        remove: dict[str, str] = {}
        without_member = []
        for node in self.nodes:
            stored = self._stored_member(node)
            ids = members.of_node(node.id, stored)
            remove.update(dict.fromkeys(sorted(ids), node.id))
            if not ids and not stored:
                without_member.append(node)
        left_behind = _left_behind(members, without_member, wanted, result)
        treated = {*left_behind.values(), *result.failed}
        result.passed_over = [node.id for node in without_member if node.id not in treated]
        return Plan(members, remove | left_behind)

    def _members(self, pool: Pool) -> Members:
        """Return the members before the check; a pool that is gone has none."""
        listed = self.state.cloud.pool_members.get(pool.pool_id)
        members = pool.members() if listed is None else pool.members_of(listed)
        return members or pool.members_of([])

    @override
    def outdated(self, result: Result, kept: Collection[str]) -> dict[str, Sequence[str]]:
        return {node.id: (MEMBER,) for node in self.nodes if node.id not in result.failed}


def _left_behind(
    members: Members,
    nodes: Sequence[Node],
    wanted: WantedMembers,
    result: Result,
) -> dict[str, str]:
    """Return members left behind by deleted nodes whose addresses were reused.

    The nodes fail if their addresses cannot be looked up.

    :returns: member id -> id of the node that has the address now.
    """
    left = members.left_behind
    if not left or not nodes:
        return {}
    try:
        found, _without_address = wanted.members(nodes)
    except Rejected as exc:
        result.failed = dict.fromkeys((node.id for node in nodes), str(exc))
        return {}
    return {left[member.key]: member.node_id for member in found if member.key in left}
