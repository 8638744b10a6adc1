"""The attempts of a lookup in Keystone, Nova or Neutron, and the reason if all of them fail.

`cloud.time_budget` has the rules for all services: which errors are retried, and when. All lookups
of a check share one time budget, so that a slow service delays a check once and not per lookup.
The reason says what an operator can check, since the caller sees nothing else.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from placement_worker.cloud import time_budget
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.time_budget import (
    TimeBudget,
    growing_wait,
    is_transient,
    stop_before_end,
)
from placement_worker.errors import OutOfTime, ServiceFailed, ServiceRefused
from placement_worker.formats.text import counted

T = TypeVar('T')
_WAIT = growing_wait(0.25, 5, random.Random())  # noqa: S311  # jitter only
_NOT_AN_API = (
    'the endpoint in the catalog leads to this service; openstack catalog list shows the endpoints'
)
_TOKEN_REFUSED = (
    'the service validates tokens at the same Keystone, and that the trust still exists'  # noqa: S105
)
_TRUST = (
    'the trust exists and has not expired, that the service user of [service_auth] is its '
    'trustee, and that its owner is enabled and still has the roles in the project'
)
_USER = 'user, password, domains and project in [service_auth] are right'


@dataclass(frozen=True, slots=True)
class Service:
    """A service in one region, as error messages name it.

    :ivar name: for example Compute.
    :ivar region: None for a service that all regions share.
    :ivar advice: HTTP status -> what to check if another attempt does not help.
    """

    name: str
    region: str | None
    advice: Mapping[int, str]

    @classmethod
    def lets(cls, name: str, region: str | None, rights: str) -> 'Service':
        roles = f'the roles of the trust (or of the service user, without a trust) let it {rights}'
        return cls(name, region, {401: _TOKEN_REFUSED, 403: roles, 404: _NOT_AN_API})

    @property
    def where(self) -> str:
        """The region as a suffix of messages, for example ' (region RegionOne)'."""
        return f' (region {self.region})' if self.region else ''


TRUST_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _TRUST))
USER_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _USER))


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

    :ivar budget_s: for all attempts and waits; less if the deadline ends earlier.
    """

    max_attempts: int = 4
    budget_s: float = 30
    sleep: Callable[[float], None] = time.sleep

    def call(self, service: Service, request: Callable[[], T]) -> T:
        """Send a request, which raises ApiError if it fails, and retry it after transient errors.

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
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            wait=_WAIT,
            stop=stop_before_end(TimeBudget(left_s, time.monotonic), self.max_attempts),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            with time_budget.until(started + left_s):
                return retrying(request)
        except ApiError as exc:
            attempts = int(retrying.statistics['attempt_number'])
            elapsed_s = time.monotonic() - started
            has_stopped_early = attempts < self.max_attempts or elapsed_s >= left_s
            delay_exceeds_budget = (exc.retry_after_s or 0) >= self.budget_s
            is_late = has_stopped_early and not delay_exceeds_budget
            raise _failure(service, exc, attempts, elapsed_s, is_late=is_late) from exc


def _failure(
    service: Service, exc: ApiError, attempts: int, elapsed_s: float, *, is_late: bool
) -> ServiceFailed:
    name, where = service.name, service.where
    if not is_transient(exc):
        advice = service.advice.get(exc.status or 0)
        check = f'; check that {advice}' if advice else ''
        text = f'{name} service refused the request: {exc}{where}{check}'
        return ServiceRefused(text, name.lower())
    took = f'{elapsed_s:.0f}' if elapsed_s >= 10 else f'{elapsed_s:.1f}'
    tries = counted(attempts, 'attempt')
    wait = f'; retry after {exc.retry_after_s:g} s' if exc.retry_after_s else ''
    text = f'{name} service unavailable after {tries} in {took} s: {exc}{wait}{where}'
    return (OutOfTime if is_late else ServiceFailed)(text, name.lower())
