"""Orderly stops and their lines of the log: a worker that was killed or crashed has none.

cotyledon 2.2 logs the stop under a logger of its own, which `conf/logging.conf` leaves out.
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)


class StartStopped(SystemExit):
    """SIGTERM came before cotyledon received the signals."""


def receive_signals() -> None:
    """Stop the start on SIGTERM; ignore SIGHUP until cotyledon receives the signals."""
    signal.signal(signal.SIGTERM, _stop_start)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _stop_start(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # another one must not end the cleanup
    raise StartStopped(0)


def begin() -> None:
    """Log that the worker got SIGTERM."""
    LOG.info('Stopping after SIGTERM: the processes finish their requests in flight')


@contextmanager
def logged_end() -> Iterator[None]:
    """Log the end of an orderly stop, at which cotyledon raises `SystemExit`."""
    try:
        yield
    except SystemExit as exc:
        if isinstance(exc, StartStopped):
            LOG.info('Stopping after SIGTERM: the worker does not serve yet')
        LOG.info('Stopped')
        raise
