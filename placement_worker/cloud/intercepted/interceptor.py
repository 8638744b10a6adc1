"""A cloud whose calls pass through a hook, and the hook that measures them.

Policies call the cloud through ports, and know neither metrics nor the decision log. A hook sees
each call without its credentials, so nothing that it reports or records contains a secret.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from typing_extensions import override

from placement_worker.cloud import ports
from placement_worker.cloud.ports import ApiError, Kind, Network, Resource, Subnet
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.errors import ServiceFailed
from placement_worker.events.types import CloudCalled, Listener

T = TypeVar('T')
_LOAD_BALANCER = 'load-balancer'
_OF_SEVERAL_KINDS = ('find', 'show', 'create', 'delete')
LOG_IN = 'acting_for'  # logs in to Keystone with the trust of a cluster's owner


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a cloud.

    :ivar service: the type of the service that responds; None for a call that sends no request.
    :ivar operation: the name of the call for operators.
    :ivar method: of `ports.Clouds`, `ports.Cloud` or, with the prefix `octavia.`, `ports.Octavia`.
    :ivar arguments: those without credentials; Octavia's begin with the region.
    """

    service: str | None
    operation: str
    method: str
    arguments: Sequence[Any]


class Hook(Protocol):
    """A function that makes each call, and may do something before and after it."""

    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        """Make the call by calling `make`, and return its result."""


class InterceptedClouds(ports.Clouds):
    def __init__(self, clouds: ports.Clouds, hook: Hook) -> None:
        self._clouds = clouds
        self._hook = hook

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> ports.Cloud:
        call = Call('identity', LOG_IN, LOG_IN, [project])
        cloud = _opened(self._hook, call, lambda: self._clouds.acting_for(credentials, project))
        return InterceptedCloud(cloud, self._hook)

    @override
    def acting_as_service(self) -> ports.Cloud:
        return InterceptedCloud(self._clouds.acting_as_service(), self._hook)


class InterceptedCloud(ports.Cloud):
    def __init__(self, cloud: ports.Cloud, hook: Hook) -> None:
        self._cloud = cloud
        self._hook = hook

    @property
    @override
    def home_region(self) -> str | None:
        return self._call(None, 'home_region', lambda: self._cloud.home_region)

    @property
    @override
    def load_balancer_region(self) -> str | None:
        return self._call(None, 'load_balancer_region', lambda: self._cloud.load_balancer_region)

    @override
    def zones(self, region: str | None) -> Mapping[str, bool]:
        return self._call('compute', 'zones', self._cloud.zones, region)

    @override
    def regions(self) -> Collection[str]:
        return self._call('identity', 'regions', self._cloud.regions)

    @override
    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        return self._call('compute', 'servers', self._cloud.servers, region, list(server_ids))

    @override
    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        return self._call('network', 'subnet', self._cloud.subnet, region, name_or_id)

    @override
    def network(self, region: str | None, name_or_id: str) -> Network | None:
        return self._call('network', 'network', self._cloud.network, region, name_or_id)

    @override
    def octavia(self, region: str | None) -> ports.Octavia:
        call = Call(None, 'octavia', 'octavia', [region])
        octavia = _opened(self._hook, call, lambda: self._cloud.octavia(region))
        return InterceptedOctavia(octavia, region, self._hook)

    def _call(self, service: str | None, method: str, make: Callable[..., T], *arguments: Any) -> T:
        return self._hook(Call(service, method, method, arguments), lambda: make(*arguments))


class InterceptedOctavia(ports.Octavia):
    def __init__(self, octavia: ports.Octavia, region: str | None, hook: Hook) -> None:
        self._octavia = octavia
        self._region = region
        self._hook = hook

    @override
    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        return self._call('find', partial(self._octavia.find, kind, **filters), kind, filters)

    @override
    def show(self, kind: Kind, object_id: str) -> Resource:
        return self._call('show', partial(self._octavia.show, kind, object_id), kind, object_id)

    @override
    def create(self, kind: Kind, body: Resource) -> Resource:
        return self._call('create', partial(self._octavia.create, kind, body), kind, body)

    @override
    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        make = partial(self._octavia.delete, kind, object_id, cascade=cascade)
        self._call('delete', make, kind, object_id, cascade)

    @override
    def members(self, pool_id: str) -> list[Resource]:
        return self._call('members', partial(self._octavia.members, pool_id), pool_id)

    @override
    def create_member(self, pool_id: str, member: Resource) -> Resource:
        make = partial(self._octavia.create_member, pool_id, member)
        return self._call('create_member', make, pool_id, member)

    @override
    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        make = partial(self._octavia.update_members, pool_id, members, additive_only=additive_only)
        self._call('update_members', make, pool_id, list(members), additive_only)

    @override
    def delete_member(self, pool_id: str, member_id: str) -> None:
        make = partial(self._octavia.delete_member, pool_id, member_id)
        self._call('delete_member', make, pool_id, member_id)

    def _call(self, method: str, make: Callable[[], T], *arguments: Any) -> T:
        # A method that serves several kinds is a call per kind for operators.
        operation = f'{method}_{arguments[0]}' if method in _OF_SEVERAL_KINDS else method
        region_first = [self._region, *arguments]
        return self._hook(Call(_LOAD_BALANCER, operation, f'octavia.{method}', region_first), make)


def _opened(hook: Hook, call: Call, open_: Callable[[], T]) -> T:
    """Return the object that a call opens; the hook gets None, since the object is no data."""
    opened: list[T] = []
    hook(call, lambda: opened.append(open_()))
    return opened[0]


class Timing(Hook):
    """Hook that reports the outcome and duration of each call that needs a request.

    A call that fails because Keystone issues no token is reported as a failed login.
    """

    def __init__(self, events: Listener, clock: Callable[[], float] = time.perf_counter) -> None:
        self._events = events
        self._clock = clock

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        started, outcome = self._clock(), 'OK'
        service, operation = call.service, call.operation
        try:
            return make()
        except Exception as exc:
            error = _failure(exc)
            outcome = _outcome(error)
            if isinstance(error, ServiceFailed) and error.service not in (None, service):
                # Keystone issued no token, so the service that was called got no request.
                service, operation = error.service, LOG_IN
            raise
        finally:
            if service is not None:
                elapsed_s = self._clock() - started
                self._events.handle(CloudCalled(service, operation, outcome, elapsed_s))


def _failure(exc: Exception) -> Exception:
    """Return the failure of another service behind an error of Octavia, or else the error."""
    cause = exc.__cause__ if isinstance(exc, ApiError) else None
    return cause if isinstance(cause, ServiceFailed) else exc


def _outcome(exc: Exception) -> str:
    """Return the HTTP status of an error of Octavia, `none` without one, else the error's class."""
    return str(exc.status or 'none') if isinstance(exc, ApiError) else type(exc).__name__
