"""Threads that take turns as they are told: one runs at a time, so that what happens can be
repeated.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.simulated_octavia import Clock


class Job:
    """One thread, and when it goes on."""

    def __init__(self, act: Callable[[], Any], stopped: threading.Semaphore) -> None:
        self.wakes_at = 0.0
        self.may_run = threading.Semaphore(0)
        self.result: Any = None
        self.error: BaseException | None = None
        self.has_ended = False
        self._act, self._stopped = act, stopped
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.may_run.acquire()
        try:
            self.result = self._act()
        except BaseException as exc:  # told by `Turns.run`
            self.error = exc
        self.has_ended = True
        self._stopped.release()


class Turns(Clock):
    """A clock on which threads sleep; time passes when all of them do.

    :param choose: which of so many threads goes on.
    """

    def __init__(self, choose: Callable[[int], int]) -> None:
        super().__init__()
        self._choose = choose
        self._jobs: list[Job] = []
        self._stopped = threading.Semaphore(0)

    def sleep(self, seconds: float = 0) -> None:
        """Let others go on; a thread that takes no turns passes the time alone."""
        job = next((job for job in self._jobs if job.thread is threading.current_thread()), None)
        if job is None:
            super().sleep(seconds)
            return
        job.wakes_at = self.now + seconds
        self._stopped.release()
        job.may_run.acquire()

    def run(self, *acts: Callable[[], Any]) -> Sequence[Any]:
        """Do all of them, taking turns; returns their results, or raises the first error."""
        self._jobs = [Job(act, self._stopped) for act in acts]
        while waiting := [job for job in self._jobs if not job.has_ended]:
            ready = [job for job in waiting if job.wakes_at <= self.now]
            if not ready:
                self.now = min(job.wakes_at for job in waiting)
                continue
            ready[self._choose(len(ready))].may_run.release()
            self._stopped.acquire()
        for job in self._jobs:
            if job.error is not None:
                raise job.error
        return [job.result for job in self._jobs]
