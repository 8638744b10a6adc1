"""Remove the members of nodes from a pool."""

from collections.abc import Collection, Sequence

from typing_extensions import override

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.contract.model import Node
from placement_worker.errors import Rejected
from placement_worker.octavia.api_errors import NOT_FOUND
from placement_worker.octavia.pools import Pool
from placement_worker.policies.load_balancing.member_change import MemberChange, Plan
from placement_worker.policies.load_balancing.node_addresses import WantedMembers
from placement_worker.policies.load_balancing.node_patches import MEMBER
from placement_worker.policies.load_balancing.results import NOT_REMOVED, Result


class MemberRemoval(MemberChange):
    """Remove the members of nodes."""

    failure = NOT_REMOVED

    @override
    def plan(self, pool: Pool, wanted: WantedMembers, result: Result) -> Plan:
        known = self.state.cloud.pool_members
        shown = known[pool.pool_id] if pool.pool_id in known else _members(pool)
        present, own = {member['id'] for member in shown}, pool.ownership.by_node(shown)
        remove: dict[str, str] = {}
        without_member = []
        for node in self.nodes:
            stored = self._stored_member(node)
            ids = present & {stored, *own.get(node.id, ())}
            remove.update(dict.fromkeys(sorted(ids), node.id))
            if not ids and not stored:
                without_member.append(node)
        left_behind = _left_behind(pool, shown, without_member, wanted, result)
        treated = {*left_behind.values(), *result.failed}
        result.passed_over = [node.id for node in without_member if node.id not in treated]
        return Plan(shown, remove | left_behind)

    @override
    def outdated(self, result: Result, kept: Collection[str]) -> dict[str, Sequence[str]]:
        return {node.id: (MEMBER,) for node in self.nodes if node.id not in result.failed}


def _left_behind(
    pool: Pool,
    shown: Sequence[Resource],
    nodes: Sequence[Node],
    wanted: WantedMembers,
    result: Result,
) -> dict[str, str]:
    """Return members left behind by deleted nodes whose addresses were reused.

    The nodes fail if their addresses cannot be looked up.

    :returns: member id -> id of the node that has the address now.
    """
    left = pool.ownership.left_behind(shown)
    if not left or not nodes:
        return {}
    try:
        found, _without_address = wanted.members(nodes)
    except Rejected as exc:
        result.failed = dict.fromkeys((node.id for node in nodes), str(exc))
        return {}
    return {left[member.key]: member.node_id for member in found if member.key in left}


def _members(pool: Pool) -> list[Resource]:
    """Return the members of a pool; a pool that is gone has none."""
    try:
        return pool.members()
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        return []
