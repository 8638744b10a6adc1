"""Share one call among all threads that need its result at the same time.

:source: https://pkg.go.dev/golang.org/x/sync/singleflight for the name and the idea.
"""

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from placement_worker.errors import OutOfTime

T = TypeVar('T')


class SingleFlight:
    """The calls in progress, and results that are cached for a while. It is thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[Hashable, Future[Any]] = {}
        self._cache: dict[Hashable, tuple[float, Future[Any]]] = {}

    def do(self, key: Hashable, call: Callable[[], T], *, wait_s: float, cache_s: float = 0) -> T:
        """Return the cached result of a key, the result of the call in progress, or make the call.

        The thread that makes the call may have less time than a thread that waits for it. If that
        call runs out of time, the waiting thread makes the call again. All threads that wait for a
        call raise its error.

        :param wait_s: how long to wait for the call of another thread.
        :param cache_s: how long later callers may use the result. Errors are not cached.
        :raises OutOfTime: the call of another thread did not return in time.
        """
        ends = self._clock() + wait_s
        while True:
            future, is_own = self._join(key)
            if is_own:
                self._run(key, future, call, cache_s)
                return cast(T, future.result())
            try:
                return cast(T, future.result(max(ends - self._clock(), 0)))
            except OutOfTime:
                if self._clock() >= ends:
                    raise
            except TimeoutError as exc:
                if future.done():  # the call itself raised it
                    raise
                raise OutOfTime(
                    f'No response within {wait_s:.0f} s to a lookup shared with another check'
                ) from exc

    def _join(self, key: Hashable) -> tuple[Future[Any], bool]:
        """Return the result of a key, and whether it is new, so that the caller must `_run` it."""
        with self._lock:
            until, cached = self._cache.get(key, (0.0, None))
            if cached and self._clock() < until:
                return cached, False
            pending = self._calls.get(key)
            if pending:
                return pending, False
            own = self._calls[key] = Future()
            return own, True

    def _run(self, key: Hashable, own: Future[T], call: Callable[[], T], cache_s: float) -> None:
        try:
            result = call()
        except BaseException as exc:  # threads that wait must not hang, whatever the error is
            self._finish(key)
            own.set_exception(exc)
        else:
            own.set_result(result)
            self._finish(key, own, cache_s)

    def _finish(self, key: Hashable, done: Future[Any] | None = None, cache_s: float = 0) -> None:
        now = self._clock()
        with self._lock:
            del self._calls[key]
            if done and cache_s > 0:
                self._cache = {k: entry for k, entry in self._cache.items() if entry[0] > now}
                self._cache[key] = (now + cache_s, done)
