"""The watchdog of the worker, which checks whether its processes are alive and ready.

It runs in the parent of the processes and reports to the log, to systemd, and to the file that
probes of containers read.
"""

import datetime
import logging
import time
from collections.abc import Callable, Sequence

from placement_worker.health import periodic
from placement_worker.health.heartbeats import HeartbeatTable, ProcessState
from placement_worker.health.liveness_file import LivenessFile
from placement_worker.health.systemd import Systemd
from placement_worker.health.thresholds import (
    Thresholds,
    liveness_failures,
    readiness_failures,
)

CHECK_S = 5
CHECK_MIN_S = 0.1
LOG = logging.getLogger(__name__)


def utcnow() -> datetime.datetime:
    """Return the time of day."""
    return datetime.datetime.now(datetime.UTC)


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
        clock: Callable[[], datetime.datetime] = utcnow,
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
        watchdog_s = self._systemd.watchdog_s or CHECK_S * 2
        interval_s = min(CHECK_S, self._thresholds.poll_age_s / 2, watchdog_s / 2)
        return max(CHECK_MIN_S, interval_s)

    def start(self) -> None:
        """Check now, and then at each interval."""
        self.check()
        self._stop = periodic.repeat(self.check, self.interval_s)

    def check(self) -> bool:
        """Check once, report the result, and return whether the worker is alive."""
        processes = self._heartbeats.read(self._monotonic())
        failures = liveness_failures(processes, self._thresholds, self._is_stopping)
        missing = readiness_failures(processes, self._thresholds, self._is_stopping)
        self._log_liveness(failures)
        self._report_readiness(missing, len(processes))
        if not failures:
            self._systemd.notify('WATCHDOG=1')
        self._write(processes, failures, missing)
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
            LOG.info(
                '%s', 'The process serves' if processes == 1 else f'All {processes} processes serve'
            )
            self._systemd.notify('READY=1')
            self._has_served = True
        elif not missing and not self._was_ready:
            LOG.info('The worker is ready again')
            self._systemd.notify('STATUS=Ready')
        self._was_ready = not missing

    def _write(
        self, processes: Sequence[ProcessState], failures: Sequence[str], missing: Sequence[str]
    ) -> None:
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


def _document(process: ProcessState) -> dict[str, float | None]:
    return {
        'pid': process.pid or None,  # never 0, which a signal sends to the own group
        'poll_age_s': _rounded(process.poll_age_s),
        'request_age_s': _rounded(process.request_age_s),
        'disconnected_s': _rounded(process.disconnected_s),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
