"""Read the state of load balancers with retries, within one time budget."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import tenacity

from placement_worker.cloud import deadline, retry
from placement_worker.cloud.ports import ApiError, Octavia, OctaviaSettings, Resource
from placement_worker.cloud.retry import (
    TimeBudget,
    stop_before_budget_end,
    wait_growing,
    wait_retry_after,
)
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from placement_worker.events.types import LoadBalancerRetried
from placement_worker.octavia.causes import NOT_FOUND, cause

P = ParamSpec('P')
T = TypeVar('T')
LAST_CALL_S = 5.0
"""The time limit of a call after the end of the budget, to read the final state."""


@dataclass(slots=True)
class Statistics:
    """Counts of calls, of calls that write, and of updates; and the seconds spent waiting."""

    calls: int = 0
    writes: int = 0
    updates: int = 0
    waited_s: float = 0


@dataclass
class Reader:
    """Read access to Octavia for one policy operation.

    :ivar timeout_s: the time for all changes together (`lb_status_timeout`); the expiry of the
        request may shorten it.
    :ivar left_s: returns the seconds until the request expires.
    :ivar seed: of the jitter, so that the same request waits for the same time.
    """

    octavia: Octavia
    settings: OctaviaSettings
    timeout_s: float
    left_s: Callable[[], float]
    seed: str
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        settings = self.settings
        self._budget = TimeBudget(min(self.timeout_s, max(self.left_s(), 0)), settings.clock)
        jitter = random.Random(self.seed)  # noqa: S311
        self._delay = wait_retry_after(
            wait_growing(settings.poll_initial_s, settings.poll_max_s, jitter)
        )

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call that reads, and retry it after transient errors.

        :raises ApiError: the last attempt failed.
        """
        result: T = self._retrying()(self.call, call, *args, **kwargs)
        return result

    def call(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call once, and count it."""
        self.statistics.calls += 1
        with deadline.until(time.monotonic() + max(self._budget.left_s(), LAST_CALL_S)):
            return call(*args, **kwargs)

    def pause_until(self, moment: float) -> None:
        """Wait until the clock shows a moment, but not beyond the budget."""
        self._wait(max(0, min(moment - self.settings.clock(), self._budget.left_s())))

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
        polling = tenacity.Retrying(
            retry=tenacity.retry_if_result(_is_pending)
            | tenacity.retry_if_exception(retry.is_transient),
            wait=self._delay,
            stop=stop_before_budget_end(self._budget),
            sleep=self._wait,
            retry_error_callback=lambda state: self._fail_pending(lb_id, state),
        )
        try:
            shown: Resource = polling(self.call, self.octavia.show, 'loadbalancer', lb_id)
        except ApiError as exc:
            if exc.status == NOT_FOUND:
                return None
            raise
        return None if shown['provisioning_status'] == 'DELETED' else shown

    def _retrying(
        self,
        retry_after: Callable[[BaseException], bool] = retry.is_transient,
        retry_if_result: Callable[[Any], bool] = lambda _: False,
    ) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(retry_after)
            | tenacity.retry_if_result(retry_if_result),
            wait=self._delay,
            stop=tenacity.stop_after_attempt(self.settings.max_attempts)
            | stop_before_budget_end(self._budget),
            sleep=self._wait,
            before_sleep=lambda _: self.settings.events.handle(LoadBalancerRetried()),
            retry_error_callback=_last_result,
        )

    def _wait(self, seconds: float) -> None:
        self.settings.sleep(seconds)
        self.statistics.waited_s += seconds

    def _fail_pending(self, lb_id: str, state: tenacity.RetryCallState) -> Any:
        outcome = state.outcome
        exc = outcome.exception() if outcome else None
        if isinstance(exc, ApiError):
            raise LoadBalancerFailed(f'Cannot read load balancer {lb_id}: {cause(exc)}') from exc
        status = outcome.result()['provisioning_status'] if outcome else 'unknown'
        raise LoadBalancerFailed(
            f'Load balancer {lb_id} is still {status} after {self._budget.seconds:.0f} s'
        )


def _last_result(state: tenacity.RetryCallState) -> Any:
    """Return the result of the last attempt, or raise its exception."""
    return state.outcome.result() if state.outcome else None


def _is_pending(shown: Resource) -> bool:
    return str(shown['provisioning_status']).startswith('PENDING')
