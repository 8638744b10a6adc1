"""Whether the processes are alive, and who is told: systemd, and a file for probes of containers.

Each process writes down when its servers last polled, and since when their oldest request is in
work, on a board in memory that it shares with its parent. The parent judges the board. Neither
waits behind work or asks the broker anything: a worker that is busy, or whose broker is away, is
alive.

A probe imports this to read the file, so it imports nothing that takes long.
"""

import contextlib
import datetime
import json
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, MutableMapping, MutableSequence, Sequence
from typing import Any, NamedTuple, Self

PUBLISH_S = 2
JUDGE_S = 5
JUDGE_LEAST_S = 0.1
TELL_TIMEOUT_S = 1
CELLS = 5
"""Numbers per process: its id, last poll, oldest request, whether it serves, loss of its
connection.
"""
LOG = logging.getLogger(__name__)


class Pulse(NamedTuple):
    """The state of one server, on the monotonic clock.

    `polled_at`: its last poll. `begun_at`: the start of its oldest request in progress; None
    without one. `disconnected_at`: the loss of its connection to the broker; None while it is
    connected.
    """

    polled_at: float
    begun_at: float | None
    disconnected_at: float | None


class Process(NamedTuple):
    """The state of one process, as the board has it.

    Ages in seconds: `request_age_s` is None without a request in progress, `disconnected_s` while
    it is connected.
    """

    pid: int
    serves: bool
    poll_age_s: float
    request_age_s: float | None
    disconnected_s: float | None


class Bounds(NamedTuple):
    """The greatest ages of a worker that is alive and ready, in seconds.

    `poll_age_s`: of the last poll while connected. `request_age_s`: of the oldest request in
    progress. `reconnect_age_s`: of the last poll while disconnected; 0: any. `disconnected_s`: of
    the loss of the connection.
    """

    poll_age_s: float
    request_age_s: float
    reconnect_age_s: float
    disconnected_s: float


class Board:
    """What the processes write and their parent reads, one number at a time: no lock that a dying
    one could keep.

    All times are of the monotonic clock, which the processes of a machine have in common.
    """

    def __init__(self, cells: MutableSequence[float], now: float) -> None:
        """Begin as if all had just polled, so that they have time to start.

        :param cells: `CELLS` numbers a process, e.g. a multiprocessing.RawArray made before the
            fork.
        """
        self._cells = cells
        for start in range(0, len(cells), CELLS):
            cells[start : start + CELLS] = [0, now, 0, 0, 0]

    def begin(self, number: int, pid: int) -> None:
        """A process starts, maybe in the place of one that died.

        The last poll stays that of the dead one: processes that die as soon as they start are not
        alive.
        """
        start = number * CELLS
        self._cells[start] = pid
        self._cells[start + 2 : start + CELLS] = [0] * (CELLS - 2)

    def publish(self, number: int, pulses: Sequence[Pulse | None], now: float) -> None:
        """Write down what the servers of a process say.

        :param pulses: None for a server that does not listen yet, as it waits for a broker.
        """
        there = [pulse for pulse in pulses if pulse is not None]
        begun = [pulse.begun_at for pulse in there if pulse.begun_at is not None]
        lost = [pulse.disconnected_at for pulse in there if pulse.disconnected_at is not None]
        start = number * CELLS
        self._cells[start + 1] = min((pulse.polled_at for pulse in there), default=now)
        self._cells[start + 2] = min(begun, default=0)
        self._cells[start + 3] = len(there) == len(pulses)
        self._cells[start + 4] = min(lost, default=0)

    def read(self, now: float) -> list[Process]:
        """All processes as they are."""
        rows = [self._cells[start : start + CELLS] for start in range(0, len(self._cells), CELLS)]

        def age(at: float) -> float | None:
            return max(0, now - at) if at else None

        return [
            Process(
                int(pid), bool(serves), max(0, now - polled_at), age(begun_at), age(disconnected_at)
            )
            for pid, polled_at, begun_at, serves, disconnected_at in rows
        ]


def faults(processes: Sequence[Process], bounds: Bounds, stopping: bool = False) -> list[str]:
    """Return the reasons why a worker is not alive.

    :param stopping: whether the worker stops, and need not poll.
    """
    found = []
    for process in processes:
        who = _named(process)
        poll_age_s = (
            bounds.poll_age_s
            if process.disconnected_s is None
            else bounds.reconnect_age_s or math.inf
        )
        if not stopping and process.poll_age_s > poll_age_s:
            found.append(
                f'{who} last polled {process.poll_age_s:.1f} s ago, allowed are {poll_age_s:g} s'
            )
        if process.request_age_s is not None and process.request_age_s > bounds.request_age_s:
            found.append(
                f'{who} has a request in work for {process.request_age_s:.1f} s, allowed are '
                f'{bounds.request_age_s:g} s'
            )
    return found


def unready(processes: Sequence[Process], bounds: Bounds, stopping: bool = False) -> list[str]:
    """Return the reasons why a worker is not ready for requests.

    :param stopping: whether the worker stops.
    """
    found = ['the worker is stopping'] if stopping else []
    for process in processes:
        if not process.serves:
            found.append(f'{_named(process)} has not reached the broker yet')
        elif process.disconnected_s is not None and process.disconnected_s > bounds.disconnected_s:
            found.append(
                f'{_named(process)} has had no broker connection for {process.disconnected_s:.1f} s, allowed are '
                f'{bounds.disconnected_s:g} s'
            )
    return found


def _named(process: Process) -> str:
    return f'process {process.pid}' if process.pid else 'a process that has not started'


class Systemd:
    """The service manager, told by datagrams; without one, nobody is told."""

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = f'\0{address[1:]}' if address and address.startswith('@') else address
        self.watchdog_s = watchdog_s

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> Self:
        """The one that the environment names; taken out of it, or cotyledon would say READY before
        anybody serves.
        """
        address, microseconds = (
            environment.pop('NOTIFY_SOCKET', None),
            environment.get('WATCHDOG_USEC', ''),
        )
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
    """The parent's judgement, every few seconds in a thread: logged, sent to systemd, and written
    to a file.
    """

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
        self._was_alive, self._was_ready, self._has_served = True, False, False
        self._is_stopping, self._could_write = False, True
        self._halt: Callable[[], None] = lambda: None

    @property
    def every_s(self) -> float:
        """How often to judge: several times before a bound is passed, or systemd's patience is
        over.
        """
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
        missing = unready(processes, self._bounds, self._is_stopping)
        if found and self._was_alive:
            LOG.error('The worker is not alive: %s', '; '.join(found))
        elif not found and not self._was_alive:
            LOG.info('The worker is alive again')
        self._was_alive = not found
        self._note_readiness(missing, len(processes))
        if not found:
            self._systemd.tell('WATCHDOG=1')
        self._write(processes, found, missing)
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

    def _note_readiness(self, missing: Sequence[str], processes: int) -> None:
        """Report that the worker has become ready or unready; systemd waits for READY=1 only
        once.
        """
        if missing and self._was_ready and not self._is_stopping:
            LOG.warning('The worker is not ready: %s', '; '.join(missing))
            self._systemd.tell(f'STATUS=Not ready: {missing[0]}')
        elif not missing and not self._has_served:
            LOG.info(
                '%s', 'The process serves' if processes == 1 else f'All {processes} processes serve'
            )
            self._systemd.tell('READY=1')
            self._has_served = True
        elif not missing and not self._was_ready:
            LOG.info('The worker is ready again')
            self._systemd.tell('STATUS=Ready')
        self._was_ready = not missing

    def _write(
        self, processes: Sequence[Process], found: Sequence[str], missing: Sequence[str]
    ) -> None:
        if not self._file:
            return
        state = {
            'checked_at': self._clock().isoformat(),
            'alive': not found,
            'reasons': found,
            'ready': not missing,
            'missing': missing,
            'processes': [
                {
                    'pid': one.pid,
                    'poll_age_s': _rounded(one.poll_age_s),
                    'request_age_s': _rounded(one.request_age_s),
                    'disconnected_s': _rounded(one.disconnected_s),
                }
                for one in processes
            ],
        }
        try:
            write(self._file, state)
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


def complaint(
    file: str, max_age_s: float, now: datetime.datetime, *, ready: bool = False
) -> str | None:
    """Return why the worker that writes this file is not alive, or not ready; None if it is.

    :param max_age_s: the greatest age of the file, in seconds. So far in the future is no better:
        the clock was set.
    :param ready: whether it has to be ready as well.
    """
    try:
        with open(file, encoding='utf-8') as written:
            state = json.load(written)
        checked_at = datetime.datetime.fromisoformat(state['checked_at'])
        age_s = (now - checked_at).total_seconds()
        answers = [('alive', state['alive'], '; '.join(state.get('reasons', [])))]
        if ready:
            answers.append(('ready', state['ready'], '; '.join(state.get('missing', []))))
    except OSError as exc:
        return f'{file}: {exc.strerror}: placement-worker does not run, or has another [worker] liveness_file'
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'{file} is not what placement-worker writes'
    if abs(age_s) > max_age_s:
        return f'{file} was written {age_s:.0f} s ago, allowed are {max_age_s:g} s'
    for name, answer, reasons in answers:
        if answer is not True:
            return f'The worker is not {name}: {reasons or "it does not say why"}'
    return None


def repeat(what: Callable[[], object], every_s: float) -> Callable[[], None]:
    """Do something again and again in a thread of its own, until the function that comes back is
    called.
    """
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
