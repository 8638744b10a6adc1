"""The updates of a load balancer that add members to a pool or remove them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.octavia.api_errors import NOT_FOUND
from placement_worker.octavia.member_ownership import by_key
from placement_worker.octavia.updater import Change, Updater

ATTRIBUTES = (
    'address', 'admin_state_up', 'backup', 'monitor_address', 'monitor_port', 'name',
    'protocol_port', 'subnet_id', 'tags', 'weight',
)  # fmt: skip
"""The attributes of a member that can be set."""


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
        updater.octavia.update_members(self.pool_id, self._kept(shown), additive_only=False)

    @override
    def is_done(self, updater: Updater) -> bool:
        return not _present(updater, self.pool_id, self.member_ids)

    def _kept(self, shown: Iterable[Resource]) -> list[Resource]:
        """Return the bodies of the other members.

        A batch resets each attribute that a body omits, so a body names all attributes.
        """
        removed = set(self.member_ids)
        return [
            {name: member[name] for name in ATTRIBUTES if name in member}
            for member in shown
            if member['id'] not in removed
        ]


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
