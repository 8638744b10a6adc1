"""A cloud whose calls are timed."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from placement_worker.cloud import ports
from placement_worker.cloud.ports import ApiError, Kind, Network, Resource, Subnet
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.events.listener import Observer

T = TypeVar('T')


class Clouds:
    """As `cloud.Clouds`, and the observer hears of each call."""

    def __init__(
        self,
        clouds: ports.Clouds,
        observer: Observer,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Wrap them.

        :param clock: seconds.
        """
        self._clouds, self._observer, self._clock = clouds, observer, clock

    def acting_for(self, credentials: Credentials, project: str | None) -> ports.Cloud:
        """As `cloud.Clouds.acting_for`; Keystone may be asked for a token."""
        timed = Stopwatch(self._observer, self._clock)
        return Cloud(
            timed('identity', 'acting_for', lambda: self._clouds.acting_for(credentials, project)),
            timed,
        )

    def acting_as_service(self) -> ports.Cloud:
        """As `cloud.Clouds.acting_as_service`."""
        return Cloud(self._clouds.acting_as_service(), Stopwatch(self._observer, self._clock))


class Stopwatch:
    """Times calls and tells of them."""

    def __init__(self, observer: Observer, clock: Callable[[], float]) -> None:
        self._observer, self._clock = observer, clock

    def __call__(self, service: str, operation: str, call: Callable[[], T]) -> T:
        """What the call returns."""
        started, outcome = self._clock(), 'OK'
        try:
            return call()
        except Exception as exc:
            outcome = _outcome(exc)
            raise
        finally:
            self._observer.cloud_called(service, operation, outcome, self._clock() - started)


def _outcome(exc: Exception) -> str:
    """Octavia's status of HTTP, `none` without an answer; else which error it is."""
    return str(exc.status or 'none') if isinstance(exc, ApiError) else type(exc).__name__


class Cloud:
    """As `cloud.Cloud`, and the observer hears of each call."""

    def __init__(self, wrapped: ports.Cloud, timed: Stopwatch) -> None:
        self._wrapped, self._timed = wrapped, timed

    @property
    def home_region(self) -> str | None:
        """As `cloud.Cloud.home_region`."""
        return self._wrapped.home_region

    @property
    def load_balancer_region(self) -> str | None:
        """The region for load balancers that name none."""
        return self._wrapped.load_balancer_region

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """As `cloud.Cloud.zones`."""
        return self._timed('compute', 'zones', lambda: self._wrapped.zones(region))

    def regions(self) -> Collection[str]:
        """As `cloud.Cloud.regions`."""
        return self._timed('identity', 'regions', self._wrapped.regions)

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """As `cloud.Cloud.servers`."""
        return self._timed('compute', 'servers', lambda: self._wrapped.servers(region, server_ids))

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """As `cloud.Cloud.subnet`."""
        return self._timed('network', 'subnet', lambda: self._wrapped.subnet(region, name_or_id))

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """As `cloud.Cloud.network`."""
        return self._timed('network', 'network', lambda: self._wrapped.network(region, name_or_id))

    def octavia(self, region: str | None) -> ports.Octavia:
        """As `cloud.Cloud.octavia`."""
        return Octavia(self._wrapped.octavia(region), self._timed)


class Octavia:
    """As `ports.Octavia`, and the observer hears of each call."""

    def __init__(self, wrapped: ports.Octavia, timed: Stopwatch) -> None:
        self._wrapped, self._stopwatch = wrapped, timed

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        """As `ports.Octavia.find`."""
        return self._timed(f'find_{kind}', lambda: self._wrapped.find(kind, **filters))

    def show(self, kind: Kind, object_id: str) -> Resource:
        """As `ports.Octavia.show`."""
        return self._timed(f'show_{kind}', lambda: self._wrapped.show(kind, object_id))

    def create(self, kind: Kind, body: Resource) -> Resource:
        """As `ports.Octavia.create`."""
        return self._timed(f'create_{kind}', lambda: self._wrapped.create(kind, body))

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        """As `ports.Octavia.delete`."""
        self._timed(
            f'delete_{kind}', lambda: self._wrapped.delete(kind, object_id, cascade=cascade)
        )

    def members(self, pool_id: str) -> list[Resource]:
        """As `ports.Octavia.members`."""
        return self._timed('members', lambda: self._wrapped.members(pool_id))

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        """As `ports.Octavia.create_member`."""
        return self._timed('create_member', lambda: self._wrapped.create_member(pool_id, member))

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """As `ports.Octavia.update_members`."""
        self._timed(
            'update_members',
            lambda: self._wrapped.update_members(pool_id, members, additive_only=additive_only),
        )

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """As `ports.Octavia.delete_member`."""
        self._timed('delete_member', lambda: self._wrapped.delete_member(pool_id, member_id))

    def _timed(self, operation: str, call: Callable[[], T]) -> T:
        return self._stopwatch('load-balancer', operation, call)
