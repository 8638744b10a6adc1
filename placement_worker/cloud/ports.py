"""The interfaces between policies and a cloud.

Policies know these protocols alone, and no library of a cloud: the embedded cloud, records and
tests implement them as well. Errors of services reach policies as `ApiError` (Octavia, which may
be retried) or `CloudUnavailable` (all other services).
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

from placement_worker.contract.model import ContractStruct, Credentials, ServerDetails
from placement_worker.errors import CloudUnavailable, PlacementWorkerError
from placement_worker.events.types import NO_LISTENERS, Listener

# A kind of object in Octavia's API.
ObjectKind = Literal[
    'loadbalancer', 'listener', 'pool', 'healthmonitor', 'flavor', 'availability_zone'
]
# An object as Octavia's API shows it, e.g. {'id': ..., 'provisioning_status': 'ACTIVE'}.
Resource = dict[str, Any]
# Services ignore a request id of any other form: request_id.py of oslo.middleware.
_REQUEST_ID = re.compile('req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_request_id: ContextVar[str | None] = ContextVar('request_id', default=None)


class Network(ContractStruct, frozen=True):
    id: str
    name: str


class Subnet(ContractStruct, frozen=True):
    id: str
    name: str
    network: Network
    ip_version: int
    cidr: str | None = None


class ApiError(PlacementWorkerError):
    """A service returned an error or no response.

    :ivar status: the HTTP status; None if no response arrived, so that the effect is unknown.
    :ivar retry_after_s: the delay that the service requests before the next attempt.
    :ivar attempts: the number of attempts, of which this is the last failure.
    :ivar waited_s: the seconds of waiting between them.
    """

    def __init__(
        self, message: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts = 1
        self.waited_s = 0.0


def collection(kind: ObjectKind, object_id: str = '') -> str:
    """Return the path of the objects of a kind in Octavia's API, or of one of them."""
    objects = f'{kind.replace("_", "")}s'
    return f'{objects}/{object_id}' if object_id else objects


def in_octavia(method: str, path: str, message: object) -> str:
    return f'{method} /v2/lbaas/{path}: {message}'


class Octavia(Protocol):
    """The load balancers of one region that one project can access.

    Each call sends one HTTP request, except that a listing may take several pages. No call is
    retried. Every method raises `ApiError`.

    :source: https://docs.openstack.org/api-ref/load-balancer/v2/
    """

    def find(self, kind: ObjectKind, **filters: Any) -> list[Resource]:
        """Return the objects that match all filters: name, loadbalancer_id, tags (a list) etc."""

    def show(self, kind: ObjectKind, object_id: str) -> Resource:
        """Return one object, or raise `ApiError` with status 404."""

    def create(self, kind: ObjectKind, body: Resource) -> Resource:
        """Create an object, including the children that the body of a load balancer contains."""

    def delete(self, kind: ObjectKind, object_id: str, *, cascade: bool = False) -> None:
        """Delete an object, with `cascade` also the children of a load balancer."""

    def members(self, pool_id: str) -> list[Resource]: ...

    def create_member(self, pool_id: str, member: Resource) -> Resource: ...

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """Add or change members, matched by address and port, in one update.

        :param additive_only: False to delete the members that are not listed.
        """

    def delete_member(self, pool_id: str, member_id: str) -> None: ...


class Cloud(Protocol):
    """A cloud from the perspective of one project.

    A region of None is the configured region. Every method raises `CloudUnavailable` if the
    service does not respond.
    """

    @property
    def home_region(self) -> str | None:
        """The region of nodes that name no region, or None if none is configured."""

    @property
    def load_balancer_region(self) -> str | None:
        """The name of the region that `octavia(None)` uses, or None if it has no name."""

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """Return the zones of a region: name -> available; none if the region is unknown."""

    def regions(self) -> Collection[str]:
        """Return the regions that Keystone lists."""

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """Return the servers that exist in the region, by id."""

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """Return the subnet with this id or name.

        :raises InvalidInput: several subnets have this name.
        """

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """Return the network with this id or name; raises as `subnet`."""

    def octavia(self, region: str | None) -> Octavia: ...


class Clouds(Protocol):
    """The source of the cloud that a check uses."""

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """Return the cloud with the rights of a cluster's owner.

        :raises Rejected: the credentials do not grant these rights.
        """

    def acting_as_service(self) -> Cloud:
        """Return the cloud of the service user, for public names of zones and regions only."""


@dataclass(frozen=True, slots=True)
class OctaviaSettings:
    batch_members: bool = True  # whether several members change in one update
    poll_initial_s: float = 0.5  # the shortest delay between polls of a pending load balancer
    poll_max_s: float = 5
    max_attempts: int = 10  # per call
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    events: Listener = NO_LISTENERS


class UnreachableCloud:
    """Stands for a `Cloud` that could not be reached: only the policies that use it fail."""

    def __init__(self, cause: CloudUnavailable) -> None:
        self._cause = cause

    def __getattr__(self, name: str) -> NoReturn:
        raise self._cause


@contextmanager
def bound_request_id(request_id: str | None) -> Iterator[None]:
    """Send this id with each request of the block, so that services log it."""
    is_accepted = request_id and _REQUEST_ID.fullmatch(request_id)
    token = _request_id.set(request_id if is_accepted else None)
    try:
        yield
    finally:
        _request_id.reset(token)


def current_request_id() -> str | None:
    """Return the id to send, or None if no id of the accepted form is bound."""
    return _request_id.get()
