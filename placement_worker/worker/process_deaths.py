"""The line of the log about a process of the worker that ended by itself."""

import logging
import signal

LOG = logging.getLogger(__name__)


def warn(_service: object, number: int, exit_code: int) -> None:
    """Log the death of a process; cotyledon starts another one in its place.

    cotyledon 2.2 logs it at INFO under a logger of its own, which `conf/logging.conf` leaves out.

    :param exit_code: the exit status, or the negative number of the signal that killed the process.
    """
    LOG.warning(
        'Process %d of the worker %s; another process takes its place, and the broker delivers '
        'its requests in flight again',
        number,
        _end(exit_code),
    )


def _end(exit_code: int) -> str:
    if exit_code >= 0:
        return f'exited with status {exit_code}'
    return f'was killed by {_name(-exit_code)}'


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f'signal {number}'
