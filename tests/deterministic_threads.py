"""Threads of which one runs at a time in a chosen order, so that a run can be repeated."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.simulated_octavia import Clock


class Job:
    """A thread, and the time at which it continues."""

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
        except BaseException as exc:  # raised by `ThreadScheduler.run`
            self.error = exc
        self.has_ended = True
        self._stopped.release()


class ThreadScheduler(Clock):
    """A clock on which threads sleep; time passes when all of them sleep.

    :param choose: returns the index of the thread that continues, given their number.
    """

    def __init__(self, choose: Callable[[int], int]) -> None:
        super().__init__()
        self._choose = choose
        self._jobs: list[Job] = []
        self._stopped = threading.Semaphore(0)

    def sleep(self, seconds: float = 0) -> None:
        """Let other threads run; a thread that is not scheduled advances the time."""
        job = next((job for job in self._jobs if job.thread is threading.current_thread()), None)
        if job is None:
            super().sleep(seconds)
            return
        job.wakes_at = self.now + seconds
        self._stopped.release()
        job.may_run.acquire()

    def run(self, *acts: Callable[[], Any]) -> Sequence[Any]:
        """Run all functions in threads; return their results, or raise the first error."""
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
