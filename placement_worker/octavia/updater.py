"""Drive Octavia: one change at a time, looked at before it is tried again, and bounded by one
budget.

A `Driver` serves one policy operation. It counts what it does in its `tally`, sleeps and reads the
clock as it is told, and raises `LoadBalancerFailed` (a `Rejected`) with a reason that names what
Octavia said.

:source: Octavia API v2; octavia.md of the project says which answer means what.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import tenacity

from placement_worker.cloud import deadline, retry
from placement_worker.cloud.ports import ApiError, Octavia, OctaviaSettings, Resource
from placement_worker.cloud.retry import (
    TimeBudget,
    stop_before_budget_end,
    wait_growing,
    wait_retry_after,
)
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone, RequestExpired
from placement_worker.events.types import (
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
)

T = TypeVar('T')
LAST_LOOK_S = 5.0
"""What a call may take when the time for changes is up: to see how things are."""


@dataclass(slots=True)
class Tally:
    """What was done: calls of the API, writes among them, changes that it took, seconds that were
    waited.
    """

    calls: int = 0
    writes: int = 0
    updates: int = 0
    waited_s: float = 0


@dataclass
class Driver:
    """One policy operation's way to Octavia.

    :ivar timeout_s: how long everything may take together (`lb_status_timeout`), and no longer than
        the caller waits.
    :ivar left_s: how many seconds the caller still waits; at 0 nothing is written any more.
    :ivar seed: of the jitter, so that the same request waits the same.
    """

    octavia: Octavia
    settings: OctaviaSettings
    timeout_s: float
    left_s: Callable[[], float]
    seed: str
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._budget = TimeBudget(min(self.timeout_s, max(self.left_s(), 0)), self.settings.clock)
        self._waiting = wait_retry_after(
            wait_growing(self.settings.poll_initial_s, self.settings.poll_max_s, random.Random(self.seed))  # noqa: S311
        )

    def undoing(self) -> 'Driver':
        """The driver for cleaning up: with a budget of its own, and whoever waits or not."""
        return Driver(
            self.octavia, self.settings, self.timeout_s, lambda: math.inf, self.seed, self.tally
        )

    def read(self, call: Callable[[], T]) -> T:
        """Ask Octavia, again after passing faults.

        :raises ApiError: its last answer.
        """
        return self._retrying()(lambda: self.counted(call))

    def counted(self, call: Callable[[], T]) -> T:
        """Make one call of the API, once."""
        self.tally.calls += 1
        with deadline.until(time.monotonic() + max(self._budget.left_s(), LAST_LOOK_S)):
            return call()

    def write(self, lb_id: str, act: Callable[[], object], done: Callable[[], bool]) -> None:
        """Change something of a load balancer, and wait until it is ACTIVE again.

        :param act: makes the change.
        :param done: whether it has happened already; asked where that is in doubt.
        :raises LoadBalancerFailed: the load balancer is in ERROR, or pending for too long.
        :raises RequestExpired: the caller waits no more; nothing was written.
        :raises ApiError: Octavia's last answer.
        """
        self._do(lambda: self._accepted(lb_id, act), done)
        self.wait_active(lb_id)

    def make(self, act: Callable[[], object], done: Callable[[], bool]) -> None:
        """As `write`, for what no load balancer has to be ready for; the end of it is not waited
        for.
        """
        self._do(lambda: self._ask(act), done)

    def refuse_late(self) -> None:
        """Before every change: see that somebody still waits for it, and that there is time to see
        it through.

        :raises RequestExpired: nobody does.
        :raises LoadBalancerFailed: there is none.
        """
        if self.left_s() <= 0:
            raise RequestExpired('Request expired')
        if not self._budget.left_s():
            raise LoadBalancerFailed(f'The {self._budget.seconds:.0f} s for changes are up')

    def pause_until(self, moment: float) -> None:
        """Wait until the clock shows that, if there is time."""
        self._wait(max(0, min(moment - self.settings.clock(), self._budget.left_s())))

    def wait_active(self, lb_id: str) -> Resource:
        """Wait until a load balancer takes changes.

        :raises LoadBalancerGone: there is none.
        :raises LoadBalancerFailed: it is in ERROR, or pending for too long.
        """
        shown = self.wait_settled(lb_id)
        if shown is None:
            raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more')
        if shown['provisioning_status'] != 'ACTIVE':
            raise LoadBalancerFailed(f'Load balancer {lb_id} is in {shown["provisioning_status"]}')
        return shown

    def wait_settled(self, lb_id: str) -> Resource | None:
        """Wait until nothing is pending; None if the load balancer is gone.

        :raises LoadBalancerFailed: something is pending for too long, or Octavia does not tell.
        """
        looking = tenacity.Retrying(
            retry=tenacity.retry_if_result(_is_pending) | tenacity.retry_if_exception(retry.is_transient),
            wait=self._waiting,
            stop=stop_before_budget_end(self._budget),
            sleep=self._wait,
            retry_error_callback=lambda state: self._too_long(lb_id, state),
        )
        try:
            shown: Resource = looking(
                lambda: self.counted(lambda: self.octavia.show('loadbalancer', lb_id))
            )
        except ApiError as exc:
            if exc.status == 404:
                return None
            raise
        return None if shown['provisioning_status'] == 'DELETED' else shown

    def delete_load_balancer(self, lb_id: str) -> None:
        """Delete a load balancer with all that it has, and wait until it is gone; gone already
        counts as done.

        :raises LoadBalancerFailed: it stays.
        :raises ApiError: Octavia's last answer.
        """

        def attempt() -> Resource | None:
            try:
                self._ask(lambda: self.octavia.delete('loadbalancer', lb_id, cascade=True))
            except ApiError as exc:
                if exc.status == 404:
                    return None
                if retry.is_immutable(exc):
                    with self._conflict():
                        if self.wait_settled(lb_id) is None:
                            return None
                raise
            self._updated()
            return self.wait_settled(lb_id)

        try:
            left = self._retrying(retry.is_transient_or_immutable, retry_if_result=bool)(attempt)
        except ApiError as exc:
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} cannot be deleted: {told(exc)}'
            ) from exc
        if left is not None:
            status = left['provisioning_status']
            raise LoadBalancerFailed(f'Load balancer {lb_id} cannot be deleted: it is in {status}')

    def _do(self, change: Callable[[], None], done: Callable[[], bool]) -> None:
        def attempt() -> None:
            try:
                change()
            except ApiError as exc:
                if not retry.may_have_taken_effect(exc) or not done():
                    raise

        self._retrying()(attempt)
        self._updated()

    def _accepted(self, lb_id: str, act: Callable[[], object]) -> None:
        """Have a change accepted; wait while another one is pending."""
        while True:
            try:
                self._ask(act)
            except ApiError as exc:
                if not retry.is_immutable(exc):
                    raise
                with self._conflict():
                    self._wait(min(self.settings.poll_initial_s, self._budget.left_s()))
                    self.wait_active(lb_id)
                if not self._budget.left_s():
                    raise LoadBalancerFailed(
                        f'Load balancer {lb_id} took no change within {self._budget.seconds:.0f} s: {exc}'
                    ) from exc
            else:
                return

    def _ask(self, act: Callable[[], object]) -> None:
        self.refuse_late()
        self.tally.writes += 1
        self.counted(act)

    def _updated(self) -> None:
        self.tally.updates += 1
        self.settings.events.handle(LoadBalancerUpdated())

    @contextmanager
    def _conflict(self) -> Iterator[None]:
        """What is waited here is waited for another change to end."""
        before = self.tally.waited_s
        try:
            yield
        finally:
            self.settings.events.handle(LoadBalancerConflicted(self.tally.waited_s - before))

    def _retrying(
        self,
        again_after: Callable[[BaseException], bool] = retry.is_transient,
        retry_if_result: Callable[[Any], bool] = lambda _: False,
    ) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(again_after)
            | tenacity.retry_if_result(retry_if_result),
            wait=self._waiting,
            stop=tenacity.stop_after_attempt(self.settings.max_attempts) | stop_before_budget_end(self._budget),
            sleep=self._wait,
            before_sleep=lambda _: self.settings.events.handle(LoadBalancerRetried()),
            retry_error_callback=_last,
        )

    def _wait(self, seconds: float) -> None:
        self.settings.sleep(seconds)
        self.tally.waited_s += seconds

    def _too_long(self, lb_id: str, state: tenacity.RetryCallState) -> Any:
        outcome = state.outcome
        exc = outcome.exception() if outcome else None
        if isinstance(exc, ApiError):
            raise LoadBalancerFailed(
                f'Load balancer {lb_id} cannot be looked at: {told(exc)}'
            ) from exc
        status = outcome.result()['provisioning_status'] if outcome else 'unknown'
        raise LoadBalancerFailed(
            f'Load balancer {lb_id} is still {status} after {self._budget.seconds:.0f} s'
        )


def told(exc: ApiError) -> str:
    """What Octavia answered, in words."""
    return (
        f'Octavia answers {exc.status}: {exc}' if exc.status else f'Octavia gives no answer: {exc}'
    )


def _last(state: tenacity.RetryCallState) -> Any:
    """What the last attempt came to: its result, or the exception that ended it."""
    return state.outcome.result() if state.outcome else None


def _is_pending(shown: Resource) -> bool:
    return str(shown['provisioning_status']).startswith('PENDING')
