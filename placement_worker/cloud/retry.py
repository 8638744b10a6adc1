"""When to try again, how long to wait before, and when to give up: small named objects for
tenacity.

One rule for all services; what leaves doubt matters to changes alone.

:source: Octavia's answers as octavia.md of the project lists them; its API guide.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import tenacity
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from placement_worker.cloud.ports import ApiError

BUSY = frozenset({429, 503})
"""The call had no effect; it may have one later."""
SERVER_ERROR, NOT_IMPLEMENTED = 500, 501
GROWTH = 1.6  # from 0.5 s to 5 s in five waits


class TimeBudget:
    """So many seconds from now on, by a clock."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._ends = clock() + seconds

    def left_s(self) -> float:
        """What is left, not less than 0."""
        return max(self._ends - self._clock(), 0.0)


@dataclass(frozen=True, slots=True)
class wait_growing(wait_base):  # noqa: N801  # named as tenacity's own
    """Wait a little longer each time, from `initial` to `most` seconds, with jitter that keeps
    workers apart.
    """

    initial: float
    most: float
    random: random.Random

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        """Seconds before the next attempt: between 75 % and 125 % of its due."""
        due = min(self.initial * GROWTH ** (retry_state.attempt_number - 1), self.most)
        return min(due * self.random.uniform(0.75, 1.25), self.most)


@dataclass(frozen=True, slots=True)
class wait_retry_after(wait_base):  # noqa: N801
    """Wait as long as Octavia asks (Retry-After), else as `otherwise` says."""

    otherwise: wait_base

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        """Seconds before the next attempt."""
        exc = retry_state.outcome.exception() if retry_state.outcome else None
        told = exc.retry_after_s if isinstance(exc, ApiError) else None
        own = self.otherwise(retry_state)
        return own if told is None else max(told, own)


@dataclass(frozen=True, slots=True)
class stop_before_budget_end(stop_base):  # noqa: N801
    """Stop when the next attempt would begin after the budget's end."""

    budget: TimeBudget

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        """Whether that is so."""
        return retry_state.upcoming_sleep >= self.budget.left_s()


def is_transient(exc: BaseException) -> bool:
    """Whether the next attempt may go better."""
    return isinstance(exc, ApiError) and (exc.status in BUSY or has_unknown_outcome(exc))


def is_transient_or_immutable(exc: BaseException) -> bool:
    """Whether the next attempt may go better, if what is pending is waited for before."""
    return is_transient(exc) or (isinstance(exc, ApiError) and is_immutable(exc))


def has_unknown_outcome(exc: ApiError) -> bool:
    """Whether there was no answer, or one that does not tell whether the call had an effect, such
    as a proxy's own.
    """
    if exc.status is None:
        return True
    return exc.status >= SERVER_ERROR and exc.status != NOT_IMPLEMENTED and exc.status not in BUSY


def may_have_taken_effect(exc: ApiError) -> bool:
    """Whether what was asked for may have happened, by this call or an earlier one: look before
    trying again.
    """
    return has_unknown_outcome(exc) or (exc.status == 409 and not is_immutable(exc))


def is_immutable(exc: ApiError) -> bool:
    """Whether the load balancer takes no change now: another one is pending, or it is in ERROR."""
    return exc.status == 409 and any(
        words in str(exc).lower() for words in ('immutable', 'invalid state')
    )


def is_unsupported(exc: ApiError) -> bool:
    """Whether provider or API version lack what was asked for."""
    return exc.status == NOT_IMPLEMENTED or (
        exc.status == 400 and 'unknown argument' in str(exc).lower()
    )
