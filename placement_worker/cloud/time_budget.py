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

import tenacity

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired

_BUSY = frozenset({429, 503})  # statuses of calls that had no effect and may succeed later
_SERVER_ERROR, _NOT_IMPLEMENTED = 500, 501
_GROWTH = 1.6  # reaches 5 s from 0.5 s in five waits
_deadline: ContextVar[float] = ContextVar('deadline', default=math.inf)


@contextlib.contextmanager
def until(ends: float) -> Iterator[None]:
    """Set the deadline inside the block by `time.monotonic`; an earlier deadline remains."""
    token = _deadline.set(min(ends, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def left_s(limit_s: float = math.inf) -> float:
    """Return the seconds until the deadline, at most `limit_s`; infinity without a deadline."""
    return min(_deadline.get() - time.monotonic(), limit_s)


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


def growing_wait(
    initial_s: float, most_s: float, jitter: random.Random
) -> Callable[[tenacity.RetryCallState], float]:
    """Return a wait that grows with each attempt, or is what the service requests (Retry-After).

    Jitter of 25 % keeps workers from retrying at the same moment.
    """

    def seconds(state: tenacity.RetryCallState) -> float:
        due = min(initial_s * _GROWTH ** (state.attempt_number - 1), most_s)
        own = min(due * jitter.uniform(0.75, 1.25), most_s)
        exc = state.outcome.exception() if state.outcome else None
        requested = exc.retry_after_s if isinstance(exc, ApiError) else None
        return max(requested or 0, own)

    return seconds


def stop_before_end(
    budget: TimeBudget, max_attempts: float = math.inf
) -> Callable[[tenacity.RetryCallState], bool]:
    """Stop after a number of attempts, or if the next one would start after the budget's end."""
    return lambda state: (
        state.attempt_number >= max_attempts or state.upcoming_sleep >= budget.left_s()
    )
