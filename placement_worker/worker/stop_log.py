"""The lines of the log about an orderly stop: a worker that was killed or crashed has none.

cotyledon 2.2 logs the stop under a logger of its own, which `conf/logging.conf` leaves out.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)


def begin() -> None:
    """Log that the worker got SIGTERM."""
    LOG.info('Stopping after SIGTERM: the processes finish their requests in flight')


@contextmanager
def logged_end() -> Iterator[None]:
    """Log the end of an orderly stop, at which cotyledon raises `SystemExit`."""
    try:
        yield
    except SystemExit:
        LOG.info('Stopped')
        raise
