"""Add members to a pool of Octavia and remove them, with a constant number of updates where that is
safe.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from placement_worker.cloud.ports import ApiError, Octavia, Resource
from placement_worker.errors import Rejected, RequestExpired
from placement_worker.octavia.updater import Driver, told
from placement_worker.planning.pool_difference import Key, Member, by_key

SENT = (
    'address', 'admin_state_up', 'backup', 'monitor_address', 'monitor_port', 'name', 'protocol_port', 'subnet_id',
    'tags', 'weight',
)  # fmt: skip
"""What a batch says of a member: all that can be set, or Octavia would set it back to its
default.
"""
NODE = 'placement-worker:node='
"""Begins the tag that says which node a member is."""
GONE = 404
NOT_AT_ONCE = (400, 501)
"""One bad member, or a provider or version of the API that cannot do it: what may be done one by
one.
"""
K = TypeVar('K')
B = TypeVar('B')


@dataclass
class Added:
    """What became of members that were to be added, by their nodes' ids.

    `added`: node id -> id of the new member; `adopted`: node id -> id of a member that we have
    added before; `foreign`: node id -> id of a member that somebody else has added; `failed`: node
    id -> reason. `late`: the caller waits no more.
    """

    adopted: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    late: bool = False


@dataclass
class Pool:
    """A pool of a load balancer.

    :ivar tags: of whatever we add; a member carries that of its node as well.
    :ivar nodes: ids of the cluster's nodes: a member of ours that is of none of them is that of who
        has its address.
    """

    driver: Driver
    lb_id: str
    pool_id: str
    subnet_id: str | None
    tags: Sequence[str]
    nodes: frozenset[str] = frozenset()

    def members(self) -> list[Resource]:
        """All there are.

        :raises ApiError: 404 if the pool is gone.
        """
        return self.driver.read(lambda: self.driver.octavia.members(self.pool_id))

    def standing(self) -> list[Resource]:
        """All that are not on their way out; raises as `members`."""
        return [
            member for member in self.members() if member['provisioning_status'] != 'PENDING_DELETE'
        ]

    def of_nodes(self, members: Iterable[Resource]) -> dict[str, set[str]]:
        """The members that we added: node id -> member ids."""
        ours, found = set(self.tags), defaultdict(set)
        for member in members:
            tags = member.get('tags') or ()
            for tag in tags if ours <= set(tags) else ():
                if tag.startswith(NODE):
                    found[tag.removeprefix(NODE)].add(member['id'])
        return found

    def left_behind(self, members: Iterable[Resource]) -> dict[Key, str]:
        """The members that we added for nodes that are no more: address and port -> member id."""
        ours = [member for member in members if set(self.tags) <= set(member.get('tags') or ())]
        of_nodes = self.of_nodes(ours)
        kept = set().union(*(of_nodes[node_id] for node_id in of_nodes.keys() & self.nodes))
        return {at: member['id'] for at, member in by_key(ours).items() if member['id'] not in kept}

    def sort(
        self, wanted: Sequence[Member], shown: Sequence[Resource]
    ) -> tuple[Added, list[Member]]:
        """Tell the members that are there already from those that are missing, or ours and not
        ready.

        :param wanted: no two with the same address and port.
        :param shown: all members that there are.
        """
        result, missing = Added(), []
        before, ours, left = by_key(shown), self.of_nodes(shown), self.left_behind(shown)
        for member in wanted:
            there = before.get(member.key)
            if there is not None and there['id'] not in {
                left.get(member.key),
                *ours.get(member.node_id, ()),
            }:
                result.foreign[member.node_id] = there['id']
            elif there is not None and there['provisioning_status'] == 'ACTIVE':
                result.adopted[member.node_id] = there['id']
            else:
                missing.append(member)
        return result, missing

    def add(self, wanted: Sequence[Member], shown: Sequence[Resource]) -> Added:
        """Add the members that are not there yet; see `sort`."""
        result, missing = self.sort(wanted, shown)
        if not missing:
            return result
        reasons = self._add(missing)
        try:
            after = self.standing()
        except ApiError as exc:
            after, reasons = [], {**{member.key: exc for member in missing}, **reasons}
        there, lacking = self.sort(missing, after)
        result.added, found = there.adopted, by_key(after)
        result.foreign |= there.foreign
        for member in lacking:
            fault, shown_now = reasons.get(member.key), found.get(member.key)
            if (
                fault is None
                and shown_now is not None
                and shown_now['provisioning_status'] == 'PENDING_UPDATE'
            ):
                result.added[member.node_id] = shown_now[
                    'id'
                ]  # it was ACTIVE; another worker says the same again
            else:
                result.failed[member.node_id] = reason(fault) if fault else _state(shown_now)
        result.late = any(isinstance(fault, RequestExpired) for fault in reasons.values())
        return result

    def remove(self, member_ids: Iterable[str], *, alone: bool) -> dict[str, Exception]:
        """Remove members; those that are gone already are done.

        :param alone: whether nobody else changes the pool meanwhile: all may go in one update then.
        :returns: why members are still there: member id -> what happened.
        """
        doomed = list(dict.fromkeys(member_ids))
        faults = self._remove(doomed, together=alone and len(doomed) > 1)
        if not faults:
            return {}
        try:
            there = {member['id'] for member in self.members()}
        except ApiError as exc:
            there = set() if exc.status == GONE else set(doomed)
        return {member_id: fault for member_id, fault in faults.items() if member_id in there}

    def clear(self) -> None:
        """Remove all members that we have added; a pool that is gone has none.

        :raises ApiError: Octavia refuses.
        :raises Rejected: its load balancer takes no change.
        """
        try:
            ours = self.of_nodes(self.members())
        except ApiError as exc:
            if exc.status != GONE:
                raise
            return
        for fault in self.remove(sorted(set().union(*ours.values())), alone=False).values():
            raise fault

    def updates_to_add(self, count: int) -> int:
        """How many updates of the load balancer so many new members take."""
        return min(count, 1) if self.driver.settings.batch_members else count

    def updates_to_remove(self, count: int, *, alone: bool) -> int:
        """How many updates of the load balancer it takes to remove so many members."""
        return min(count, 1) if self.driver.settings.batch_members and alone else count

    def _add(self, missing: Sequence[Member]) -> dict[Key, Exception]:
        """Add members, together or else one by one: address and port -> why that failed."""
        bodies = {member.key: self._body(member) for member in missing}
        faults = self._at_once(
            bodies,
            lambda: self._octavia.update_members(
                self.pool_id, list(bodies.values()), additive_only=True
            ),
            lambda: bodies.keys() <= by_key(self.standing()).keys(),
        )
        return self._one_by_one(bodies, self._create) if faults is None else faults

    def _create(self, wanted: Key, body: Resource) -> None:
        self._write(
            lambda: self._octavia.create_member(self.pool_id, body),
            lambda: wanted in by_key(self.standing()),
        )

    def _remove(self, doomed: Sequence[str], *, together: bool) -> dict[str, Exception]:
        """Remove members, together or else one by one: member id -> why that failed."""
        faults = None
        if together:
            faults = self._at_once(
                doomed, lambda: self._keep_all_but(doomed), lambda: not self._present(doomed)
            )
        return self._one_by_one(dict.fromkeys(doomed), self._delete) if faults is None else faults

    def _at_once(
        self, names: Iterable[K], act: Callable[[], None], done: Callable[[], bool]
    ) -> dict[K, Exception] | None:
        """Change all in one update: why that failed for each, {} if it did not; None if that is not
        to be had.
        """
        if not self.driver.settings.batch_members:
            return None
        try:
            self._write(act, done)
        except ApiError as exc:
            return None if exc.status in NOT_AT_ONCE else dict.fromkeys(names, exc)
        except Rejected as exc:
            return dict.fromkeys(names, exc)
        return {}

    def _keep_all_but(self, doomed: Sequence[str]) -> None:
        gone = set(doomed)
        shown = self.driver.counted(lambda: self._octavia.members(self.pool_id))
        self.driver.refuse_late()  # again: looking may have taken its time
        kept = [member for member in shown if member['id'] not in gone]
        bodies = [{name: member[name] for name in SENT if name in member} for member in kept]
        self._octavia.update_members(self.pool_id, bodies, additive_only=False)

    def _delete(self, member_id: str, _nothing: object) -> None:
        def act() -> None:
            try:
                self._octavia.delete_member(self.pool_id, member_id)
            except ApiError as exc:
                if exc.status != GONE:
                    raise

        self._write(act, lambda: not self._present([member_id]))

    def _present(self, member_ids: Sequence[str]) -> set[str]:
        """Those of the members that are there, and not on their way out."""
        return {member['id'] for member in self.standing()}.intersection(member_ids)

    def _one_by_one(self, items: Mapping[K, B], act: Callable[[K, B], None]) -> dict[K, Exception]:
        """Do something for each. What fails for one does not keep the next from it; a broken load
        balancer does.
        """
        failed: dict[K, Exception] = {}
        broken: Exception | None = None
        for name, body in items.items():
            try:
                if broken is None:
                    act(name, body)
            except ApiError as exc:
                failed[name] = exc
            except Rejected as exc:
                broken = exc
            if broken is not None:
                failed[name] = broken
        return failed

    def _write(self, act: Callable[[], object], done: Callable[[], bool]) -> None:
        self.driver.write(self.lb_id, act, done)

    def _body(self, member: Member) -> Resource:
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
            'tags': [*self.tags, NODE + member.node_id],
        }

    @property
    def _octavia(self) -> Octavia:
        return self.driver.octavia


def reason(exc: Exception) -> str:
    """Why something failed, in words."""
    return told(exc) if isinstance(exc, ApiError) else str(exc)


def _state(member: Mapping[str, object] | None) -> str:
    return (
        f'the member is in {member["provisioning_status"]}'
        if member
        else 'Octavia does not show the member'
    )
