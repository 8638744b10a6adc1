"""The errors after which a call to a service is retried, and the delay before the next attempt.

The rules are the same for all services.
"""

import random
from dataclasses import dataclass

import tenacity
from tenacity.wait import wait_base
from typing_extensions import override

from placement_worker.cloud.ports import ApiError

BUSY = frozenset({429, 503})
"""Statuses of calls that had no effect and may succeed later."""
SERVER_ERROR, NOT_IMPLEMENTED = 500, 501
GROWTH = 1.6  # reaches 5 s from 0.5 s in five waits


def is_transient(exc: BaseException) -> bool:
    """Return whether another attempt may succeed."""
    return isinstance(exc, ApiError) and (exc.status in BUSY or has_unknown_outcome(exc))


def has_unknown_outcome(exc: ApiError) -> bool:
    """Return whether the error leaves open if this call had an effect.

    This is the case without a response, and for a server error that a proxy may have produced.
    """
    if exc.status is None:
        return True
    return exc.status >= SERVER_ERROR and exc.status != NOT_IMPLEMENTED and exc.status not in BUSY


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
