"""The members of a pool: to which nodes they belong, and how they are added and removed.

Replies get lost, workers die half way, and addresses are used again after a node is deleted.
Therefore the tags of the members in the pool say which members are this policy's and to which
nodes they belong, not what earlier checks stored. A member that another client added at a wanted
address is neither changed nor adopted.

All members change in one update of the load balancer where that is safe, because each update takes
about a second and blocks all others. One by one, a scale-out by 100 nodes would take minutes.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/#batch-update-members
"""

import ipaddress
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import Rejected, RequestExpired
from placement_worker.octavia.load_balancers import TAG_PREFIX, has_tags
from placement_worker.octavia.updater import (
    BAD_REQUEST,
    NOT_IMPLEMENTED,
    Updater,
    Write,
    cause,
    unless_gone,
)

# The address and protocol port of a member, which Octavia keeps unique within a pool.
Key = tuple[str, int]
K = TypeVar('K')
# The prefix of the tag that names the node of a member.
NODE_TAG = f'{TAG_PREFIX}node='
# The statuses of a batch with one bad member, or of a provider or API version without batches:
# single updates may succeed.
_BATCH_REFUSED = (BAD_REQUEST, NOT_IMPLEMENTED)
# The attributes of a member that can be set.
_ATTRIBUTES = (
    'address', 'admin_state_up', 'backup', 'monitor_address', 'monitor_port', 'name',
    'protocol_port', 'subnet_id', 'tags', 'weight',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Member:
    """A node as a member of a pool.

    :ivar present: the member at its address that is to be brought to the wanted state, or None.
    :ivar is_kept: whether `present` is the node's own member, whose settings stay.
    """

    node_id: str
    name: str
    address: str
    port: int
    present: Resource | None = None
    is_kept: bool = False

    @property
    def key(self) -> Key:
        return _key(self.address, self.port)

    @property
    def replaced(self) -> list[str]:
        """The id of the member to remove first if the provider has no batches."""
        if self.present is None:
            return []
        is_pending = self.present['provisioning_status'].startswith('PENDING')
        # Another worker may be adding the node's own member.
        return [] if self.is_kept and is_pending else [self.present['id']]


@dataclass
class Additions:
    """The outcome of adding members, by node id.

    :ivar added: ids of members that now have the wanted state.
    :ivar foreign: ids of members that another client has added at the same address meanwhile.
    :ivar failed: causes.
    """

    added: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    expired: bool = False  # whether the request expired


@dataclass(frozen=True)
class PoolMembers:
    """The members of a pool as Octavia lists them, and the nodes to which they belong.

    :ivar tags: the tags of all members that the policy adds.
    :ivar nodes: the nodes of the cluster: node id -> ids of members that its data records.
    :ivar is_own: whether the policy owns the pool. Then Senlin has added the members without tags.
    """

    listed: Sequence[Resource]
    tags: Sequence[str]
    nodes: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_own: bool = False

    @cached_property
    def by_id(self) -> dict[str, Resource]:
        return {member['id']: member for member in self.listed}

    @cached_property
    def by_key(self) -> dict[Key, Resource]:
        return {key_of(member): member for member in self.listed}

    @cached_property
    def claims(self) -> dict[str, list[str]]:
        """The nodes to which members may belong: member id -> node ids, that of its tag first.

        Several nodes claim a member if one of them has the address that another one had before.
        """
        claims = defaultdict(list)
        for member in self.listed:
            node_id = self.tagged_node(member)
            if node_id in self.nodes:
                claims[member['id']].append(node_id)
        for node_id, member_ids in self.nodes.items():
            for member_id in member_ids:
                recorded = self.by_id.get(member_id)
                is_claim = recorded is not None and not self._is_of_others(recorded)
                if is_claim and node_id not in claims[member_id]:
                    claims[member_id].append(node_id)
        return dict(claims)

    @cached_property
    def by_node(self) -> dict[str, list[str]]:
        claimed = defaultdict(list)
        for member_id, node_ids in self.claims.items():
            for node_id in node_ids:
                claimed[node_id].append(member_id)
        return dict(claimed)

    @cached_property
    def managed(self) -> set[str]:
        """The ids of the members that the policy may change; all others are foreign."""
        return {
            member['id']
            for member in self.listed
            if has_tags(member, self.tags)
            or member['id'] in self.claims
            or (self.is_own and not member.get('tags'))
        }

    @cached_property
    def left_behind(self) -> dict[Key, str]:
        """The managed members that no node claims: address and port -> member id."""
        unclaimed = self.managed - self.claims.keys()
        members = (member for member in self.listed if member['id'] in unclaimed)
        return {key_of(member): member['id'] for member in members}

    def tagged_node(self, member: Resource) -> str | None:
        """Return the id of the node in the tags of a member that the policy added, or None."""
        tags = member['tags'] if has_tags(member, self.tags) else ()
        return next((tag.removeprefix(NODE_TAG) for tag in tags if tag.startswith(NODE_TAG)), None)

    def remaining(self) -> 'PoolMembers':
        kept = [
            member for member in self.listed if member['provisioning_status'] != 'PENDING_DELETE'
        ]
        return replace(self, listed=kept)

    def additions(self, wanted: Sequence[Member], failures: Mapping[Key, Exception]) -> Additions:
        """Return what an attempt has added; the object holds the members after the attempt."""
        is_expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        result = Additions(expired=is_expired)
        for member in wanted:
            occupant, failure = self.by_key.get(member.key), failures.get(member.key)
            if occupant and occupant['id'] not in self.managed:
                result.foreign[member.node_id] = occupant['id']
            elif occupant and self._is_as_wanted(occupant, member, failure):
                result.added[member.node_id] = occupant['id']
            elif failure:
                result.failed[member.node_id] = cause(failure)
            elif occupant is None:
                result.failed[member.node_id] = 'Octavia does not show the member'
            else:
                status = occupant['provisioning_status']
                result.failed[member.node_id] = f'the member is in {status}'
        return result

    def _is_as_wanted(self, occupant: Resource, member: Member, failure: Exception | None) -> bool:
        """Return whether the wanted state of a member was written, in spite of a failure.

        The tags tell, because each update writes them. Another worker may send the same update.
        """
        if failure and occupant['provisioning_status'] != 'ACTIVE':
            return False
        is_tagged = self.tagged_node(occupant) == member.node_id
        return is_tagged and occupant['provisioning_status'] != 'ERROR'

    def _is_of_others(self, member: Resource) -> bool:
        tags = member.get('tags') or ()
        is_tagged = any(tag.startswith(TAG_PREFIX) for tag in tags)
        return is_tagged and not has_tags(member, self.tags)


@dataclass
class Pool:
    """A pool of a load balancer.

    :ivar tags: as of `PoolMembers`; so are `nodes` and `is_own`.
    :ivar subnet_id: the subnet of new members.
    """

    updater: Updater
    lb_id: str
    pool_id: str
    tags: Sequence[str]
    nodes: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_own: bool = False
    subnet_id: str | None = None

    def members(self) -> PoolMembers | None:
        """Return all members, or None if the pool does not exist."""
        return unless_gone(self._existing_members)

    def members_of(self, listed: Sequence[Resource]) -> PoolMembers:
        return PoolMembers(listed, self.tags, self.nodes, self.is_own)

    def add(self, wanted: Sequence[Member]) -> Additions:
        failures = self._add(wanted)
        try:
            after = self._remaining()
        except ApiError as exc:
            after = self.members_of([])
            failures = {**{member.key: exc for member in wanted}, **failures}
        return after.additions(wanted, failures)

    def remove(self, member_ids: Iterable[str], *, is_sole_writer: bool) -> dict[str, Exception]:
        """Remove members; those that are gone count as removed.

        :param is_sole_writer: whether no other client changes the pool at the same time. Then one
            update may remove all: a batch also removes members that were added after the pool was
            listed.
        :returns: the members that are still present: member id -> cause.
        """
        leaving = list(dict.fromkeys(member_ids))
        failures = None
        if is_sole_writer and len(leaving) > 1 and self.updater.settings.batch_members:
            failures = self._together(self._batch_removal(leaving), leaving)
        if failures is None:
            removals = {member_id: [self._removal(member_id)] for member_id in leaving}
            failures = self._one_by_one(removals)
        if not failures:
            return {}
        try:
            present = self.members()
        except ApiError:
            return failures
        left = present.by_id if present else {}
        return {member_id: exc for member_id, exc in failures.items() if member_id in left}

    def clear(self) -> None:
        """Remove all members that the policy added; raise the first failure."""
        members = self.members()
        listed = members.listed if members else ()
        own = [member['id'] for member in listed if has_tags(member, self.tags)]
        for failure in self.remove(own, is_sole_writer=False).values():
            raise failure

    def updates_to_add(self, wanted: Sequence[Member]) -> int:
        if self.updater.settings.batch_members:
            return min(len(wanted), 1)
        return sum(1 + len(member.replaced) for member in wanted)

    def updates_to_remove(self, count: int, *, is_sole_writer: bool) -> int:
        return min(count, 1) if self.updater.settings.batch_members and is_sole_writer else count

    def _existing_members(self) -> PoolMembers:
        return self.members_of(self.updater.read(self.updater.octavia.members, self.pool_id))

    def _remaining(self) -> PoolMembers:
        return self._existing_members().remaining()

    def _add(self, wanted: Sequence[Member]) -> dict[Key, Exception]:
        bodies = {member.key: self._body(member) for member in wanted}
        if self.updater.settings.batch_members:
            failures = self._together(self._batch_addition(wanted, bodies), bodies)
            if failures is not None:
                return failures
        return self._one_by_one(
            {member.key: self._replacement(member, bodies[member.key]) for member in wanted}
        )

    def _body(self, member: Member) -> Resource:
        """Return a member in Octavia's API; a batch resets each attribute that a body omits."""
        tags = [*self.tags, NODE_TAG + member.node_id]
        body: Resource = {
            'name': member.name,
            'address': member.address,
            'protocol_port': member.port,
            'subnet_id': self.subnet_id,
            'weight': 1,
            'admin_state_up': True,
            'backup': False,
            'monitor_address': None,
            'monitor_port': None,
            'tags': tags,
        }
        if member.present is None:
            return body
        if not member.is_kept:  # a batch matches members by the notation of their addresses
            return {**body, 'address': member.present['address']}
        kept = {name: member.present[name] for name in _ATTRIBUTES if name in member.present}
        others = [tag for tag in kept.get('tags') or () if not tag.startswith(TAG_PREFIX)]
        return {**body, **kept, 'tags': [*others, *tags]}

    def _batch_addition(self, wanted: Sequence[Member], bodies: Mapping[Key, Resource]) -> Write:
        octavia = self.updater.octavia
        return Write(
            lambda: octavia.update_members(self.pool_id, list(bodies.values()), additive_only=True),
            lambda: not self._remaining().additions(wanted, {}).failed,
        )

    def _replacement(self, member: Member, body: Resource) -> list[Write]:
        removal = [self._removal(member_id) for member_id in member.replaced]
        addition = Write(
            lambda: self.updater.octavia.create_member(self.pool_id, body),
            lambda: member.key in self._remaining().by_key,
        )
        return [*removal, addition]

    def _batch_removal(self, member_ids: Sequence[str]) -> Write:
        removed = set(member_ids)

        def send() -> None:
            members = self.updater.once(self.updater.octavia.members, self.pool_id)
            self.updater.check_time()  # the listing may have taken long
            kept = [
                {name: member[name] for name in _ATTRIBUTES if name in member}
                for member in members
                if member['id'] not in removed
            ]
            self.updater.octavia.update_members(self.pool_id, kept, additive_only=False)

        return Write(send, lambda: self._remaining().by_id.keys().isdisjoint(removed))

    def _removal(self, member_id: str) -> Write:
        delete = self.updater.octavia.delete_member
        return Write(
            lambda: unless_gone(delete, self.pool_id, member_id),
            lambda: member_id not in self._remaining().by_id,
        )

    def _together(self, change: Write, names: Iterable[K]) -> dict[K, Exception] | None:
        """Send one change for all names; return causes, or None if Octavia refuses the batch."""
        try:
            self.updater.update(self.lb_id, change)
        except ApiError as exc:
            return None if exc.status in _BATCH_REFUSED else dict.fromkeys(names, exc)
        except Rejected as exc:
            return dict.fromkeys(names, exc)
        return {}

    def _one_by_one(self, changes: Mapping[K, Sequence[Write]]) -> dict[K, Exception]:
        """Send the changes of each name; return the causes of those that failed or were not sent.

        Continue with the next name after a refused change; stop if the load balancer fails.
        """
        failed: dict[K, Exception] = {}
        broken: Exception | None = None
        for name, steps in changes.items():
            try:
                for change in steps if broken is None else ():
                    self.updater.update(self.lb_id, change)
            except ApiError as exc:
                failed[name] = exc
            except Rejected as exc:
                broken = exc
            if broken is not None:
                failed[name] = broken
        return failed


def key_of(member: Resource) -> Key:
    return _key(member['address'], member['protocol_port'])


def _key(address: str, port: int) -> Key:
    """Return the identity of a member, the same for all notations of its address."""
    try:
        return str(ipaddress.ip_address(address)), port
    except ValueError:
        return address, port
