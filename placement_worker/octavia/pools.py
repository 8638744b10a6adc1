"""Add and remove the members of a pool, in a constant number of updates where that is safe."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import Rejected
from placement_worker.octavia.api_errors import BAD_REQUEST, NOT_FOUND, NOT_IMPLEMENTED
from placement_worker.octavia.member_ownership import Additions, Key, Member, Ownership
from placement_worker.octavia.member_updates import (
    AddMember,
    AddMembers,
    RemoveMember,
    RemoveMembers,
    remaining,
)
from placement_worker.octavia.updater import Change, Updater

BATCH_REFUSED = (BAD_REQUEST, NOT_IMPLEMENTED)
"""The statuses of a batch with one bad member, or of a provider or API version without batches:
single updates may succeed."""
K = TypeVar('K')


@dataclass
class Pool:
    """A pool of a load balancer."""

    updater: Updater
    lb_id: str
    pool_id: str
    subnet_id: str | None
    ownership: Ownership

    def members(self) -> list[Resource]:
        """Return all members.

        :raises ApiError: with status 404 if the pool does not exist.
        """
        return self.updater.calls.read(self.updater.octavia.members, self.pool_id)

    def remaining(self) -> list[Resource]:
        """Return the members that are not being deleted; raises as `members`."""
        return remaining(self.updater, self.pool_id)

    def add(self, wanted: Sequence[Member], shown: Sequence[Resource]) -> Additions:
        """Add the members that are not present; see `Ownership.compare`."""
        result, missing = self.ownership.compare(wanted, shown)
        if not missing:
            return result
        failures = self._add(missing)
        try:
            after = self.remaining()
        except ApiError as exc:
            after, failures = [], {**{member.key: exc for member in missing}, **failures}
        self.ownership.note_added(result, missing, after, failures)
        return result

    def remove(self, member_ids: Iterable[str], *, alone: bool) -> dict[str, Exception]:
        """Remove members; those that are gone count as removed.

        :param alone: whether no other client changes the pool at the same time. Then one update may
            remove all.
        :returns: the members that are still present: member id -> cause.
        """
        victims = list(dict.fromkeys(member_ids))
        failures = self._remove(victims, together=alone and len(victims) > 1)
        if not failures:
            return {}
        try:
            there = {member['id'] for member in self.members()}
        except ApiError as exc:
            there = set() if exc.status == NOT_FOUND else set(victims)
        return {member_id: exc for member_id, exc in failures.items() if member_id in there}

    def clear(self) -> None:
        """Remove all members that the policy added; a pool that is gone has none.

        :raises ApiError: Octavia refused.
        :raises Rejected: the load balancer accepts no change.
        """
        try:
            own = self.ownership.by_node(self.members())
        except ApiError as exc:
            if exc.status != NOT_FOUND:
                raise
            return
        for failure in self.remove(sorted(set().union(*own.values())), alone=False).values():
            raise failure

    def updates_to_add(self, count: int) -> int:
        """Return the number of updates of the load balancer that new members take."""
        return min(count, 1) if self.updater.settings.batch_members else count

    def updates_to_remove(self, count: int, *, alone: bool) -> int:
        """Return the number of updates of the load balancer that a removal takes."""
        return min(count, 1) if self.updater.settings.batch_members and alone else count

    def _add(self, missing: Sequence[Member]) -> dict[Key, Exception]:
        """Add members together, or else one by one.

        :returns: address and port -> cause, for the members that failed.
        """
        bodies = self.ownership.bodies(missing, self.subnet_id)
        failures = None
        if self.updater.settings.batch_members:
            failures = self._together(AddMembers(self.pool_id, list(bodies.values())), bodies)
        if failures is not None:
            return failures
        return self._one_by_one({at: AddMember(self.pool_id, body) for at, body in bodies.items()})

    def _remove(self, victims: Sequence[str], *, together: bool) -> dict[str, Exception]:
        """Remove members together, or else one by one.

        :returns: member id -> cause, for the members that failed.
        """
        failures = None
        if together and self.updater.settings.batch_members:
            failures = self._together(RemoveMembers(self.pool_id, victims), victims)
        if failures is not None:
            return failures
        return self._one_by_one({one: RemoveMember(self.pool_id, one) for one in victims})

    def _together(self, change: Change, names: Iterable[K]) -> dict[K, Exception] | None:
        """Send one change for all names.

        :returns: name -> cause, or None if Octavia refuses the batch.
        """
        try:
            self.updater.update(self.lb_id, change)
        except ApiError as exc:
            return None if exc.status in BATCH_REFUSED else dict.fromkeys(names, exc)
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
