"""Heartbeats of the worker's processes, in memory that they share with their parent.

Each process publishes when its servers last polled and when their oldest request in flight
began. The parent reads them. Neither waits for requests nor queries the broker: a worker that is
busy, or whose broker is away, is alive.
"""

import math
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

PUBLISH_S = 2
COLUMNS = 5
"""Numbers per process: its id, last poll, oldest request, since when it does not serve,
loss of its connection.
"""


NEVER_SERVED = -math.inf
"""The time at which a process that has not served yet ended to serve."""


class Heartbeat(NamedTuple):
    """The state of one server, on the monotonic clock.

    `polled_at`: its last poll. `begun_at`: the start of its oldest request in flight; None
    without one. `disconnected_at`: the loss of its connection to the broker; None while it is
    connected.
    """

    polled_at: float
    begun_at: float | None
    disconnected_at: float | None


class ProcessState(NamedTuple):
    """The state of one process, with ages in seconds.

    `pid`: 0 before the process starts. `unserved_s`: since neither it nor the process that it
    replaces serves; None while all its servers have reached the broker, infinite if they never
    had. `request_age_s`: None without a request in flight. `disconnected_s`: None while the process
    is connected.
    """

    pid: int
    unserved_s: float | None
    poll_age_s: float
    request_age_s: float | None
    disconnected_s: float | None


class HeartbeatTable:
    """One row of numbers per process; the processes write it and their parent reads it.

    Each number is written without a lock: a crashed process could keep a lock locked. All times
    are of the monotonic clock, which the processes of a machine share.
    """

    def __init__(self, cells: MutableSequence[float], now: float) -> None:
        """Begin as if all processes had just polled, so that they have time to start.

        :param cells: `COLUMNS` numbers per process, e.g. a multiprocessing.RawArray made before
            the fork.
        """
        self._cells = cells
        for start in range(0, len(cells), COLUMNS):
            cells[start : start + COLUMNS] = [0, now, 0, NEVER_SERVED, 0]

    def start_process(self, number: int, pid: int) -> None:
        """Reset the row of a process that starts or replaces a crashed one.

        The last poll stays that of its predecessor: processes that crash as soon as they start
        are not alive. It is also the time since when no process serves in this place.
        """
        start = number * COLUMNS
        self._cells[start] = pid
        self._cells[start + 3] = self._cells[start + 3] or self._cells[start + 1]
        self._cells[start + 2] = self._cells[start + 4] = 0

    def publish(self, number: int, heartbeats: Sequence[Heartbeat | None], now: float) -> None:
        """Write the state of a process.

        :param heartbeats: one per server; None for a server that still waits for its broker.
        """
        present = [one for one in heartbeats if one is not None]
        begun = [one.begun_at for one in present if one.begun_at is not None]
        lost = [one.disconnected_at for one in present if one.disconnected_at is not None]
        start = number * COLUMNS
        self._cells[start + 1] = min((one.polled_at for one in present), default=now)
        self._cells[start + 2] = min(begun, default=0)
        serves = len(present) == len(heartbeats)
        self._cells[start + 3] = 0 if serves else self._cells[start + 3] or now
        self._cells[start + 4] = min(lost, default=0)

    def read(self, now: float) -> list[ProcessState]:
        """Return the state of every process."""
        rows = range(0, len(self._cells), COLUMNS)
        return [_state(self._cells[start : start + COLUMNS], now) for start in rows]


def _state(row: Sequence[float], now: float) -> ProcessState:
    pid, polled_at, begun_at, unserved_at, disconnected_at = row

    def age(at: float) -> float | None:
        return max(0, now - at) if at else None

    return ProcessState(
        int(pid), age(unserved_at), max(0, now - polled_at), age(begun_at), age(disconnected_at)
    )
