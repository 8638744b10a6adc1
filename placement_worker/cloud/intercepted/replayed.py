"""A cloud that returns recorded responses."""

import json
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud import ports
from placement_worker.cloud.intercepted.recording import Answer, Failure
from placement_worker.cloud.ports import ApiError, Kind, Network, Resource, Subnet
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.errors import PlacementWorkerError, Rejected


class NotRecorded(PlacementWorkerError):
    """The record has no response to a call."""


class Answers:
    """Recorded responses by their calls; each one is returned once, in the recorded order."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        """Sort the responses by their calls."""
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        for answer in answers:
            self._answers[_key(answer.asked, answer.of)].append(answer)

    def next(self, method: str, arguments: Sequence[Any], kind: Any) -> Any:
        """Return the next response to a call.

        :param kind: the type of the response.
        :raises NotRecorded: the record has no response, or no further one.
        """
        left = self._answers[_key(method, arguments)]
        if not left:
            shown = json.dumps(arguments)[1:-1]
            raise NotRecorded(f'The record has no response to the call {method}({shown})')
        answer = left.popleft()
        if answer.failure is not None:
            raise _error(answer.failure)
        return decoder(kind).decode(answer.answer)


class ReplayedCloud(ports.Clouds, ports.Cloud):
    """The clouds of a record, which are one cloud.

    Every method raises `NotRecorded` if the record has no answer.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        """Take the responses of a record."""
        self._answers = Answers(answers)

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> ports.Cloud:
        self._answers.next('acting_for', [project], None)
        return self

    @override
    def acting_as_service(self) -> ports.Cloud:
        return self  # no decision acts as the service, so no record has this call

    @property
    @override
    def home_region(self) -> str | None:
        region: str | None = self._answers.next('home_region', [], str | None)
        return region

    @property
    @override
    def load_balancer_region(self) -> str | None:
        region: str | None = self._answers.next('load_balancer_region', [], str | None)
        return region

    @override
    def zones(self, region: str | None) -> Mapping[str, bool]:
        zones: dict[str, bool] = self._answers.next('zones', [region], dict[str, bool])
        return zones

    @override
    def regions(self) -> Collection[str]:
        regions: list[str] = self._answers.next('regions', [], list[str])
        return regions

    @override
    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        kind = dict[str, ServerDetails]
        servers: dict[str, ServerDetails] = self._answers.next(
            'servers', [region, list(server_ids)], kind
        )
        return servers

    @override
    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        subnet: Subnet | None = self._answers.next('subnet', [region, name_or_id], Subnet | None)
        return subnet

    @override
    def network(self, region: str | None, name_or_id: str) -> Network | None:
        network: Network | None = self._answers.next(
            'network', [region, name_or_id], Network | None
        )
        return network

    @override
    def octavia(self, region: str | None) -> ports.Octavia:
        self._answers.next('octavia', [region], None)
        return ReplayedOctavia(self._answers, region)


class ReplayedOctavia(ports.Octavia):
    """Octavia of a record in one region; its methods change nothing."""

    def __init__(self, answers: Answers, region: str | None) -> None:
        """Take the responses of a record.

        :param region: the first argument of each recorded call.
        """
        self._answers = answers
        self._region = region

    @override
    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        found: list[Resource] = self._next('find', kind, filters)
        return found

    @override
    def show(self, kind: Kind, object_id: str) -> Resource:
        shown: Resource = self._next('show', kind, object_id)
        return shown

    @override
    def create(self, kind: Kind, body: Resource) -> Resource:
        created: Resource = self._next('create', kind, body)
        return created

    @override
    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        self._next('delete', kind, object_id, cascade)

    @override
    def members(self, pool_id: str) -> list[Resource]:
        members: list[Resource] = self._next('members', pool_id)
        return members

    @override
    def create_member(self, pool_id: str, member: Resource) -> Resource:
        created: Resource = self._next('create_member', pool_id, member)
        return created

    @override
    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        self._next('update_members', pool_id, list(members), additive_only)

    @override
    def delete_member(self, pool_id: str, member_id: str) -> None:
        self._next('delete_member', pool_id, member_id)

    def _next(self, method: str, *arguments: Any) -> Any:
        return self._answers.next(f'octavia.{method}', [self._region, *arguments], Any)


def _key(method: str, arguments: Sequence[Any]) -> str:
    return json.dumps([method, *arguments], sort_keys=True)


def _error(failure: Failure) -> Exception:
    """Return the error of the cloud; an unknown class becomes `Rejected`."""
    if failure.type == ApiError.__name__:
        return ApiError(failure.reason, **failure.details)
    kind = getattr(errors, failure.type, None)
    known = isinstance(kind, type) and issubclass(kind, Rejected)
    return (kind if known else Rejected)(failure.reason, failure.details)  # type: ignore[misc]
