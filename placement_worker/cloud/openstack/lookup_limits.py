"""The limits of lookups in Keystone, Nova and Neutron: attempts, and a time budget per check.

`cloud.transient_errors` has the rules for all services: which errors are retried, and when.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack.services import Service
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.time_budget import TimeBudget, stop_before_budget_end
from placement_worker.cloud.transient_errors import is_transient, wait_growing, wait_retry_after
from placement_worker.errors import OutOfTime, ServiceFailed, ServiceRefused
from placement_worker.formats.text import counted

T = TypeVar('T')
RETRY_WAIT = wait_retry_after(wait_growing(0.25, 5, random.Random()))  # noqa: S311  # jitter only


class LookupBudget:
    """The seconds that one check may spend on lookups. It is not thread-safe."""

    def __init__(self, total_s: float) -> None:
        self._left_s = total_s

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Bound the block by the remaining budget, and subtract its duration afterwards."""
        started = time.monotonic()
        try:
            with time_budget.until(started + self._left_s):
                yield
        finally:
            self._left_s -= time.monotonic() - started


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The limits of the attempts of one request.

    :ivar max_attempts: the attempts per request.
    :ivar budget_s: the seconds for all attempts and waits; less if the deadline ends earlier.
    """

    max_attempts: int = 4
    budget_s: float = 30
    sleep: Callable[[float], None] = time.sleep

    def call(self, service: Service, request: Callable[[], T]) -> T:
        """Send a request, retry it after transient errors, and return its result.

        :param request: a function that raises ApiError.
        :raises ServiceRefused: the service refused the request, so retries would not help.
        :raises OutOfTime: the time was up; a caller with more time may succeed.
        :raises ServiceFailed: all attempts failed.
        """
        started = time.monotonic()
        left_s = time_budget.left_s(self.budget_s)
        if left_s <= 0:
            raise OutOfTime(
                f'{service.name} service not called: no time left for lookups{service.where}'
            )
        retrying = self._retrying(left_s)
        try:
            with time_budget.until(started + left_s):
                return retrying(request)
        except ApiError as exc:
            attempts = int(retrying.statistics['attempt_number'])
            elapsed_s = time.monotonic() - started
            has_stopped_early = attempts < self.max_attempts or elapsed_s >= left_s
            raise self._failure(exc, has_stopped_early)(
                _reason(service, exc, attempts, elapsed_s), service.name.lower()
            ) from exc

    def _retrying(self, left_s: float) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            wait=RETRY_WAIT,
            stop=tenacity.stop_after_attempt(self.max_attempts)
            | stop_before_budget_end(TimeBudget(left_s, time.monotonic)),
            sleep=self.sleep,
            reraise=True,
        )

    def _failure(self, exc: ApiError, has_stopped_early: bool) -> type[ServiceFailed]:
        """Return the exception type to raise.

        Threads that share one lookup (`single_flight`) all receive this exception.
        """
        if not is_transient(exc):
            return ServiceRefused
        delay_exceeds_budget = (exc.retry_after_s or 0) >= self.budget_s
        return OutOfTime if has_stopped_early and not delay_exceeds_budget else ServiceFailed


def _reason(service: Service, exc: ApiError, attempts: int, elapsed_s: float) -> str:
    if not is_transient(exc):
        advice = service.advice.get(exc.status or 0)
        check = f'; check that {advice}' if advice else ''
        return f'{service.name} service refused the request: {exc}{service.where}{check}'
    took = f'{elapsed_s:.0f}' if elapsed_s >= 10 else f'{elapsed_s:.1f}'
    tries = counted(attempts, 'attempt')
    wait = f'; retry after {exc.retry_after_s:g} s' if exc.retry_after_s else ''
    return (
        f'{service.name} service unavailable after {tries} in {took} s: {exc}{wait}{service.where}'
    )
