"""Orderly stops and their lines of the log: a worker that was killed or crashed has none.

cotyledon 2.2 logs the stop under a logger of its own, which `conf/logging.conf` leaves out.
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit status after Ctrl-C, as of a shell."""
LOG = logging.getLogger(__name__)


class StartStopped(BaseException):
    """SIGTERM or SIGINT came before cotyledon received the signals.

    It is no SystemExit: the start continues after a SystemExit of a plugin's module.
    """

    def __init__(self, number: int) -> None:
        """Set the name of the signal, and the exit status: a stop by SIGTERM is a success."""
        super().__init__(number)
        self.signal = signal.Signals(number).name
        self.status = INTERRUPTED if number == signal.SIGINT else 0


def receive_signals() -> None:
    """Stop the start on SIGTERM or SIGINT; ignore SIGHUP until cotyledon receives the signals."""
    signal.signal(signal.SIGTERM, _stop_start)
    signal.signal(signal.SIGINT, _stop_start)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _stop_start(number: int, _: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # another one must not end the cleanup
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise StartStopped(number)


def begin() -> None:
    """Log that the worker got SIGTERM."""
    LOG.info('Stopping after SIGTERM: the processes finish their requests in flight')


@contextmanager
def logged_end() -> Iterator[None]:
    """Log the end of an orderly stop, at which cotyledon raises `SystemExit`.

    :raises SystemExit: a signal stopped the start.
    """
    try:
        yield
    except SystemExit:
        LOG.info('Stopped')
        raise
    except StartStopped as exc:
        LOG.info('Stopping after %s: the worker does not serve yet', exc.signal)
        LOG.info('Stopped')
        raise SystemExit(exc.status) from exc
