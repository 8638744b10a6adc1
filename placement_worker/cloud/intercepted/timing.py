"""A hook that measures the calls to a cloud."""

import time
from collections.abc import Callable
from typing import TypeVar

from typing_extensions import override

from placement_worker.cloud.intercepted.interceptor import Call, Hook
from placement_worker.cloud.ports import ApiError
from placement_worker.events.listener import Listener
from placement_worker.events.types import CloudCalled

T = TypeVar('T')


class Timing(Hook):
    """Hook that reports the outcome and duration of each call that needs a request."""

    def __init__(self, events: Listener, clock: Callable[[], float] = time.perf_counter) -> None:
        """Choose the listener.

        :param clock: returns seconds.
        """
        self._events = events
        self._clock = clock

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        if call.service is None:
            return make()
        started, outcome = self._clock(), 'OK'
        try:
            return make()
        except Exception as exc:
            outcome = _outcome(exc)
            raise
        finally:
            elapsed_s = self._clock() - started
            self._events.handle(CloudCalled(call.service, call.operation, outcome, elapsed_s))


def _outcome(exc: Exception) -> str:
    """Return the HTTP status of an error of Octavia, `none` without one, else the error's class."""
    return str(exc.status or 'none') if isinstance(exc, ApiError) else type(exc).__name__
