"""The members of a pool: which ones this policy added, and to which nodes they belong.

A member that another client added at a wanted address is neither changed nor adopted.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from placement_worker.cloud.ports import Resource
from placement_worker.errors import RequestExpired
from placement_worker.octavia.api_errors import cause

Key = tuple[str, int]
"""The address and protocol port of a member, which Octavia keeps unique within a pool."""
NODE_TAG = 'placement-worker:node='
"""The prefix of the tag that names the node of a member."""


@dataclass(frozen=True, slots=True)
class Member:
    """A node as a member of a pool, present or wanted."""

    node_id: str
    name: str
    address: str
    port: int

    @property
    def key(self) -> Key:
        """The identity of the member within its pool."""
        return _key(self.address, self.port)


def key_of(shown: Resource) -> Key:
    """Return the identity of a member that Octavia shows."""
    return _key(shown['address'], shown['protocol_port'])


def _key(address: str, port: int) -> Key:
    """Return the identity of a member, the same for all notations of its address."""
    try:
        return str(ipaddress.ip_address(address)), port
    except ValueError:
        return address, port


def by_key(shown: Iterable[Resource]) -> dict[Key, Resource]:
    """Return members as Octavia shows them, by address and port."""
    return {key_of(member): member for member in shown}


def duplicates(members: Sequence[Member]) -> dict[str, str]:
    """Return the nodes whose address an earlier node has: node id -> id of the earlier node."""
    first: dict[Key, str] = {}
    return {
        member.node_id: first[member.key]
        for member in members
        if first.setdefault(member.key, member.node_id) != member.node_id
    }


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

    def note_added(
        self,
        result: Additions,
        missing: Sequence[Member],
        shown: Sequence[Resource],
        failures: Mapping[Key, Exception],
    ) -> None:
        """Find out which missing members were added, and the causes for the others.

        :param shown: all members of the pool after the attempt to add.
        """
        present, lacking = self.compare(missing, shown)
        result.added = present.adopted
        result.foreign |= present.foreign
        result.expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        found = by_key(shown)
        for member in lacking:
            failure, there = failures.get(member.key), found.get(member.key)
            if failure:
                result.failed[member.node_id] = cause(failure)
            elif there is not None and there['provisioning_status'] == 'PENDING_UPDATE':
                # The member was ACTIVE; another worker sends the same update.
                result.added[member.node_id] = there['id']
            else:
                result.failed[member.node_id] = _status_text(there)

    def bodies(self, members: Iterable[Member], subnet_id: str | None) -> dict[Key, Resource]:
        """Return the bodies of Octavia's API for new members, by address and port."""
        return {
            member.key: {
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
            for member in members
        }


def _status_text(member: Resource | None) -> str:
    """Return the cause of a failure that only the member itself shows."""
    if member is None:
        return 'Octavia does not show the member'
    return f'the member is in {member["provisioning_status"]}'
