"""The lines of the log about an orderly stop."""

import logging
import sys

import pytest

from placement_worker.worker import stop_log


@pytest.fixture(autouse=True)
def _level(caplog):
    caplog.set_level(logging.INFO)


def test_begin_of_a_stop_logs_its_signal(caplog):
    """An operator sees that a signal stopped the worker."""
    stop_log.begin()

    assert caplog.messages == [
        'Stopping after SIGTERM: the processes finish their requests in flight'
    ]


def test_end_of_an_orderly_stop_is_logged_and_keeps_the_exit_status(caplog):
    """An operator sees that the worker stopped, and systemd gets its exit status."""
    with pytest.raises(SystemExit) as ended, stop_log.logged_end():
        sys.exit(0)

    assert caplog.messages == ['Stopped']
    assert ended.value.code == 0


def test_end_by_an_error_is_not_logged_as_a_stop(caplog):
    """A worker that fails has not stopped in order."""
    with pytest.raises(OSError, match='full'), stop_log.logged_end():
        raise OSError('full')

    assert caplog.messages == []
