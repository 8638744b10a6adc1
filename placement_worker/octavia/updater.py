"""Change load balancers one update at a time, within one time budget.

Octavia takes one change of a load balancer at a time, and answers meanwhile that it is immutable.
A load balancer in ERROR gives the same answer forever, so its status decides about another attempt.
A change whose outcome is unknown is looked up before it is retried: sent twice, it would leave a
second load balancer, or fail as a duplicate.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/ (status codes)
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import tenacity

from placement_worker.cloud.ports import ApiError, Octavia, OctaviaSettings, Resource
from placement_worker.cloud.time_budget import (
    TimeBudget,
    growing_wait,
    has_unknown_outcome,
    is_transient,
    stop_before_end,
    until,
)
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from placement_worker.events.types import (
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
)

P = ParamSpec('P')
T = TypeVar('T')
BAD_REQUEST, NOT_FOUND, CONFLICT, NOT_IMPLEMENTED = 400, 404, 409, 501
_LAST_CALL_S = 5.0  # the limit of a call after the end of the budget, to read the final state


@dataclass(frozen=True, slots=True)
class Write:
    """A call that changes a load balancer or its parts.

    :ivar is_done: returns whether an earlier attempt took effect.
    """

    send: Callable[[], object]
    is_done: Callable[[], bool]


@dataclass(slots=True)
class Statistics:
    calls: int = 0
    waited_s: float = 0  # between calls
    writes: int = 0
    updates: int = 0


@dataclass
class Updater:
    """Access to Octavia for one policy operation; after the request expires, no change is sent.

    :ivar budget: the time for all changes together (`lb_status_timeout`).
    :ivar seed: of the jitter, so that the same request waits for the same time.
    """

    octavia: Octavia
    settings: OctaviaSettings
    budget: TimeBudget
    seed: str
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        settings = self.settings
        jitter = random.Random(self.seed)  # noqa: S311
        # Runs use copies: tenacity keeps the state of a run in the object, and an attempt of a
        # change may read with retries.
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            wait=growing_wait(settings.poll_initial_s, settings.poll_max_s, jitter),
            stop=stop_before_end(self.budget, settings.max_attempts),
            sleep=self._wait,
            before_sleep=lambda _: settings.events.handle(LoadBalancerRetried()),
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call that changes nothing, with retries."""
        return self._retry(self._retrying, lambda: self.once(call, *args, **kwargs))

    def once(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.statistics.calls += 1
        with until(time.monotonic() + max(self.budget.left_s(), _LAST_CALL_S)):
            return call(*args, **kwargs)

    def wait_until(self, moment: float) -> None:
        self._wait(max(0, min(moment - self.budget.clock(), self.budget.left_s())))

    def update(self, lb_id: str, change: Write) -> None:
        """Change a load balancer and wait until it is ACTIVE again.

        :raises LoadBalancerFailed: the load balancer is in ERROR, or pending for too long.
        :raises RequestExpired: the request expired before the change.
        :raises ApiError: Octavia refused the change.
        """
        self._retry(self._retrying, lambda: self._attempt(change, lb_id))
        self._count_update()
        self.wait_active(lb_id)

    def create(self, change: Write) -> None:
        """Send the change that creates a load balancer, without a wait; raises as `update`."""
        self._retry(self._retrying, lambda: self._attempt(change))
        self._count_update()

    def delete_load_balancer(self, lb_id: str) -> None:
        deleting = self._retrying.copy(
            retry=tenacity.retry_if_exception(lambda exc: is_transient(exc) or _is_immutable(exc))
            | tenacity.retry_if_result(bool)
        )
        try:
            left = self._retry(deleting, lambda: self._delete(lb_id))
        except ApiError as exc:
            text = f'Load balancer {lb_id} cannot be deleted: {cause(exc)}'
            raise LoadBalancerFailed(text) from exc
        if left is not None:
            status = left['provisioning_status']
            raise LoadBalancerFailed(f'Load balancer {lb_id} cannot be deleted: it is in {status}')

    def wait_active(self, lb_id: str) -> Resource:
        """Wait until a load balancer accepts changes, and return it.

        :raises LoadBalancerGone: it does not exist.
        :raises LoadBalancerFailed: it is in ERROR, or pending for too long.
        """
        balancer = self._wait_settled(lb_id)
        if balancer is None:
            raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more')
        status = balancer['provisioning_status']
        if status != 'ACTIVE':
            raise LoadBalancerFailed(f'Load balancer {lb_id} is in {status}')
        return balancer

    def check_time(self) -> None:
        self.budget.check_expiry()
        if not self.budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer changes exceeded lb_status_timeout ({self.budget.seconds:.0f} s)'
            )

    def _retry(self, retrying: tenacity.Retrying, call: Callable[[], T]) -> T:
        """Make a call with retries; the error of the last attempt tells how many failed."""
        run, waited_s = retrying.copy(), self.statistics.waited_s
        try:
            result: T = run(call)
        except ApiError as exc:
            exc.attempts = max(exc.attempts, int(run.statistics['attempt_number']))
            exc.waited_s = max(exc.waited_s, self.statistics.waited_s - waited_s)
            raise
        return result

    def _wait(self, seconds: float) -> None:
        self.settings.sleep(seconds)
        self.statistics.waited_s += seconds

    def _attempt(self, change: Write, lb_id: str | None = None) -> None:
        try:
            self._send(change, lb_id)
        except ApiError as exc:
            is_known = exc.status == CONFLICT and not _is_immutable(exc)
            if not (is_known or has_unknown_outcome(exc)) or not change.is_done():
                raise

    def _send(self, change: Write, lb_id: str | None) -> None:
        while True:
            try:
                self._write(change.send)
                return
            except ApiError as exc:
                if lb_id is None or not _is_immutable(exc):
                    raise
                self._wait_for_conflict(lb_id, exc)

    def _wait_for_conflict(self, lb_id: str, refusal: ApiError) -> None:
        with self._conflict():
            self._wait(min(self.settings.poll_initial_s, self.budget.left_s()))
            self.wait_active(lb_id)
        if not self.budget.left_s():
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} accepted no change within {self.budget.seconds:.0f} s: '
                f'{cause(refusal)}'
            ) from refusal

    def _delete(self, lb_id: str) -> Resource | None:
        try:
            self._write(self.octavia.delete, 'loadbalancer', lb_id, cascade=True)
        except ApiError as exc:
            if exc.status == NOT_FOUND:
                return None
            if _is_immutable(exc):
                with self._conflict():
                    if self._wait_settled(lb_id) is None:
                        return None
            raise
        self._count_update()
        return self._wait_settled(lb_id)

    def _write(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.check_time()
        self.statistics.writes += 1
        return self.once(call, *args, **kwargs)

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

    def _wait_settled(self, lb_id: str) -> Resource | None:
        """Wait until no change is pending; return the load balancer, or None if it is gone."""
        polling = self._retrying.copy(
            retry=tenacity.retry_if_result(_is_pending) | tenacity.retry_if_exception(is_transient),
            stop=stop_before_end(self.budget),
            before_sleep=None,
        )
        show = self.octavia.show
        try:
            balancer = self._retry(
                polling, lambda: unless_gone(self.once, show, 'loadbalancer', lb_id)
            )
        except ApiError as exc:
            if not is_transient(exc):
                raise
            raise LoadBalancerFailed(f'Cannot read load balancer {lb_id}: {cause(exc)}') from exc
        if balancer is None or balancer['provisioning_status'] == 'DELETED':
            return None
        if _is_pending(balancer):
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} is still {balancer["provisioning_status"]} after '
                f'{self.budget.seconds:.0f} s'
            )
        return balancer


def unless_gone(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """Return the result of a call, or None if the object does not exist."""
    try:
        return call(*args, **kwargs)
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        return None


def cause(exc: Exception) -> str:
    if not isinstance(exc, ApiError):
        return str(exc)
    verb = f'responded with status {exc.status}' if exc.status else 'did not respond'
    waited = f', after {exc.attempts} attempts in {exc.waited_s:.0f} s'
    return f'Octavia {verb}: {exc}' + (waited if exc.attempts > 1 else '')


def refuses_nested_creation(exc: ApiError) -> bool:
    """Return whether Octavia or the provider cannot create a load balancer with its parts."""
    return exc.status == NOT_IMPLEMENTED or (
        exc.status == BAD_REQUEST and 'unknown argument' in str(exc).lower()
    )


def _is_immutable(exc: BaseException) -> bool:
    """Return whether the load balancer rejects changes: it is PENDING or in ERROR."""
    return (
        isinstance(exc, ApiError)
        and exc.status == CONFLICT
        and any(words in str(exc).lower() for words in ('immutable', 'invalid state'))
    )


def _is_pending(balancer: Resource | None) -> bool:
    return balancer is not None and balancer['provisioning_status'].startswith('PENDING')
