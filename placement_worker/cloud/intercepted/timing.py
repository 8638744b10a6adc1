"""A hook that measures the calls to a cloud."""

import time
from collections.abc import Callable
from typing import TypeVar

from typing_extensions import override

from placement_worker.cloud.intercepted.interceptor import LOG_IN, Call, Hook
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import ServiceFailed
from placement_worker.events.listener import Listener
from placement_worker.events.types import CloudCalled

T = TypeVar('T')


class Timing(Hook):
    """Hook that reports the outcome and duration of each call that needs a request.

    A call that fails because Keystone issues no token is reported as a failed login.
    """

    def __init__(self, events: Listener, clock: Callable[[], float] = time.perf_counter) -> None:
        """Choose the listener.

        :param clock: returns seconds.
        """
        self._events = events
        self._clock = clock

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        started, outcome = self._clock(), 'OK'
        service, operation = call.service, call.operation
        try:
            return make()
        except Exception as exc:
            error = _failure(exc)
            outcome = _outcome(error)
            if isinstance(error, ServiceFailed) and error.service not in (None, service):
                # Keystone issued no token, so the service that was called got no request.
                service, operation = error.service, LOG_IN
            raise
        finally:
            if service is not None:
                elapsed_s = self._clock() - started
                self._events.handle(CloudCalled(service, operation, outcome, elapsed_s))


def _failure(exc: Exception) -> Exception:
    """Return the failure of another service behind an error of Octavia, or else the error."""
    cause = exc.__cause__ if isinstance(exc, ApiError) else None
    return cause if isinstance(cause, ServiceFailed) else exc


def _outcome(exc: Exception) -> str:
    """Return the HTTP status of an error of Octavia, `none` without one, else the error's class."""
    return str(exc.status or 'none') if isinstance(exc, ApiError) else type(exc).__name__
