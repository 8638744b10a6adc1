"""Changes of the members of a pool; each of them is one update of the load balancer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.octavia.api_errors import NOT_FOUND
from placement_worker.octavia.pool_members import without
from placement_worker.octavia.updater import Change, Updater
from placement_worker.planning.pool_difference import by_key


def remaining(updater: Updater, pool_id: str) -> list[Resource]:
    """Return the members of a pool that are not being deleted."""
    shown = updater.calls.read(updater.octavia.members, pool_id)
    return [member for member in shown if member['provisioning_status'] != 'PENDING_DELETE']


def _present(updater: Updater, pool_id: str, member_ids: Iterable[str]) -> set[str]:
    return {member['id'] for member in remaining(updater, pool_id)}.intersection(member_ids)


@dataclass(frozen=True, slots=True)
class AddMembers(Change):
    """The batch update that adds members."""

    pool_id: str
    bodies: Sequence[Resource]

    @override
    def send(self, updater: Updater) -> None:
        updater.octavia.update_members(self.pool_id, self.bodies, additive_only=True)

    @override
    def is_done(self, updater: Updater) -> bool:
        return by_key(self.bodies).keys() <= by_key(remaining(updater, self.pool_id)).keys()


@dataclass(frozen=True, slots=True)
class AddMember(Change):
    """The update that adds one member."""

    pool_id: str
    body: Resource

    @override
    def send(self, updater: Updater) -> None:
        updater.octavia.create_member(self.pool_id, self.body)

    @override
    def is_done(self, updater: Updater) -> bool:
        return by_key([self.body]).keys() <= by_key(remaining(updater, self.pool_id)).keys()


@dataclass(frozen=True, slots=True)
class RemoveMembers(Change):
    """The batch update that keeps all members but these."""

    pool_id: str
    member_ids: Sequence[str]

    @override
    def send(self, updater: Updater) -> None:
        shown = updater.calls.once(updater.octavia.members, self.pool_id)
        updater.check_time()  # the listing may have taken long
        bodies = without(shown, self.member_ids)
        updater.octavia.update_members(self.pool_id, bodies, additive_only=False)

    @override
    def is_done(self, updater: Updater) -> bool:
        return not _present(updater, self.pool_id, self.member_ids)


@dataclass(frozen=True, slots=True)
class RemoveMember(Change):
    """The update that removes one member."""

    pool_id: str
    member_id: str

    @override
    def send(self, updater: Updater) -> None:
        try:
            updater.octavia.delete_member(self.pool_id, self.member_id)
        except ApiError as exc:
            if exc.status != NOT_FOUND:
                raise

    @override
    def is_done(self, updater: Updater) -> bool:
        return not _present(updater, self.pool_id, [self.member_id])
