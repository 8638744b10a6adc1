"""Whether the processes are alive, and who is told: systemd, and a file for probes of containers.

Each process writes down when its servers last polled, and since when their oldest request is in work, on a board in
memory that it shares with its parent. The parent judges the board. Neither waits behind work or asks the broker
anything: a worker that is busy, or whose broker is away, is alive.

A probe imports this to read the file, so it imports nothing that takes long.
"""

import contextlib
import datetime
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, MutableMapping, MutableSequence, Sequence
from typing import Any, NamedTuple, Self

PUBLISH_S = 0.5
JUDGE_S = 5
JUDGE_LEAST_S = 0.1
TELL_TIMEOUT_S = 1
CELLS = 4
"""Numbers that a process has on the board: process id, last poll, oldest request in work, whether it serves."""
LOG = logging.getLogger(__name__)


class Pulse(NamedTuple):
    """Of one server: when it last polled, and since when its oldest request is in work, on the monotonic clock."""

    polled_at: float
    begun_at: float | None


class Process(NamedTuple):
    """What the board says of one process; ages in seconds, None without a request in work."""

    pid: int
    serves: bool
    poll_age_s: float
    request_age_s: float | None


class Bounds(NamedTuple):
    """How old the last poll and the oldest request in work may be, in seconds."""

    poll_age_s: float
    request_age_s: float


class Board:
    """What the processes write and their parent reads, one number at a time: no lock that a dying one could keep.

    All times are of the monotonic clock, which the processes of a machine have in common.
    """

    def __init__(self, cells: MutableSequence[float], now: float) -> None:
        """Begin as if all had just polled, so that they have time to start.

        :param cells: `CELLS` numbers a process, e.g. a multiprocessing.RawArray made before the fork.
        """
        self._cells = cells
        for start in range(0, len(cells), CELLS):
            cells[start : start + CELLS] = [0, now, 0, 0]

    def begin(self, number: int, pid: int) -> None:
        """A process starts, maybe in the place of one that died.

        The last poll stays that of the dead one: processes that die as soon as they start are not alive.
        """
        start = number * CELLS
        self._cells[start], self._cells[start + 2], self._cells[start + 3] = pid, 0, 0

    def publish(self, number: int, pulses: Sequence[Pulse | None], now: float) -> None:
        """Write down what the servers of a process say.

        :param pulses: None for a server that does not listen yet, as it waits for a broker.
        """
        there = [pulse for pulse in pulses if pulse is not None]
        begun = [pulse.begun_at for pulse in there if pulse.begun_at is not None]
        start = number * CELLS
        self._cells[start + 1] = min((pulse.polled_at for pulse in there), default=now)
        self._cells[start + 2] = min(begun, default=0)
        self._cells[start + 3] = len(there) == len(pulses)

    def read(self, now: float) -> list[Process]:
        """All processes as they are."""
        rows = [self._cells[start : start + CELLS] for start in range(0, len(self._cells), CELLS)]
        return [
            Process(int(pid), bool(serves), max(0, now - polled_at), max(0, now - begun_at) if begun_at else None)
            for pid, polled_at, begun_at, serves in rows
        ]


def faults(processes: Sequence[Process], bounds: Bounds, stopping: bool = False) -> list[str]:
    """What is wrong with them, in words; a worker that stops polls no more, and may."""
    found = []
    for process in processes:
        who = f'process {process.pid}' if process.pid else 'a process that has not started'
        if not stopping and process.poll_age_s > bounds.poll_age_s:
            found.append(f'{who} last polled {process.poll_age_s:.1f} s ago, allowed are {bounds.poll_age_s:g} s')
        if process.request_age_s is not None and process.request_age_s > bounds.request_age_s:
            found.append(
                f'{who} has a request in work for {process.request_age_s:.1f} s, allowed are '
                f'{bounds.request_age_s:g} s'
            )
    return found


class Systemd:
    """The service manager, told by datagrams; without one, nobody is told."""

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = f'\0{address[1:]}' if address and address.startswith('@') else address
        self.watchdog_s = watchdog_s

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> Self:
        """The one that the environment names; taken out of it, or cotyledon would say READY before anybody serves."""
        address, microseconds = environment.pop('NOTIFY_SOCKET', None), environment.get('WATCHDOG_USEC', '')
        return cls(address, int(microseconds) / 1e6 if microseconds.isdecimal() else None)

    def tell(self, *words: str) -> None:
        """Say e.g. READY=1. That it does not arrive is no reason to fail."""
        if not self._address:
            return
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as datagrams:
                datagrams.settimeout(TELL_TIMEOUT_S)
                datagrams.connect(self._address)
                datagrams.sendall('\n'.join(words).encode())
        except OSError as exc:
            LOG.warning('systemd could not be told %s: %s', words, exc)


def utcnow() -> datetime.datetime:
    """The time of day."""
    return datetime.datetime.now(datetime.UTC)


class Watch:
    """The parent's judgement, every few seconds in a thread of its own: told to systemd, and written to a file."""

    def __init__(
        self,
        board: Board,
        bounds: Bounds,
        systemd: Systemd,
        file: str | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime.datetime] = utcnow,
    ) -> None:
        self._board, self._bounds, self._systemd, self._file = board, bounds, systemd, file
        self._monotonic, self._clock = monotonic, clock
        self._was_alive, self._is_ready, self._is_stopping, self._could_write = True, False, False, True
        self._halt: Callable[[], None] = lambda: None

    @property
    def every_s(self) -> float:
        """How often to judge: several times before a bound is passed, or systemd's patience is over."""
        patience = [self._bounds.poll_age_s / 2, (self._systemd.watchdog_s or JUDGE_S * 2) / 2]
        return max(JUDGE_LEAST_S, min(JUDGE_S, *patience))

    def start(self) -> None:
        """Judge from now on."""
        self.judge()
        self._halt = repeat(self.judge, self.every_s)

    def judge(self) -> bool:
        """Judge once, and tell; returns whether the worker is alive."""
        processes = self._board.read(self._monotonic())
        found = faults(processes, self._bounds, self._is_stopping)
        if found and self._was_alive:
            LOG.error('The worker is not alive: %s', '; '.join(found))
        elif not found and not self._was_alive:
            LOG.info('The worker is alive again')
        self._was_alive = not found
        if not self._is_ready and all(process.serves for process in processes):
            self._is_ready = True
            count = len(processes)
            LOG.info('%s', 'The process serves' if count == 1 else f'All {count} processes serve')
            self._systemd.tell('READY=1')
        if not found:
            self._systemd.tell('WATCHDOG=1')
        self._write(processes, found)
        return not found

    def stopping(self) -> None:
        """The worker begins to stop. Its work is still judged, its polls are not."""
        self._is_stopping = True
        self._systemd.tell('STOPPING=1')

    def close(self) -> None:
        """The worker has ended: judge no more, and leave no file that says it is alive."""
        self._halt()
        if self._file:
            with contextlib.suppress(OSError):
                os.unlink(self._file)

    def _write(self, processes: Sequence[Process], found: Sequence[str]) -> None:
        if not self._file:
            return
        said = {
            'checked_at': self._clock().isoformat(),
            'alive': not found,
            'reasons': found,
            'processes': [
                {'pid': one.pid, 'poll_age_s': _rounded(one.poll_age_s), 'request_age_s': _rounded(one.request_age_s)}
                for one in processes
            ],
        }
        try:
            write(self._file, said)
        except OSError as exc:
            if self._could_write:
                LOG.error('[worker] liveness_file cannot be written: %s', exc)
            self._could_write = False
        else:
            self._could_write = True


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def write(file: str, said: Any) -> None:
    """Write JSON to a file so that who reads it finds all of the old or all of the new.

    :raises OSError: it cannot be written.
    """
    beside = f'{file}.new'
    with open(beside, 'w', encoding='utf-8') as new:
        json.dump(said, new)
        new.write('\n')
    os.replace(beside, file)


def complaint(file: str, max_age_s: float, now: datetime.datetime) -> str | None:
    """Why the worker that writes this file is not alive; None if it is.

    :param max_age_s: how long ago it may have been written. So far in the future is no better: the clock was set.
    """
    try:
        with open(file, encoding='utf-8') as written:
            said = json.load(written)
        checked_at = datetime.datetime.fromisoformat(said['checked_at'])
        age_s = (now - checked_at).total_seconds()
        is_alive, reasons = said['alive'], '; '.join(said.get('reasons', []))
    except OSError as exc:
        return f'{file}: {exc.strerror}: placement-worker does not run, or has another [worker] liveness_file'
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'{file} is not what placement-worker writes'
    if abs(age_s) > max_age_s:
        return f'{file} was written {age_s:.0f} s ago, allowed are {max_age_s:g} s'
    if is_alive is not True:
        return f'The worker is not alive: {reasons or "it does not say why"}'
    return None


def repeat(what: Callable[[], object], every_s: float) -> Callable[[], None]:
    """Do something again and again in a thread of its own, until the function that comes back is called."""
    enough = threading.Event()

    def run() -> None:
        while not enough.wait(every_s):
            what()

    thread = threading.Thread(target=run, name='liveness', daemon=True)
    thread.start()

    def halt() -> None:
        enough.set()
        thread.join(every_s + TELL_TIMEOUT_S)

    return halt
