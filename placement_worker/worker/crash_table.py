"""The requests that were in flight when processes of this worker died, in shared memory.

The broker counts lost connections like crashes, so its count cannot blame a request. Each process
writes what it handles into its row, and the parent of the processes moves the row of a dead one to
the deaths. The table has no lock: a process that crashed while it held one would block the others.
"""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator

MAX_DEATHS = 1024  # a ring: the requests that were in flight at the latest deaths


class CrashTable:
    def __init__(self, processes: int, threads: int) -> None:
        self._columns = 1 + threads  # the id of a process, and the requests of its threads
        self._cells = multiprocessing.RawArray('q', processes * self._columns)
        self._deaths = multiprocessing.RawArray('q', MAX_DEATHS)
        self._next_death = 0  # only the parent uses it
        self._own = range(0)  # the cells of this process
        self._isolated = 0  # requests of this process that wait to be handled alone, or are
        self._changed = threading.Condition()
        self.moving = threading.Lock()  # held until a moved request is acknowledged

    def start_process(self, number: int) -> None:
        first = number * self._columns
        self._cells[first] = os.getpid()
        self._own = range(first + 1, first + self._columns)

    def record_death(self, number: int) -> None:
        first = number * self._columns
        for cell in range(first + 1, first + self._columns):
            if self._cells[cell]:
                self._deaths[self._next_death] = self._cells[cell]
                self._next_death = (self._next_death + 1) % MAX_DEATHS
                self._cells[cell] = 0

    @contextlib.contextmanager
    def handling(self, request: int, *, isolated: bool) -> Iterator[None]:
        """Wait for a turn, and record a request while it is handled.

        An isolated request is handled alone in its process: if another one crashed the process, the
        isolated one would be parked for it. Requests that arrive meanwhile wait.
        """
        with self._changed:
            self._isolated += isolated
            self._changed.wait_for(self._is_idle if isolated else lambda: not self._isolated)
            cell = next(cell for cell in self._own if not self._cells[cell])
            self._cells[cell] = request
        try:
            yield
        finally:
            with self._changed:
                self._cells[cell] = 0
                self._isolated -= isolated
                self._changed.notify_all()

    def _is_idle(self) -> bool:
        return not any(self._cells[cell] for cell in self._own)

    def deaths(self, request: int) -> int:
        # The parent, which may pause for 5 s before it creates a process, learns of a death late.
        # Until then, the row of the ended process counts.
        recorded: int = self._deaths[:].count(request)
        firsts = range(0, len(self._cells), self._columns)
        rows = [self._cells[first : first + self._columns] for first in firsts]
        return recorded + sum(request in row[1:] and _has_ended(row[0]) for row in rows)


def _has_ended(pid: int) -> bool:
    try:
        with open(f'/proc/{pid}/stat', 'rb') as status:
            return status.read().rpartition(b') ')[2].startswith((b'Z', b'X'))
    except (FileNotFoundError, ProcessLookupError):
        return os.path.exists('/proc/self/stat')
    except OSError:  # no file descriptor is left
        return False
