"""One look-up for all who want to know the same at the same time."""

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from placement_worker.errors import OutOfTime

T = TypeVar('T')


class SingleFlight:
    """Questions in the air, and answers that are kept for a while. Threads share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._flying: dict[Hashable, Future[Any]] = {}
        self._kept: dict[Hashable, tuple[float, Any]] = {}

    def do(
        self, question: Hashable, ask: Callable[[], T], *, wait_s: float, keep_s: float = 0
    ) -> T:
        """The answer to a question: a kept one, that of whoever is asking already, or one of our
        own.

        Whoever is asking may have less time than we have: if it is out of time, the question is
        asked again.

        :param wait_s: how long to wait for somebody else's answer.
        :param keep_s: how long the answer is good for others that ask later; errors are not kept.
        :raises: what asking raises, to everybody who waits for it.
        :raises OutOfTime: somebody else's answer did not come in time.
        """
        ends = self._clock() + wait_s
        while True:
            with self._lock:
                until, answer = self._kept.get(question, (0.0, None))
                if self._clock() < until:
                    return cast(T, answer)
                flight = self._flying.get(question)
                if ours := flight is None:
                    flight = self._flying[question] = Future()
            if ours:
                self._fly(question, flight, ask, keep_s)
            try:
                return cast(T, flight.result(0 if ours else max(ends - self._clock(), 0)))
            except OutOfTime:
                if ours or self._clock() >= ends:
                    raise
            except TimeoutError as exc:
                if flight.done():
                    raise
                raise OutOfTime(
                    f'No answer in {wait_s:.0f} s to what another check is asking the cloud'
                ) from exc

    def _fly(
        self, question: Hashable, flight: Future[T], ask: Callable[[], T], keep_s: float
    ) -> None:
        try:
            answer = ask()
        except BaseException as exc:  # whoever waits has to hear of it, whatever it is
            self._land(question)
            flight.set_exception(exc)
        else:
            self._land(question, answer, keep_s)
            flight.set_result(answer)

    def _land(self, question: Hashable, answer: object = None, keep_s: float = 0) -> None:
        now = self._clock()
        with self._lock:
            del self._flying[question]
            if keep_s > 0:
                self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > now}
                self._kept[question] = (now + keep_s, answer)
