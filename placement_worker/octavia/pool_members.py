"""Relate the members of a pool to the nodes of a cluster."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from placement_worker.cloud.ports import Resource
from placement_worker.planning.pool_difference import Key, Member, by_key

NODE_TAG = 'placement-worker:node='
"""The prefix of the tag that names the node of a member."""


@dataclass
class Additions:
    """The outcome of adding members, by node id.

    :ivar added: ids of new members.
    :ivar adopted: ids of members that an earlier attempt added.
    :ivar foreign: ids of members at the same address that this policy did not add.
    :ivar failed: causes.
    :ivar expired: whether the request expired.
    """

    adopted: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Ownership:
    """The rules that tell which members belong to which nodes.

    :ivar tags: the tags of all members that the policy adds.
    :ivar nodes: the ids of the cluster's nodes. A member with the tags of another node belongs to
        the node at its address.
    """

    tags: Sequence[str]
    nodes: frozenset[str] = frozenset()

    def by_node(self, members: Iterable[Resource]) -> dict[str, set[str]]:
        """Return the members that the policy added: node id -> member ids."""
        own, found = set(self.tags), defaultdict(set)
        for member in members:
            tags = member.get('tags') or ()
            for tag in tags if own <= set(tags) else ():
                if tag.startswith(NODE_TAG):
                    found[tag.removeprefix(NODE_TAG)].add(member['id'])
        return found

    def left_behind(self, members: Iterable[Resource]) -> dict[Key, str]:
        """Return the members of nodes that no longer exist: address and port -> member id."""
        own = [member for member in members if set(self.tags) <= set(member.get('tags') or ())]
        of_nodes = self.by_node(own)
        kept = set().union(*(of_nodes[node_id] for node_id in of_nodes.keys() & self.nodes))
        return {at: member['id'] for at, member in by_key(own).items() if member['id'] not in kept}

    def compare(
        self, wanted: Sequence[Member], shown: Sequence[Resource]
    ) -> tuple[Additions, list[Member]]:
        """Return the wanted members that are present, and those that are missing or not ACTIVE.

        :param wanted: members with different addresses and ports.
        :param shown: all members of the pool.
        """
        result, missing = Additions(), []
        present, own, left = by_key(shown), self.by_node(shown), self.left_behind(shown)
        for member in wanted:
            there = present.get(member.key)
            owned = {left.get(member.key), *own.get(member.node_id, ())}
            if there is not None and there['id'] not in owned:
                result.foreign[member.node_id] = there['id']
            elif there is not None and there['provisioning_status'] == 'ACTIVE':
                result.adopted[member.node_id] = there['id']
            else:
                missing.append(member)
        return result, missing

    def body(self, member: Member, subnet_id: str | None) -> Resource:
        """Return the body of Octavia's API for a new member."""
        return {
            'name': member.name,
            'address': member.address,
            'protocol_port': member.port,
            'subnet_id': subnet_id,
            'weight': 1,
            'admin_state_up': True,
            'backup': False,
            'monitor_address': None,
            'monitor_port': None,
            'tags': [*self.tags, NODE_TAG + member.node_id],
        }


def without(members: Iterable[Resource], member_ids: Iterable[str]) -> list[Resource]:
    """Return the bodies of a batch update that keeps all members but these.

    A batch resets each attribute that a body omits, so a body names all attributes.
    """
    removed = set(member_ids)
    return [
        {name: member[name] for name in ATTRIBUTES if name in member}
        for member in members
        if member['id'] not in removed
    ]


ATTRIBUTES = (
    'address', 'admin_state_up', 'backup', 'monitor_address', 'monitor_port', 'name',
    'protocol_port', 'subnet_id', 'tags', 'weight',
)  # fmt: skip
"""The attributes of a member that can be set."""


def status_text(member: Mapping[str, object] | None) -> str:
    """Return the cause of a failure that only the member itself shows."""
    if member is None:
        return 'Octavia does not show the member'
    return f'the member is in {member["provisioning_status"]}'
