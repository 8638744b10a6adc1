"""The watchdog of the worker, which checks whether its processes are alive and ready.

It runs in the parent of the processes and reports to the log, to systemd, and to the file that
probes of containers read. Each process publishes in shared memory when its servers last polled and
when their oldest request in flight began. Neither side waits for requests nor queries the broker: a
worker that is busy, or whose broker is away, is alive.
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
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, NamedTuple, Self

LOG = logging.getLogger(__name__)
PUBLISH_S = 2
_STOP_TIMEOUT_S = 1
_SEND_TIMEOUT_S = 1
_CHECK_S = 5
_CHECK_MIN_S = 0.1
# Numbers per process: its id, last poll, oldest request, since when it does not serve, loss of its
# connection.
COLUMNS = 5
_NEVER_SERVED = -math.inf  # when a process that has not served yet ended to serve

# The last poll of a server, the start of its oldest request in flight, and the loss of its broker
# connection, on the monotonic clock; None without such a request or loss.
ServerTimes = tuple[float, float | None, float | None]


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
            cells[start : start + COLUMNS] = [0, now, 0, _NEVER_SERVED, 0]

    def start_process(self, number: int, pid: int) -> None:
        """Reset the row of a process that starts or replaces a crashed one.

        The last poll stays that of its predecessor: processes that crash as soon as they start
        are not alive. It is also the time since when no process serves in this place.
        """
        start = number * COLUMNS
        self._cells[start] = pid
        self._cells[start + 3] = self._cells[start + 3] or self._cells[start + 1]
        self._cells[start + 2] = self._cells[start + 4] = 0

    def publish(self, number: int, heartbeats: Sequence[ServerTimes | None], now: float) -> None:
        """`heartbeats`: one per server; None for a server that still waits for its broker."""
        present = [beat for beat in heartbeats if beat is not None]
        start = number * COLUMNS
        self._cells[start + 1] = min((polled_at for polled_at, _, _ in present), default=now)
        self._cells[start + 2] = min((at for _, at, _ in present if at is not None), default=0)
        serves = len(present) == len(heartbeats)
        self._cells[start + 3] = 0 if serves else self._cells[start + 3] or now
        self._cells[start + 4] = min((at for _, _, at in present if at is not None), default=0)

    def read(self, now: float) -> list[ProcessState]:
        rows = range(0, len(self._cells), COLUMNS)
        return [_state(self._cells[start : start + COLUMNS], now) for start in rows]


def _state(row: Sequence[float], now: float) -> ProcessState:
    pid, polled_at, begun_at, unserved_at, disconnected_at = row

    def age(at: float) -> float | None:
        return max(0, now - at) if at else None

    return ProcessState(
        int(pid), age(unserved_at), max(0, now - polled_at), age(begun_at), age(disconnected_at)
    )


class Thresholds(NamedTuple):
    """The greatest ages of a worker that is alive and ready, in seconds.

    `poll_age_s`: of the last poll while connected. `request_age_s`: of the oldest request in
    flight. `reconnect_age_s`: of the last poll while disconnected; 0 for no limit.
    `disconnected_s`: of the loss of the connection, and of the end of a process until the one in
    its place serves.
    """

    poll_age_s: float
    request_age_s: float
    reconnect_age_s: float
    disconnected_s: float


def liveness_failures(
    processes: Sequence[ProcessState], thresholds: Thresholds, *, stopping: bool
) -> list[str]:
    """Return the reasons why a worker is not alive; one that stops need not poll."""
    failures = []
    for process in processes:
        poll_limit_s = thresholds.poll_age_s
        if process.disconnected_s is not None:
            poll_limit_s = thresholds.reconnect_age_s or math.inf
        if not stopping and process.poll_age_s > poll_limit_s:
            failures.append(
                f'{_name(process)} last polled {process.poll_age_s:.1f} s ago '
                f'(limit {poll_limit_s:g} s)'
            )
        if process.request_age_s is not None and process.request_age_s > thresholds.request_age_s:
            failures.append(
                f'{_name(process)} has had a request in flight for {process.request_age_s:.1f} s '
                f'(limit {thresholds.request_age_s:g} s)'
            )
    return failures


def readiness_failures(
    processes: Sequence[ProcessState], thresholds: Thresholds, *, stopping: bool
) -> list[str]:
    failures = ['the worker is stopping'] if stopping else []
    limit_s = thresholds.disconnected_s
    for process in processes:
        if process.unserved_s == math.inf:
            failures.append(f'{_name(process)} has not reached the broker yet')
        elif process.unserved_s is not None and process.unserved_s > limit_s:
            failures.append(
                f'{_name(process)} has not served for {process.unserved_s:.1f} s '
                f'(limit {limit_s:g} s)'
            )
        elif process.disconnected_s is not None and process.disconnected_s > limit_s:
            failures.append(
                f'{_name(process)} has had no broker connection for {process.disconnected_s:.1f} s '
                f'(limit {limit_s:g} s)'
            )
    return failures


def _name(process: ProcessState) -> str:
    return f'process {process.pid}' if process.pid else 'a process that has not started'


def repeat_in_thread(function: Callable[[], object], interval_s: float) -> Callable[[], None]:
    """Call a function after each interval in a daemon thread; return a function that stops it."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(interval_s):
            function()

    thread = threading.Thread(target=run, name='periodic', daemon=True)
    thread.start()

    def stop() -> None:
        stopped.set()
        thread.join(interval_s + _STOP_TIMEOUT_S)

    return stop


class Systemd:
    """The service manager that started this process; without an address nothing is sent.

    See https://www.freedesktop.org/software/systemd/man/sd_notify.html.
    """

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = f'\0{address[1:]}' if address and address.startswith('@') else address
        self.watchdog_s = watchdog_s

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Self:
        """Return the service manager of an environment, and remove its address from there.

        With the address, cotyledon would send READY=1 before any process serves.
        """
        address = environment.pop('NOTIFY_SOCKET', None)
        microseconds = environment.get('WATCHDOG_USEC', '')
        return cls(address, int(microseconds) / 1e6 if microseconds.isdecimal() else None)

    def notify(self, state: str) -> None:
        """Send an assignment, e.g. READY=1; a failure is logged and not raised."""
        if not self._address:
            return
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as datagrams:
                datagrams.settimeout(_SEND_TIMEOUT_S)
                datagrams.connect(self._address)
                datagrams.sendall(state.encode())
        except OSError as exc:
            LOG.warning('Notification %s did not reach systemd: %s', state, exc)


class LivenessFile:
    """The file that `[worker] liveness_file` names; without a path nothing is written."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._was_written = True

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the content; the first of several failures in a row is logged."""
        if not self._path:
            return
        new_path = f'{self._path}.new'
        try:
            with open(new_path, 'w', encoding='utf-8') as file:
                json.dump(state, file)
                file.write('\n')
            os.replace(new_path, self._path)  # a probe reads the old content or the new one
        except OSError as exc:
            if self._was_written:
                LOG.error('Cannot write [worker] liveness_file: %s', exc)
            self._was_written = False
        else:
            self._was_written = True

    def remove(self) -> None:
        """Delete the file, so that it does not report a worker that has ended as alive."""
        if self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


class Watchdog:
    """Checks of the processes, every few seconds in a thread of their parent."""

    def __init__(
        self,
        heartbeats: HeartbeatTable,
        thresholds: Thresholds,
        systemd: Systemd,
        file: LivenessFile,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self._heartbeats, self._thresholds = heartbeats, thresholds
        self._systemd, self._file = systemd, file
        self._monotonic, self._clock = monotonic, clock
        self._was_alive, self._was_ready, self._has_served = True, False, False
        self._is_stopping = False
        self._stop: Callable[[], None] = lambda: None

    @property
    def interval_s(self) -> float:
        """Time between checks: several fit into each threshold and into systemd's timeout."""
        watchdog_s = self._systemd.watchdog_s or _CHECK_S * 2
        interval_s = min(_CHECK_S, self._thresholds.poll_age_s / 2, watchdog_s / 2)
        return max(_CHECK_MIN_S, interval_s)

    def start(self) -> None:
        self.check()
        self._stop = repeat_in_thread(self.check, self.interval_s)

    def check(self) -> bool:
        """Report the result of a check, and return whether the worker is alive."""
        processes = self._heartbeats.read(self._monotonic())
        failures = liveness_failures(processes, self._thresholds, stopping=self._is_stopping)
        missing = readiness_failures(processes, self._thresholds, stopping=self._is_stopping)
        self._log_liveness(failures)
        self._report_readiness(missing, len(processes))
        if not failures:
            self._systemd.notify('WATCHDOG=1')
        self._file.write(
            {
                'checked_at': self._clock().isoformat(),
                'alive': not failures,
                'reasons': failures,
                'ready': not missing,
                'missing': missing,
                'processes': [_document(process) for process in processes],
            }
        )
        return not failures

    def begin_stop(self) -> None:
        """Check requests in flight only: a worker that stops need not poll."""
        self._is_stopping = True
        self._systemd.notify('STOPPING=1')

    def close(self) -> None:
        """End the checks and delete the file after the worker has ended."""
        self._stop()
        self._file.remove()

    def _log_liveness(self, failures: Sequence[str]) -> None:
        if failures and self._was_alive:
            LOG.error('The worker is not alive: %s', '; '.join(failures))
        elif not failures and not self._was_alive:
            LOG.info('The worker is alive again')
        self._was_alive = not failures

    def _report_readiness(self, missing: Sequence[str], processes: int) -> None:
        """Report each change; systemd waits for READY=1 only once."""
        if missing and self._was_ready and not self._is_stopping:
            LOG.warning('The worker is not ready: %s', '; '.join(missing))
            self._systemd.notify(f'STATUS=Not ready: {missing[0]}')
        elif not missing and not self._has_served:
            which = 'The process serves' if processes == 1 else f'All {processes} processes serve'
            LOG.info('%s', which)
            self._systemd.notify('READY=1')
            self._has_served = True
        elif not missing and not self._was_ready:
            LOG.info('The worker is ready again')
            self._systemd.notify('STATUS=Ready')
        self._was_ready = not missing


def _document(process: ProcessState) -> dict[str, float | None]:
    return {
        'pid': process.pid or None,  # never 0, which a signal sends to the own group
        'poll_age_s': _rounded(process.poll_age_s),
        'request_age_s': _rounded(process.request_age_s),
        'disconnected_s': _rounded(process.disconnected_s),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
