"""Answer as a cloud did that was written down."""

import json
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from placement_worker import errors
from placement_worker.cloud.intercepted.recording import Answer, Failure
from placement_worker.cloud.ports import ApiError, Cloud, Kind, Network, Octavia, Resource, Subnet
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.errors import PlacementWorkerError, Rejected


class NotRecorded(PlacementWorkerError):
    """What is asked now was not asked then, so nobody knows the answer."""


class Record:
    """Answers by their questions, each as often as it was asked then."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        for answer in answers:
            self._answers[_key(answer.asked, answer.of)].append(answer)

    def next(self, asked: str, of: Sequence[Any], kind: Any) -> Any:
        """The next answer to this question.

        :param kind: the type that the answer has.
        :raises NotRecorded: there is none.
        """
        left = self._answers[_key(asked, of)]
        if not left:
            raise NotRecorded(
                f'The cloud is asked what it was not asked then: {asked}({json.dumps(of)[1:-1]})'
            )
        answer = left.popleft()
        if answer.failure is not None:
            raise _failed(answer.failure)
        return decoder(kind).decode(answer.answer)


class ReplayedCloud:
    """As `Clouds` and `Cloud`. Every method raises `NotRecorded` where the record has no answer."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._record = Record(answers)

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """As `Clouds.acting_for`."""
        self._record.next('acting_for', [project], None)
        return self

    def acting_as_service(self) -> Cloud:
        """As `Clouds.acting_as_service`; no decision asks for that."""
        return self

    @property
    def home_region(self) -> str | None:
        """As `Cloud.home_region`."""
        answer: str | None = self._record.next('home_region', [], str | None)
        return answer

    @property
    def load_balancer_region(self) -> str | None:
        """The recorded region for load balancers."""
        answer: str | None = self._record.next('load_balancer_region', [], str | None)
        return answer

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """As `Cloud.zones`."""
        answer: Mapping[str, bool] = self._record.next('zones', [region], dict[str, bool])
        return answer

    def regions(self) -> Collection[str]:
        """As `Cloud.regions`."""
        answer: Collection[str] = self._record.next('regions', [], list[str])
        return answer

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """As `Cloud.servers`."""
        kind = dict[str, ServerDetails]
        answer: Mapping[str, ServerDetails] = self._record.next(
            'servers', [region, list(server_ids)], kind
        )
        return answer

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """As `Cloud.subnet`."""
        answer: Subnet | None = self._record.next('subnet', [region, name_or_id], Subnet | None)
        return answer

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """As `Cloud.network`."""
        answer: Network | None = self._record.next('network', [region, name_or_id], Network | None)
        return answer

    def octavia(self, region: str | None) -> Octavia:
        """As `Cloud.octavia`."""
        self._record.next('octavia', [region], None)
        return _ReplayedOctavia(self._record, region)


class _ReplayedOctavia:
    """As `Octavia`; nothing is written anywhere."""

    def __init__(self, record: Record, region: str | None) -> None:
        self._record = record
        self._region = region

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        answer: list[Resource] = self._next('find', kind, filters)
        return answer

    def show(self, kind: Kind, object_id: str) -> Resource:
        answer: Resource = self._next('show', kind, object_id)
        return answer

    def create(self, kind: Kind, body: Resource) -> Resource:
        answer: Resource = self._next('create', kind, body)
        return answer

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        self._next('delete', kind, object_id, cascade)

    def members(self, pool_id: str) -> list[Resource]:
        answer: list[Resource] = self._next('members', pool_id)
        return answer

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        answer: Resource = self._next('create_member', pool_id, member)
        return answer

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        self._next('update_members', pool_id, list(members), additive_only)

    def delete_member(self, pool_id: str, member_id: str) -> None:
        self._next('delete_member', pool_id, member_id)

    def _next(self, call: str, *arguments: Any) -> Any:
        return self._record.next(f'octavia.{call}', [self._region, *arguments], Any)


def _key(asked: str, of: Sequence[Any]) -> str:
    return json.dumps([asked, *of], sort_keys=True)


def _failed(failure: Failure) -> Exception:
    """What the cloud raised; a class that is gone since is the nearest there is."""
    if failure.type == ApiError.__name__:
        return ApiError(failure.reason, **failure.details)
    kind = getattr(errors, failure.type, None)
    known = isinstance(kind, type) and issubclass(kind, Rejected)
    return (kind if known else Rejected)(failure.reason, failure.details)  # type: ignore[misc]
