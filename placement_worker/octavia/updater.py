"""Change load balancers one update at a time, within one time budget.

A change whose outcome is unknown is looked up before it is retried.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/ (provisioning status codes)
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, Protocol, TypeVar

import tenacity

from placement_worker.cloud.ports import ApiError, Octavia, OctaviaSettings, Resource
from placement_worker.cloud.time_budget import (
    BoundedCalls,
    CallStatistics,
    TimeBudget,
    stop_before_budget_end,
)
from placement_worker.cloud.transient_errors import is_transient, wait_growing, wait_retry_after
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from placement_worker.events.types import (
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
)
from placement_worker.octavia.api_errors import (
    NOT_FOUND,
    cause,
    is_immutable,
    is_transient_or_immutable,
    may_have_taken_effect,
)

P = ParamSpec('P')
T = TypeVar('T')


class Change(Protocol):
    """A change of a load balancer or its parts."""

    def send(self, updater: 'Updater') -> None:
        """Send the change to Octavia."""

    def is_done(self, updater: 'Updater') -> bool:
        """Return whether an earlier attempt took effect."""


@dataclass(slots=True)
class Statistics(CallStatistics):
    """Counts of calls, of calls that write, and of updates; and the seconds spent waiting."""

    writes: int = 0
    updates: int = 0


@dataclass
class Updater:
    """Access to Octavia for one policy operation; after the request expires, no change is sent.

    :ivar budget: the time for all changes together (`lb_status_timeout`).
    :ivar seed: of the jitter, so that the same request waits for the same time.
    :ivar calls: makes the calls that read, with retries.
    """

    octavia: Octavia
    settings: OctaviaSettings
    budget: TimeBudget
    seed: str
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        settings = self.settings
        jitter = random.Random(self.seed)  # noqa: S311
        self.calls = BoundedCalls(
            self.budget,
            self.statistics,
            max_attempts=settings.max_attempts,
            wait=wait_retry_after(
                wait_growing(settings.poll_initial_s, settings.poll_max_s, jitter)
            ),
            sleep=settings.sleep,
            on_retry=lambda: settings.events.handle(LoadBalancerRetried()),
        )

    def for_cleanup(self) -> 'Updater':
        """Return an updater with a new budget that ignores the expiry of the request."""
        return replace(self, budget=self.budget.without_expiry())

    def update(self, lb_id: str, change: Change) -> None:
        """Change a load balancer and wait until it is ACTIVE again.

        :raises LoadBalancerFailed: the load balancer is in ERROR, or pending for too long.
        :raises RequestExpired: the request expired before the change.
        :raises ApiError: Octavia refused the change.
        """
        self.calls.retrying.copy()(self._attempt, change, lb_id)
        self._count_update()
        self.wait_active(lb_id)

    def create(self, change: Change) -> None:
        """Send the change that creates a load balancer, without a wait; raises as `update`."""
        self.calls.retrying.copy()(self._attempt, change)
        self._count_update()

    def check_time(self) -> None:
        """Check that there is time for another change.

        :raises RequestExpired: the request expired.
        :raises LoadBalancerFailed: the budget for changes is used up.
        """
        self.budget.check_expiry()
        if not self.budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer changes exceeded lb_status_timeout ({self.budget.seconds:.0f} s)'
            )

    def wait_active(self, lb_id: str) -> Resource:
        """Wait until a load balancer accepts changes, and return it.

        :raises LoadBalancerGone: it does not exist.
        :raises LoadBalancerFailed: it is in ERROR, or pending for too long.
        """
        shown = self.wait_settled(lb_id)
        if shown is None:
            raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more')
        if shown['provisioning_status'] != 'ACTIVE':
            raise LoadBalancerFailed(f'Load balancer {lb_id} is in {shown["provisioning_status"]}')
        return shown

    def wait_settled(self, lb_id: str) -> Resource | None:
        """Wait until no change is pending; return the load balancer, or None if it is gone.

        :raises LoadBalancerFailed: a change is pending for too long, or Octavia does not respond.
        """
        polling = self.calls.retrying.copy(
            retry=tenacity.retry_if_result(_is_pending) | tenacity.retry_if_exception(is_transient),
            stop=stop_before_budget_end(self.budget),
            before_sleep=None,
            retry_error_callback=lambda state: self._fail_pending(lb_id, state),
        )
        try:
            shown: Resource = polling(self.calls.once, self.octavia.show, 'loadbalancer', lb_id)
        except ApiError as exc:
            if exc.status == NOT_FOUND:
                return None
            raise
        return None if shown['provisioning_status'] == 'DELETED' else shown

    def delete_load_balancer(self, lb_id: str) -> None:
        """Delete a load balancer with all its parts and wait until it is gone.

        :raises LoadBalancerFailed: it still exists.
        """
        deleting = self.calls.retrying.copy(
            retry=tenacity.retry_if_exception(is_transient_or_immutable)
            | tenacity.retry_if_result(bool)
        )
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
            if is_immutable(exc):
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
            if not may_have_taken_effect(exc) or not change.is_done(self):
                raise

    def _send(self, change: Change, lb_id: str | None) -> None:
        """Send a change; if another one is pending, wait for it and send the change again."""
        while True:
            try:
                return self._write(change.send, self)
            except ApiError as exc:
                if lb_id is None or not is_immutable(exc):
                    raise
                self._wait_for_conflict(lb_id, exc)

    def _wait_for_conflict(self, lb_id: str, refusal: ApiError) -> None:
        with self._conflict():
            self.calls.wait(min(self.settings.poll_initial_s, self.budget.left_s()))
            self.wait_active(lb_id)
        if not self.budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} accepted no change within {self.budget.seconds:.0f} s: '
                f'{refusal}'
            ) from refusal

    def _write(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.check_time()
        self.statistics.writes += 1
        return self.calls.once(call, *args, **kwargs)

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

    def _fail_pending(self, lb_id: str, state: tenacity.RetryCallState) -> Any:
        outcome = state.outcome
        exc = outcome.exception() if outcome else None
        if isinstance(exc, ApiError):
            raise LoadBalancerFailed(f'Cannot read load balancer {lb_id}: {cause(exc)}') from exc
        status = outcome.result()['provisioning_status'] if outcome else 'unknown'
        raise LoadBalancerFailed(
            f'Load balancer {lb_id} is still {status} after {self.budget.seconds:.0f} s'
        )


def _is_pending(shown: Resource) -> bool:
    return str(shown['provisioning_status']).startswith('PENDING')
