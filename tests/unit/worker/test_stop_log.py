"""The lines of the log about an orderly stop."""

import logging
import signal
import sys
from importlib import metadata

import pytest
from stevedore import extension

from placement_worker.policies import plugins
from placement_worker.policies.plugin_packages import NAMESPACE
from placement_worker.worker import stop_log


@pytest.fixture(autouse=True)
def _level(caplog):
    caplog.set_level(logging.INFO)


@pytest.fixture
def _restored_signals():
    handlers = {
        one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    yield
    for one, handler in handlers.items():
        signal.signal(one, handler)


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


@pytest.mark.usefixtures('_restored_signals')
@pytest.mark.parametrize(('stop', 'status'), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_during_the_import_of_a_plugin_is_an_orderly_stop(
    monkeypatch, tmp_path, caplog, stop, status
):
    """A worker does not go on without a plugin whose import the stop interrupted."""
    (tmp_path / 'stopped_plugin.py').write_text(f'import signal; signal.raise_signal({stop:d})')
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_point = metadata.EntryPoint('test.good-1.0', 'stopped_plugin:Good', NAMESPACE)
    monkeypatch.setattr(
        extension.ExtensionManager, 'list_entry_points', lambda _manager: [entry_point]
    )
    stop_log.receive_signals()

    with pytest.raises(SystemExit) as ended, stop_log.logged_end():
        list(plugins.installed())

    assert caplog.messages == [
        f'Stopping after {stop.name}: the worker does not serve yet',
        'Stopped',
    ]
    assert ended.value.code == status
