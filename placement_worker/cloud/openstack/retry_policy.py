"""Ask a service again while that may help and there is time, then say which service failed and
why.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from placement_worker.cloud import deadline
from placement_worker.cloud.openstack.services import Service
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.retry import (
    TimeBudget,
    is_transient,
    stop_before_budget_end,
    wait_growing,
    wait_retry_after,
)
from placement_worker.errors import OutOfTime, ServiceFailed, ServiceRefused

T = TypeVar('T')
WAIT_S = wait_retry_after(wait_growing(0.25, 5, random.Random()))  # noqa: S311  # jitter that keeps workers apart


class LookupBudget:
    """Seconds that may be spent on look-ups, one after the other; used by one thread."""

    def __init__(self, total_s: float) -> None:
        self._left_s = total_s

    @contextmanager
    def spending(self) -> Iterator[None]:
        """What is done here ends by when the budget is used up, and is taken off it."""
        started = time.monotonic()
        try:
            with deadline.until(started + self._left_s):
                yield
        finally:
            self._left_s -= time.monotonic() - started


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a service is asked.

    :ivar max_attempts: of one request.
    :ivar budget_s: for all attempts and waits; less where `deadline.until` says so.
    """

    max_attempts: int = 4
    budget_s: float = 30
    sleep: Callable[[float], None] = time.sleep

    def call(self, service: Service, call: Callable[[], T]) -> T:
        """What the call returns, at the latest by the deadline of `transport`.

        :param call: raises ApiError.
        :raises ServiceRefused: naming service and cause; asking again would not help.
        :raises OutOfTime: the same; whoever has more time may get an answer.
        :raises ServiceFailed: the same; it stays away.
        """
        started = time.monotonic()
        left_s = deadline.left_s(self.budget_s)
        if left_s <= 0:
            raise OutOfTime(
                f'{service.name} service not asked: no time is left for look-ups{service.where}'
            )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            wait=WAIT_S,
            stop=tenacity.stop_after_attempt(self.max_attempts)
            | stop_before_budget_end(TimeBudget(left_s, time.monotonic)),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            with deadline.until(started + left_s):
                return retrying(call)
        except ApiError as exc:
            attempts = int(retrying.statistics['attempt_number'])
            elapsed_s = time.monotonic() - started
            has_stopped_early = attempts < self.max_attempts or elapsed_s >= left_s
            raise self._failure(exc, has_stopped_early)(
                _reason(service, exc, attempts, elapsed_s)
            ) from exc

    def _failure(self, exc: ApiError, has_stopped_early: bool) -> type[ServiceFailed]:
        """What it is to others who want to know the same."""
        if not is_transient(exc):
            return ServiceRefused
        is_too_long_for_all = (exc.retry_after_s or 0) >= self.budget_s
        return OutOfTime if has_stopped_early and not is_too_long_for_all else ServiceFailed


def _reason(service: Service, exc: ApiError, attempts: int, elapsed_s: float) -> str:
    if not is_transient(exc):
        advice = service.advice.get(exc.status or 0)
        check = f'; check that {advice}' if advice else ''
        return f'{service.name} service refused the request: {exc}{service.where}{check}'
    took = f'{elapsed_s:.0f}' if elapsed_s >= 10 else f'{elapsed_s:.1f}'
    tries = f'{attempts} attempt{"" if attempts == 1 else "s"}'
    wait = f'; it asks to wait {exc.retry_after_s:g} s' if exc.retry_after_s else ''
    return (
        f'{service.name} service unavailable after {tries} in {took} s: {exc}{wait}{service.where}'
    )
