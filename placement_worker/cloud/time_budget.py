"""How long calls to a service may take with their retries, and which errors are retried.

The rules are the same for all services. The deadline of the current thread bounds each request
that is sent meanwhile: without it, a slow service would keep a check busy after its sender has
stopped waiting.
"""

import contextlib
import math
import random
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

import tenacity
from tenacity.stop import stop_base
from tenacity.wait import wait_base
from typing_extensions import override

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired

P = ParamSpec('P')
T = TypeVar('T')
_LAST_CALL_S = 5.0  # the limit of a call after the end of the budget, to read the final state
_BUSY = frozenset({429, 503})  # statuses of calls that had no effect and may succeed later
_SERVER_ERROR, _NOT_IMPLEMENTED = 500, 501
_GROWTH = 1.6  # reaches 5 s from 0.5 s in five waits
_deadline: ContextVar[float | None] = ContextVar('deadline', default=None)


@contextlib.contextmanager
def until(ends: float) -> Iterator[None]:
    """Set the deadline inside the block by `time.monotonic`; an earlier deadline remains."""
    before = _deadline.get()
    token = _deadline.set(ends if before is None else min(ends, before))
    try:
        yield
    finally:
        _deadline.reset(token)


@overload
def left_s(limit_s: float) -> float: ...


@overload
def left_s(limit_s: float | None) -> float | None: ...


def left_s(limit_s: float | None) -> float | None:
    """Return the seconds until the deadline, at most `limit_s`; None if neither is set."""
    ends = _deadline.get()
    if ends is None:
        return limit_s
    left = ends - time.monotonic()
    return left if limit_s is None else min(left, limit_s)


class TimeBudget:
    """The time of an operation from now on: `seconds`, fewer if its request expires earlier."""

    def __init__(
        self,
        limit_s: float,
        clock: Callable[[], float],
        expires_in_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self.clock = clock
        self._limit_s = limit_s
        self._expires_in_s = expires_in_s
        self.seconds = min(limit_s, max(expires_in_s(), 0))
        self._ends = clock() + self.seconds

    def left_s(self) -> float:
        return max(self._ends - self.clock(), 0.0)

    def check_expiry(self) -> None:
        if self._expires_in_s() <= 0:
            raise RequestExpired('Request expired')

    def without_expiry(self) -> 'TimeBudget':
        return TimeBudget(self._limit_s, self.clock)


def is_transient(exc: BaseException) -> bool:
    return isinstance(exc, ApiError) and (exc.status in _BUSY or has_unknown_outcome(exc))


def has_unknown_outcome(exc: ApiError) -> bool:
    """Return whether the call may have had an effect: a proxy may have produced a server error."""
    if exc.status is None:
        return True
    return exc.status >= _SERVER_ERROR and exc.status not in (_NOT_IMPLEMENTED, *_BUSY)


@dataclass(frozen=True, slots=True)
class wait_growing(wait_base):  # noqa: N801  # follows tenacity's naming
    """Wait longer after each attempt, from `initial` to `most` seconds.

    Jitter of 25 % keeps workers from retrying at the same moment.
    """

    initial: float
    most: float
    random: random.Random

    @override
    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        due = min(self.initial * _GROWTH ** (retry_state.attempt_number - 1), self.most)
        return min(due * self.random.uniform(0.75, 1.25), self.most)


@dataclass(frozen=True, slots=True)
class wait_retry_after(wait_base):  # noqa: N801
    """Wait as long as the service requests (Retry-After), but at least as `otherwise` says."""

    otherwise: wait_base

    @override
    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        exc = retry_state.outcome.exception() if retry_state.outcome else None
        requested = exc.retry_after_s if isinstance(exc, ApiError) else None
        own = self.otherwise(retry_state)
        return own if requested is None else max(requested, own)


@dataclass(frozen=True, slots=True)
class stop_before_budget_end(stop_base):  # noqa: N801  # follows tenacity's naming
    """Stop if the next attempt would start after the end of the budget."""

    budget: TimeBudget

    @override
    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self.budget.left_s()


@dataclass(slots=True)
class CallStatistics:
    calls: int = 0
    waited_s: float = 0  # between calls


class BoundedCalls:
    """Calls to a service within one time budget.

    :ivar retrying: retries after transient errors. Run a copy, because tenacity keeps the state of
        a run in the object, and an attempt of a change may read with retries.
    """

    def __init__(
        self,
        budget: TimeBudget,
        statistics: CallStatistics,
        *,
        max_attempts: int,
        wait: wait_base,
        sleep: Callable[[float], None],
        on_retry: Callable[[], None],
    ) -> None:
        self._budget = budget
        self._statistics = statistics
        self._sleep = sleep
        self.retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            wait=wait,
            stop=tenacity.stop_after_attempt(max_attempts) | stop_before_budget_end(budget),
            sleep=self.wait,
            before_sleep=lambda _: on_retry(),
            retry_error_callback=_last_result,
        )

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self.retry(self.retrying, lambda: self.once(call, *args, **kwargs))

    def retry(self, retrying: tenacity.Retrying, call: Callable[[], T]) -> T:
        """Make a call with retries; the error of the last attempt tells how many failed."""
        run, waited_s = retrying.copy(), self._statistics.waited_s
        try:
            result: T = run(call)
        except ApiError as exc:
            exc.attempts = max(exc.attempts, int(run.statistics['attempt_number']))
            exc.waited_s = max(exc.waited_s, self._statistics.waited_s - waited_s)
            raise
        return result

    def once(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._statistics.calls += 1
        with until(time.monotonic() + max(self._budget.left_s(), _LAST_CALL_S)):
            return call(*args, **kwargs)

    def wait(self, seconds: float) -> None:
        self._sleep(seconds)
        self._statistics.waited_s += seconds

    def wait_until(self, moment: float) -> None:
        self.wait(max(0, min(moment - self._budget.clock(), self._budget.left_s())))


def _last_result(state: tenacity.RetryCallState) -> Any:
    return state.outcome.result() if state.outcome else None
