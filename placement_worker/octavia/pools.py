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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import Rejected, RequestExpired
from placement_worker.octavia.load_balancers import has_tags
from placement_worker.octavia.updater import (
    BAD_REQUEST,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    Change,
    Updater,
    cause,
)

# The address and protocol port of a member, which Octavia keeps unique within a pool.
Key = tuple[str, int]
K = TypeVar('K')
# The prefix of the tag that names the node of a member.
NODE_TAG = 'placement-worker:node='
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
    """A node as a member of a pool, present or wanted."""

    node_id: str
    name: str
    address: str
    port: int

    @property
    def key(self) -> Key:
        return _key(self.address, self.port)


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


@dataclass(frozen=True)
class Members:
    """The members of a pool as Octavia lists them, and the nodes to which they belong.

    :ivar tags: the tags of all members that the policy adds.
    :ivar nodes: the ids of the cluster's nodes. A member with the tags of another node belongs to
        the node at its address.
    """

    listed: Sequence[Resource]
    tags: Sequence[str]
    nodes: frozenset[str] = frozenset()

    @cached_property
    def by_id(self) -> dict[str, Resource]:
        return {member['id']: member for member in self.listed}

    @cached_property
    def by_key(self) -> dict[Key, Resource]:
        return {key_of(member): member for member in self.listed}

    @cached_property
    def by_node(self) -> dict[str, set[str]]:
        """The members that the policy added: node id -> member ids."""
        ids = defaultdict(set)
        for member in self.listed:
            for tag in member['tags'] if has_tags(member, self.tags) else ():
                if tag.startswith(NODE_TAG):
                    ids[tag.removeprefix(NODE_TAG)].add(member['id'])
        return dict(ids)

    @cached_property
    def left_behind(self) -> dict[Key, str]:
        """The members of nodes that no longer exist: address and port -> member id."""
        kept = set().union(*(self.by_node.get(node_id, ()) for node_id in self.nodes))
        return {
            key_of(member): member['id']
            for member in self.listed
            if has_tags(member, self.tags) and member['id'] not in kept
        }

    def of_node(self, node_id: str, stored_id: str | None) -> set[str]:
        """Return the ids of the members with the tag of a node, and of the one stored for it."""
        return self.by_id.keys() & {stored_id, *self.by_node.get(node_id, ())}

    def without(self, member_ids: Iterable[str]) -> 'Members':
        removed = set(member_ids)
        return replace(self, listed=[one for one in self.listed if one['id'] not in removed])

    def remaining(self) -> 'Members':
        """Return the members that are not being deleted."""
        alive = [one for one in self.listed if one['provisioning_status'] != 'PENDING_DELETE']
        return replace(self, listed=alive)

    def compare(self, wanted: Sequence[Member]) -> tuple[Additions, list[Member]]:
        """Return the wanted members that are present, and those that are missing or not ACTIVE.

        :param wanted: members with different addresses and ports.
        """
        present, missing = Additions(), []
        for member in wanted:
            there = self.by_key.get(member.key)
            own = {self.left_behind.get(member.key), *self.by_node.get(member.node_id, ())}
            if there is not None and there['id'] not in own:
                present.foreign[member.node_id] = there['id']
            elif there is not None and there['provisioning_status'] == 'ACTIVE':
                present.adopted[member.node_id] = there['id']
            else:
                missing.append(member)
        return present, missing

    def note_added(
        self, result: Additions, missing: Sequence[Member], failures: Mapping[Key, Exception]
    ) -> None:
        """Find out which members an attempt has added, and the causes for the others.

        The object holds the members after the attempt.

        :param missing: the members that were missing before it.
        """
        present, lacking = self.compare(missing)
        result.added = present.adopted
        result.foreign |= present.foreign
        result.expired = any(isinstance(exc, RequestExpired) for exc in failures.values())
        for member in lacking:
            failure, there = failures.get(member.key), self.by_key.get(member.key)
            if failure:
                result.failed[member.node_id] = cause(failure)
            elif there is None:
                result.failed[member.node_id] = 'Octavia does not show the member'
            elif there['provisioning_status'] == 'PENDING_UPDATE':
                # The member was ACTIVE; another worker sends the same update.
                result.added[member.node_id] = there['id']
            else:
                result.failed[member.node_id] = f'the member is in {there["provisioning_status"]}'


@dataclass
class Pool:
    """A pool of a load balancer.

    :ivar tags: as of `Members`; so is `nodes`.
    :ivar subnet_id: the subnet of new members.
    """

    updater: Updater
    lb_id: str
    pool_id: str
    tags: Sequence[str]
    nodes: frozenset[str] = frozenset()
    subnet_id: str | None = None

    def members(self) -> Members | None:
        """Return all members, or None if the pool does not exist."""
        try:
            return self._listed()
        except ApiError as exc:
            if exc.status != NOT_FOUND:
                raise
            return None

    def members_of(self, listed: Sequence[Resource]) -> Members:
        """Return members that were listed before."""
        return Members(listed, self.tags, self.nodes)

    def add(self, wanted: Sequence[Member], members: Members) -> Additions:
        """Add the members that are not present.

        :param members: the present ones.
        """
        result, missing = members.compare(wanted)
        if not missing:
            return result
        failures = self._add(missing)
        try:
            after = self._remaining()
        except ApiError as exc:
            after = self.members_of([])
            failures = {**{member.key: exc for member in missing}, **failures}
        after.note_added(result, missing, failures)
        return result

    def remove(self, member_ids: Iterable[str], *, alone: bool) -> dict[str, Exception]:
        """Remove members; those that are gone count as removed.

        :param alone: whether no other client changes the pool at the same time. Then one update may
            remove all: a batch also removes members that were added after the pool was listed.
        :returns: the members that are still present: member id -> cause.
        """
        leaving = list(dict.fromkeys(member_ids))
        failures = None
        if alone and len(leaving) > 1 and self.updater.settings.batch_members:
            failures = self._together(self._batch_removal(leaving), leaving)
        if failures is None:
            failures = self._one_by_one({one: self._removal(one) for one in leaving})
        if not failures:
            return {}
        try:
            present = self.members()
        except ApiError:
            return failures
        left = present.by_id if present else {}
        return {member_id: exc for member_id, exc in failures.items() if member_id in left}

    def clear(self) -> None:
        """Remove all members that the policy added; a pool that is gone has none.

        :raises ApiError: Octavia refused.
        :raises Rejected: the load balancer accepts no change.
        """
        members = self.members()
        own = sorted(set().union(*members.by_node.values())) if members else []
        for failure in self.remove(own, alone=False).values():
            raise failure

    def updates_to_add(self, count: int) -> int:
        """Return the number of updates of the load balancer that new members take."""
        return min(count, 1) if self.updater.settings.batch_members else count

    def updates_to_remove(self, count: int, *, alone: bool) -> int:
        """Return the number of updates of the load balancer that a removal takes."""
        return min(count, 1) if self.updater.settings.batch_members and alone else count

    def _listed(self) -> Members:
        return self.members_of(self.updater.calls.read(self.updater.octavia.members, self.pool_id))

    def _remaining(self) -> Members:
        return self._listed().remaining()

    def _add(self, missing: Sequence[Member]) -> dict[Key, Exception]:
        """Add members together, or else one by one.

        :returns: address and port -> cause, for the members that failed.
        """
        bodies = {member.key: self._body(member) for member in missing}
        failures = None
        if self.updater.settings.batch_members:
            failures = self._together(self._batch_addition(bodies), bodies)
        if failures is not None:
            return failures
        return self._one_by_one({key: self._addition(key, body) for key, body in bodies.items()})

    def _body(self, member: Member) -> Resource:
        """Return a member in Octavia's API; a batch resets each attribute that a body omits."""
        return {
            'name': member.name,
            'address': member.address,
            'protocol_port': member.port,
            'subnet_id': self.subnet_id,
            'weight': 1,
            'admin_state_up': True,
            'backup': False,
            'monitor_address': None,
            'monitor_port': None,
            'tags': [*self.tags, NODE_TAG + member.node_id],
        }

    def _batch_addition(self, bodies: Mapping[Key, Resource]) -> Change:
        octavia = self.updater.octavia
        return Change(
            lambda: octavia.update_members(self.pool_id, list(bodies.values()), additive_only=True),
            lambda: bodies.keys() <= self._remaining().by_key.keys(),
        )

    def _addition(self, key: Key, body: Resource) -> Change:
        return Change(
            lambda: self.updater.octavia.create_member(self.pool_id, body),
            lambda: key in self._remaining().by_key,
        )

    def _batch_removal(self, member_ids: Sequence[str]) -> Change:
        removed = set(member_ids)

        def send() -> None:
            members = self.updater.calls.once(self.updater.octavia.members, self.pool_id)
            self.updater.check_time()  # the listing may have taken long
            kept = [
                {name: member[name] for name in _ATTRIBUTES if name in member}
                for member in members
                if member['id'] not in removed
            ]
            self.updater.octavia.update_members(self.pool_id, kept, additive_only=False)

        return Change(send, lambda: self._remaining().by_id.keys().isdisjoint(removed))

    def _removal(self, member_id: str) -> Change:
        def send() -> None:
            try:
                self.updater.octavia.delete_member(self.pool_id, member_id)
            except ApiError as exc:
                if exc.status != NOT_FOUND:
                    raise

        return Change(send, lambda: member_id not in self._remaining().by_id)

    def _together(self, change: Change, names: Iterable[K]) -> dict[K, Exception] | None:
        """Send one change for all names.

        :returns: name -> cause, or None if Octavia refuses the batch.
        """
        try:
            self.updater.update(self.lb_id, change)
        except ApiError as exc:
            return None if exc.status in _BATCH_REFUSED else dict.fromkeys(names, exc)
        except Rejected as exc:
            return dict.fromkeys(names, exc)
        return {}

    def _one_by_one(self, changes: Mapping[K, Change]) -> dict[K, Exception]:
        """Send one change per name.

        Continue after a refused change; stop if the load balancer fails.

        :returns: name -> cause, for the changes that failed or were not sent.
        """
        failed: dict[K, Exception] = {}
        broken: Exception | None = None
        for name, change in changes.items():
            try:
                if broken is None:
                    self.updater.update(self.lb_id, change)
            except ApiError as exc:
                failed[name] = exc
            except Rejected as exc:
                broken = exc
            if broken is not None:
                failed[name] = broken
        return failed


def key_of(member: Resource) -> Key:
    """Return the identity of a member that Octavia lists."""
    return _key(member['address'], member['protocol_port'])


def _key(address: str, port: int) -> Key:
    """Return the identity of a member, the same for all notations of its address."""
    try:
        return str(ipaddress.ip_address(address)), port
    except ValueError:
        return address, port
