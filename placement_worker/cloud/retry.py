"""Building blocks for tenacity: which errors to retry, how long to wait, when to stop.

The rules are the same for all services.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/ for the status codes of Octavia.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import tenacity
from tenacity.stop import stop_base
from tenacity.wait import wait_base
from typing_extensions import override

from placement_worker.cloud.ports import ApiError

BUSY = frozenset({429, 503})
"""Statuses of calls that had no effect and may succeed later."""
SERVER_ERROR, NOT_IMPLEMENTED = 500, 501
GROWTH = 1.6  # reaches 5 s from 0.5 s in five waits


class TimeBudget:
    """A number of seconds that starts to elapse when the budget is created."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._ends = clock() + seconds

    def left_s(self) -> float:
        """Return the remaining seconds, at least 0."""
        return max(self._ends - self._clock(), 0.0)


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
        due = min(self.initial * GROWTH ** (retry_state.attempt_number - 1), self.most)
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
class stop_before_budget_end(stop_base):  # noqa: N801
    """Stop if the next attempt would start after the end of the budget."""

    budget: TimeBudget

    @override
    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self.budget.left_s()


def is_transient(exc: BaseException) -> bool:
    """Return whether another attempt may succeed."""
    return isinstance(exc, ApiError) and (exc.status in BUSY or has_unknown_outcome(exc))


def is_transient_or_immutable(exc: BaseException) -> bool:
    """Return whether another attempt may succeed after pending changes have finished."""
    return is_transient(exc) or (isinstance(exc, ApiError) and is_immutable(exc))


def has_unknown_outcome(exc: ApiError) -> bool:
    """Return whether the error leaves open if this call had an effect.

    This is the case without a response, and for a server error that a proxy may have produced.
    """
    if exc.status is None:
        return True
    return exc.status >= SERVER_ERROR and exc.status != NOT_IMPLEMENTED and exc.status not in BUSY


def may_have_taken_effect(exc: ApiError) -> bool:
    """Return whether this call or an earlier attempt may have made the change.

    If so, check the state of the object before the next attempt.
    """
    return has_unknown_outcome(exc) or (exc.status == 409 and not is_immutable(exc))


def is_immutable(exc: ApiError) -> bool:
    """Return whether the load balancer rejects changes: it is PENDING or in ERROR."""
    return exc.status == 409 and any(
        words in str(exc).lower() for words in ('immutable', 'invalid state')
    )


def is_unsupported(exc: ApiError) -> bool:
    """Return whether the provider or the API version lacks a requested feature."""
    return exc.status == NOT_IMPLEMENTED or (
        exc.status == 400 and 'unknown argument' in str(exc).lower()
    )
