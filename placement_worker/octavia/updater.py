"""Change load balancers one update at a time, within one time budget.

A change whose outcome is unknown is looked up before it is retried.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/ (provisioning status codes)
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, Protocol, TypeVar

from placement_worker.cloud import retry
from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import LoadBalancerFailed, RequestExpired
from placement_worker.events.types import LoadBalancerConflicted, LoadBalancerUpdated
from placement_worker.octavia.causes import NOT_FOUND, cause
from placement_worker.octavia.reader import Reader

P = ParamSpec('P')
T = TypeVar('T')


class Change(Protocol):
    """A change of a load balancer or its parts."""

    def send(self, updater: 'Updater') -> None:
        """Send the change to Octavia."""

    def is_done(self, updater: 'Updater') -> bool:
        """Return whether an earlier attempt took effect."""


class Updater(Reader):
    """Access to Octavia for one policy operation; after the request expires, no change is sent."""

    def for_cleanup(self) -> 'Updater':
        """Return an updater with a new budget that ignores the expiry of the request."""
        return Updater(
            self.octavia,
            self.settings,
            self.timeout_s,
            lambda: math.inf,
            self.seed,
            self.statistics,
        )

    def update(self, lb_id: str, change: Change) -> None:
        """Change a load balancer and wait until it is ACTIVE again.

        :raises LoadBalancerFailed: the load balancer is in ERROR, or pending for too long.
        :raises RequestExpired: the request expired before the change.
        :raises ApiError: Octavia refused the change.
        """
        self._retrying()(self._attempt, change, lb_id)
        self._count_update()
        self.wait_active(lb_id)

    def create(self, change: Change) -> None:
        """Send the change that creates a load balancer, without a wait; raises as `update`."""
        self._retrying()(self._attempt, change)
        self._count_update()

    def check_time(self) -> None:
        """Check that there is time for another change.

        :raises RequestExpired: the request expired.
        :raises LoadBalancerFailed: the budget for changes is used up.
        """
        if self.left_s() <= 0:
            raise RequestExpired('Request expired')
        if not self._budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer changes exceeded lb_status_timeout ({self._budget.seconds:.0f} s)'
            )

    def delete_load_balancer(self, lb_id: str) -> None:
        """Delete a load balancer with all its parts and wait until it is gone.

        :raises LoadBalancerFailed: it still exists.
        """
        deleting = self._retrying(retry.is_transient_or_immutable, retry_if_result=bool)
        try:
            left = deleting(self._delete, lb_id)
        except ApiError as exc:
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} cannot be deleted: {cause(exc)}'
            ) from exc
        if left is not None:
            status = left['provisioning_status']
            raise LoadBalancerFailed(f'Load balancer {lb_id} cannot be deleted: it is in {status}')

    def _delete(self, lb_id: str) -> Resource | None:
        """Delete a load balancer once; return what is left of it."""
        try:
            self._write(self.octavia.delete, 'loadbalancer', lb_id, cascade=True)
        except ApiError as exc:
            if exc.status == NOT_FOUND:
                return None
            if retry.is_immutable(exc):
                with self._conflict():
                    if self.wait_settled(lb_id) is None:
                        return None
            raise
        self._count_update()
        return self.wait_settled(lb_id)

    def _attempt(self, change: Change, lb_id: str | None = None) -> None:
        try:
            self._send(change, lb_id)
        except ApiError as exc:
            if not retry.may_have_taken_effect(exc) or not change.is_done(self):
                raise

    def _send(self, change: Change, lb_id: str | None) -> None:
        """Send a change; if another one is pending, wait for it and send the change again."""
        while True:
            try:
                return self._write(change.send, self)
            except ApiError as exc:
                if lb_id is None or not retry.is_immutable(exc):
                    raise
                self._wait_for_conflict(lb_id, exc)

    def _wait_for_conflict(self, lb_id: str, refusal: ApiError) -> None:
        with self._conflict():
            self._wait(min(self.settings.poll_initial_s, self._budget.left_s()))
            self.wait_active(lb_id)
        if not self._budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} accepted no change within {self._budget.seconds:.0f} s: '
                f'{refusal}'
            ) from refusal

    def _write(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.check_time()
        self.statistics.writes += 1
        return self.call(call, *args, **kwargs)

    def _count_update(self) -> None:
        self.statistics.updates += 1
        self.settings.events.handle(LoadBalancerUpdated())

    @contextmanager
    def _conflict(self) -> Iterator[None]:
        """Report the time that the block waits as the wait for another change."""
        before = self.statistics.waited_s
        try:
            yield
        finally:
            waited_s = self.statistics.waited_s - before
            self.settings.events.handle(LoadBalancerConflicted(waited_s))
