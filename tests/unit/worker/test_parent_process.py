"""The parent of a worker: its start up to the broker, orderly stops, and deaths of processes."""

import logging
import os
import signal
import subprocess
import sys
from importlib import metadata

import pytest
from stevedore import extension

from placement_worker.policies import plugin_checks
from placement_worker.policies.plugin_checks import NAMESPACE
from placement_worker.worker import parent_process
from tests.config_files import Options
from tests.waiting import DEADLINE_S, first_line

CLOUD = '[cloud]\nbackend = inventory\ninventory_file = cloud.yaml\n'


@pytest.fixture
def _isolated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The log and the signals of this process belong to pytest.
    monkeypatch.setattr('oslo_log.log.setup', lambda *_: None)
    monkeypatch.setattr('placement_worker.worker.guru_meditation.setup', lambda *_: None)
    monkeypatch.setattr('placement_worker.worker.parent_process.receive_signals', lambda: None)
    (tmp_path / 'cloud.yaml').write_text('zones: {a: true}')


@pytest.fixture
def command(_isolated, tmp_path, monkeypatch):
    """Return a function that returns the command of a program with a configuration."""
    monkeypatch.setenv('HOME', str(tmp_path))

    def of(program, options=''):
        url = 'rabbit://u:p@127.0.0.1:1/'
        text = f'[DEFAULT]\ntransport_url = {url}\n{options}{CLOUD}[worker]\nworkers = 1\n'
        (tmp_path / 'w.conf').write_text(text)
        return [sys.executable, '-W', 'ignore', '-c', program, '--config-file', 'w.conf']

    return of


@pytest.fixture
def start(_isolated, tmp_path, capsys):
    """Start a worker with a configuration, or without one; return exit status and errors."""

    def run(text):
        arguments = []
        if text is not None:
            (tmp_path / 'w.conf').write_text(text)
            arguments = ['--config-file', 'w.conf']
        return parent_process.run(arguments, Options()), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (f'[DEFAULT]\ntransport_uri = rabbit://x/\n{CLOUD}',
         '[DEFAULT] transport_url is not set (read: w.conf)'),
        (f'[DEFAULT]\ntransport_url = rabbit://\n{CLOUD}',
         'The transport URL names no broker: expected rabbit://user:password@host:port/ '
         '(read: w.conf)'),
        (CLOUD.replace('cloud.yaml', 'gone.yaml'),
         '[cloud] inventory_file: The cloud cannot be read: gone.yaml: No such file or '
         'directory; create it, or correct the path (read: w.conf)'),
        (None,
         '[service_auth] auth_type is not set: [cloud] backend = openstack needs a service user '
         '(auth_type = password, auth_url, username, password, ...), or cloud_name (no '
         'configuration file was read; --config-file FILE names one)'),
    ],
)  # fmt: skip
def test_run_with_a_configuration_that_cannot_work_returns_2_and_prints_the_cause(
    start, text, message
):
    """A worker that cannot start names the option and the file, and does not wait."""
    assert start(text) == (2, f'placement-worker: {message}\n')


@pytest.mark.parametrize('wrong', ['[placement]\ncordon_file = none\n', ''])
def test_run_with_another_option_that_cannot_work_creates_no_decision_log(start, tmp_path, wrong):
    """A first start by root leaves no file that the user of the worker cannot write."""
    # `transport_url` is missing, too.
    assert start(f'{CLOUD}[decision_log]\nfile = d.jsonl\n{wrong}')[0] == 2

    assert not (tmp_path / 'd.jsonl').exists()


@pytest.mark.usefixtures('_isolated')
def test_run_with_a_missing_file_returns_2_and_names_the_file(capsys):
    """A misspelled --config-file is reported with the absolute path."""
    assert parent_process.run(['--config-file', 'gone.conf'], Options()) == 2
    assert capsys.readouterr().err == (
        'placement-worker: Failed to find some config files: ' + os.path.abspath('gone.conf\n')
    )


@pytest.mark.parametrize(('stop', 'status'), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_while_the_worker_waits_for_its_broker_is_an_orderly_stop(
    command, tmp_path, monkeypatch, stop, status
):
    """SIGHUP does not end it; other signals give its exit status, and leave no folder."""
    (tmp_path / 'temporary').mkdir()
    monkeypatch.setenv('TMPDIR', str(tmp_path / 'temporary'))
    program = 'import sys; from placement_worker.cmd.worker import main; sys.exit(main())'
    with subprocess.Popen(
        command(program), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as worker:
        try:
            waiting = first_line(worker)
            worker.send_signal(signal.SIGHUP)
            waiting_again = first_line(worker)
            worker.send_signal(stop)
            *_, stopping, stopped = worker.communicate(timeout=DEADLINE_S)[0].splitlines()
        finally:
            worker.kill()  # the block waits for its end, also after a failure

    assert 'trying again in 1 s' in waiting
    assert 'trying again in 2 s' in waiting_again
    assert stopping.endswith(f'Stopping after {stop.name}: the worker does not serve yet')
    assert stopped.endswith('Stopped')
    assert worker.returncode == status
    assert list((tmp_path / 'temporary').iterdir()) == []


def test_manager_of_the_processes_has_the_configured_timeout_of_a_stop(command):
    """A stop waits for requests as long as the configuration says, with each cotyledon."""
    program = (
        'import cotyledon, sys\n'
        'from placement_worker.cmd import threading_backend\n'
        'threading_backend.choose()\n'
        'from placement_worker.worker import factory, parent_process\n'
        'factory.declare_queues = lambda _: None\n'
        'cotyledon.ServiceManager.run = lambda self: print(self._graceful_shutdown_timeout)\n'
        'parent_process.run(sys.argv[1:])\n'
    )
    asked = command(program, 'graceful_shutdown_timeout = 700\n')

    assert subprocess.check_output(asked, text=True).splitlines()[-1] == '700'


# The process asks its parent to stop before it receives signals.
SLOW_PROCESS = """
import os, signal, sys, time
from placement_worker.cmd import threading_backend
threading_backend.choose()
from cotyledon import _utils
from placement_worker.worker import factory, parent_process

factory.declare_queues = lambda _: None
parent, receive = os.getpid(), _utils.SignalManager.__init__

def receive_late(manager):
    if os.getpid() != parent:
        os.kill(parent, signal.SIGTERM)
        time.sleep(3)
    receive(manager)

_utils.SignalManager.__init__ = receive_late
parent_process.run(sys.argv[1:])
"""


def test_stop_of_a_process_that_does_not_receive_signals_yet_ends(command):
    """A process that gets SIGTERM right after its fork on a slow machine stops later."""
    ended = subprocess.run(command(SLOW_PROCESS), timeout=DEADLINE_S, check=False)

    assert ended.returncode == 0


@pytest.fixture
def _restored_signals():
    handlers = {
        one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    yield
    for one, handler in handlers.items():
        signal.signal(one, handler)


@pytest.mark.parametrize(
    ('end', 'messages'),
    [(SystemExit(0), ['Stopped']), (OSError('full'), [])],
    ids=['stop', 'error'],
)
def test_orderly_end_alone_is_logged(caplog, end, messages):
    """An operator sees that the worker stopped, and systemd gets its exit status."""
    caplog.set_level(logging.INFO)

    with pytest.raises(type(end)) as ended, parent_process.logged_end():
        raise end

    assert ended.value is end
    assert caplog.messages == messages


@pytest.mark.usefixtures('_restored_signals')
@pytest.mark.parametrize(('stop', 'status'), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_during_the_import_of_a_plugin_is_an_orderly_stop(
    monkeypatch, tmp_path, caplog, stop, status
):
    """A worker does not go on without a plugin whose import the stop interrupted."""
    caplog.set_level(logging.INFO)
    (tmp_path / 'stopped_plugin.py').write_text(f'import signal; signal.raise_signal({stop:d})')
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_point = metadata.EntryPoint('test.good-1.0', 'stopped_plugin:Good', NAMESPACE)
    monkeypatch.setattr(
        extension.ExtensionManager, 'list_entry_points', lambda _manager: [entry_point]
    )
    parent_process.receive_signals()

    with pytest.raises(SystemExit) as ended, parent_process.logged_end():
        list(plugin_checks.installed())

    assert caplog.messages == [
        f'Stopping after {stop.name}: the worker does not serve yet',
        'Stopped',
    ]
    assert ended.value.code == status


@pytest.mark.parametrize(
    ('exit_code', 'end'),
    [
        (3, 'exited with status 3'),
        (0, 'exited with status 0'),
        (-9, 'was killed by SIGKILL'),
        (-40, 'was killed by signal 40'),
    ],
)
def test_death_of_a_process_is_logged_at_warning_with_its_cause(caplog, exit_code, end):
    """An operator finds a killed process, for example one out of memory, in the worker's log."""
    parent_process.warn_of_death(None, 1, exit_code)

    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (
        'WARNING',
        f'Process 1 of the worker {end}; another process takes its place, and the broker delivers '
        'its requests in flight again',
    )
