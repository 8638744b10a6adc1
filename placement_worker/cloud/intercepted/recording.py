"""Write down what a cloud answers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from placement_worker.cloud.ports import (
    ApiError,
    Cloud,
    Clouds,
    Kind,
    Network,
    Octavia,
    Resource,
    Subnet,
)
from placement_worker.contract.model import Credentials, ServerDetails, Wire
from placement_worker.errors import Rejected

T = TypeVar('T')


class Failure(Wire, frozen=True):
    """The error that was the answer: its class, its text, and what else it holds."""

    type: str
    reason: str
    details: dict[str, Any] = {}


class Answer(Wire, frozen=True, omit_defaults=True):
    """A question to a cloud, and what it answered.

    `asked`: a method of `Clouds`, of `Cloud`, or with `octavia.` before it of `Octavia`. `of`: its
    arguments, without credentials; the first one of Octavia's is the region.
    """

    asked: str
    of: list[Any]
    answer: msgspec.Raw = msgspec.Raw(b'null')
    failure: Failure | None = None


class Notes:
    """Answers, appended to a list as they come."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = answers

    def of(self, asked: str, arguments: Sequence[Any], ask: Callable[[], T]) -> T:
        """Ask, and note the answer as it is now, or the failure; whoever gets it may change it."""
        try:
            answer = ask()
        except (Rejected, ApiError) as exc:
            self._answers.append(Answer(asked, list(arguments), failure=_failure(exc)))
            raise
        self._answers.append(
            Answer(asked, list(arguments), msgspec.Raw(msgspec.json.encode(answer)))
        )
        return answer


class RecordedClouds:
    """As `Clouds`: another one's, with its answers noted."""

    def __init__(self, clouds: Clouds, answers: list[Answer]) -> None:
        self._clouds = clouds
        self._notes = Notes(answers)

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """As `Clouds.acting_for`; noted is whether that is allowed."""
        found: list[Cloud] = []
        self._notes.of(
            'acting_for',
            [project],
            lambda: found.append(self._clouds.acting_for(credentials, project)),
        )
        return _RecordedCloud(found[0], self._notes)

    def acting_as_service(self) -> Cloud:
        """As `Clouds.acting_as_service`; no decision asks for that."""
        return self._clouds.acting_as_service()


class _RecordedCloud:
    """As `Cloud`."""

    def __init__(self, cloud: Cloud, notes: Notes) -> None:
        self._cloud = cloud
        self._notes = notes

    @property
    def home_region(self) -> str | None:
        return self._notes.of('home_region', [], lambda: self._cloud.home_region)

    @property
    def load_balancer_region(self) -> str | None:
        return self._notes.of('load_balancer_region', [], lambda: self._cloud.load_balancer_region)

    def zones(self, region: str | None) -> Mapping[str, bool]:
        return self._notes.of('zones', [region], lambda: self._cloud.zones(region))

    def regions(self) -> Collection[str]:
        return self._notes.of('regions', [], lambda: sorted(self._cloud.regions()))

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        ids = list(server_ids)
        return self._notes.of('servers', [region, ids], lambda: self._cloud.servers(region, ids))

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        return self._notes.of(
            'subnet', [region, name_or_id], lambda: self._cloud.subnet(region, name_or_id)
        )

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        return self._notes.of(
            'network', [region, name_or_id], lambda: self._cloud.network(region, name_or_id)
        )

    def octavia(self, region: str | None) -> Octavia:
        found: list[Octavia] = []
        self._notes.of('octavia', [region], lambda: found.append(self._cloud.octavia(region)))
        return _RecordedOctavia(found[0], region, self._notes)


class _RecordedOctavia:
    """As `Octavia`."""

    def __init__(self, octavia: Octavia, region: str | None, notes: Notes) -> None:
        self._octavia = octavia
        self._region = region
        self._notes = notes

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        return self._of('find', [kind, filters], lambda: self._octavia.find(kind, **filters))

    def show(self, kind: Kind, object_id: str) -> Resource:
        return self._of('show', [kind, object_id], lambda: self._octavia.show(kind, object_id))

    def create(self, kind: Kind, body: Resource) -> Resource:
        return self._of('create', [kind, body], lambda: self._octavia.create(kind, body))

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        self._of(
            'delete',
            [kind, object_id, cascade],
            lambda: self._octavia.delete(kind, object_id, cascade=cascade),
        )

    def members(self, pool_id: str) -> list[Resource]:
        return self._of('members', [pool_id], lambda: self._octavia.members(pool_id))

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        return self._of(
            'create_member', [pool_id, member], lambda: self._octavia.create_member(pool_id, member)
        )

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        self._of(
            'update_members',
            [pool_id, list(members), additive_only],
            lambda: self._octavia.update_members(pool_id, members, additive_only=additive_only),
        )

    def delete_member(self, pool_id: str, member_id: str) -> None:
        self._of(
            'delete_member',
            [pool_id, member_id],
            lambda: self._octavia.delete_member(pool_id, member_id),
        )

    def _of(self, call: str, arguments: Sequence[Any], ask: Callable[[], T]) -> T:
        return self._notes.of(f'octavia.{call}', [self._region, *arguments], ask)


def _failure(exc: Rejected | ApiError) -> Failure:
    if isinstance(exc, ApiError):
        return Failure(
            type(exc).__name__, str(exc), {'status': exc.status, 'retry_after_s': exc.retry_after_s}
        )
    return Failure(type(exc).__name__, str(exc), dict(exc.details))
