"""A cloud whose calls pass through a hook, and the hook that measures them.

Policies call the cloud through ports, and know neither metrics nor the decision log. A hook sees
each call without its credentials, so nothing that it reports or records contains a secret.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from typing_extensions import override

from placement_worker.cloud import ports
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import ServiceFailed
from placement_worker.events.types import CloudCalled, Listener

T = TypeVar('T')
# The services that respond to the methods of `ports.Cloud`; its properties need no request.
_SERVICES = {
    'zones': 'compute',
    'regions': 'identity',
    'servers': 'compute',
    'subnet': 'network',
    'network': 'network',
}
_PROPERTIES = ('home_region', 'load_balancer_region')
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
        return cast('ports.Cloud', _InterceptedCloud(cloud, self._hook))

    @override
    def acting_as_service(self) -> ports.Cloud:
        return cast('ports.Cloud', _InterceptedCloud(self._clouds.acting_as_service(), self._hook))


class _InterceptedCloud:
    """A `Cloud`: whatever is read or called on it passes through the hook under its name."""

    def __init__(self, cloud: ports.Cloud, hook: Hook) -> None:
        self._cloud = cloud
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        if name in _PROPERTIES:
            return self._hook(Call(None, name, name, ()), lambda: getattr(self._cloud, name))
        return partial(self._call, name)

    def octavia(self, region: str | None) -> ports.Octavia:
        call = Call(None, 'octavia', 'octavia', [region])
        octavia = _opened(self._hook, call, lambda: self._cloud.octavia(region))
        return cast('ports.Octavia', _InterceptedOctavia(octavia, region, self._hook))

    def _call(self, name: str, /, *arguments: Any) -> Any:
        call = Call(_SERVICES[name], name, name, arguments)
        return self._hook(call, partial(getattr(self._cloud, name), *arguments))


class _InterceptedOctavia:
    """An `Octavia`: each method that is called on it passes through the hook under its name."""

    def __init__(self, octavia: ports.Octavia, region: str | None, hook: Hook) -> None:
        self._octavia = octavia
        self._region = region
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name)

    def _call(self, name: str, /, *arguments: Any, **options: Any) -> Any:
        # A method that serves several kinds is a call per kind for operators.
        operation = f'{name}_{arguments[0]}' if name in _OF_SEVERAL_KINDS else name
        named = [options] if name == 'find' else options.values()  # a listing has any filters
        call = Call(
            'load-balancer', operation, f'octavia.{name}', [self._region, *arguments, *named]
        )
        return self._hook(call, partial(getattr(self._octavia, name), *arguments, **options))


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
            # The failure of another service may be behind an error of Octavia.
            cause = exc.__cause__ if isinstance(exc, ApiError) else None
            error = cause if isinstance(cause, ServiceFailed) else exc
            outcome = type(error).__name__
            if isinstance(error, ApiError):
                outcome = str(error.status or 'none')
            elif isinstance(error, ServiceFailed) and error.service not in (None, service):
                # Keystone issued no token, so the service that was called got no request.
                service, operation = error.service, LOG_IN
            raise
        finally:
            if service is not None:
                elapsed_s = self._clock() - started
                self._events.handle(CloudCalled(service, operation, outcome, elapsed_s))
