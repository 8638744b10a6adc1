"""The program `placement-worker-status`; the upgrade check: test_upgrade.py."""

import datetime
import json
import os
import sys

import pytest
from oslo_config import cfg

from placement_worker.cmd import status
from tests.unit.subprocesses import run_python

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
MALFORMED = 'FILE is not a liveness file of placement-worker'


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program; return exit status, output and errors."""

    def run_program(*arguments):
        monkeypatch.setattr(sys, 'argv', ['placement-worker-status', *arguments])
        code = status.main()
        out, err = capsys.readouterr()
        return code, out, err

    return run_program


@pytest.mark.parametrize('arguments', [(), ('--help',)])
def test_status_without_a_command_prints_the_usage(run, arguments):
    """The usage explains each command and its exit status."""
    code, out, err = run(*arguments)

    assert (code, err) == (0, '')
    assert all(name in out for name in ('liveness:', 'readiness:', 'upgrade check:'))


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--conf-file', 'f', 'upgrade', 'check'), "invalid choice: 'f'"),
        (('upgrade', 'check', '--config-file', 'f'), 'unrecognized arguments: --config-file f'),
        (('livness',), "invalid choice: 'livness'"),
        *(
            (
                ('liveness', '--file', 'x', f'--max-age={age}'),
                f'expected a number of seconds above 0, got {age}',
            )
            for age in ('0', '-1', 'inf', 'soon')
        ),
    ],
)
def test_status_with_a_wrong_argument_prints_the_usage_and_the_argument(
    run, capsys, monkeypatch, arguments, message
):
    """A wrong option, value or command is reported with exit status 2."""
    monkeypatch.setattr(cfg, 'CONF', cfg.ConfigOpts())

    with pytest.raises(SystemExit) as ended:
        run(*arguments)

    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def write(tmp_path, content):
    file = tmp_path / 'liveness'
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


def state(seconds_ago=0, now=NOON, **more):
    checked_at = now - datetime.timedelta(seconds=seconds_ago)
    return {'checked_at': checked_at.isoformat(), 'alive': True, **more}


@pytest.mark.parametrize(
    ('ready', 'content', 'failure'),
    [
        (False, state(), None),
        (False, state(60), None),
        (False, state(61), 'FILE was written 61 s ago (limit 60 s)'),
        (False, state(-61), 'FILE has a time 61 s in the future; check the clock of this host'),
        (False, state(alive=False, reasons=['a', 'b']), 'The worker is not alive: a; b'),
        (False, state(alive='no'), 'The worker is not alive: no reason given'),
        (False, '', MALFORMED),
        (False, '[]', MALFORMED),
        (False, {'checked_at': 'noon', 'alive': True}, MALFORMED),
        (False, {'checked_at': '2026-01-01T12:00:00', 'alive': True}, MALFORMED),
        (False, {'alive': True}, MALFORMED),
        (True, state(ready=True), None),
        (True, state(ready=False, missing=['a', 'b']), 'The worker is not ready: a; b'),
        (True, state(alive=False, ready=True, reasons=['c']), 'The worker is not alive: c'),
        (True, state(), MALFORMED),
    ],
)
def test_probe_succeeds_only_with_a_fresh_file_of_a_live_worker(tmp_path, ready, content, failure):
    """Old, malformed and negative states fail with a reason; readiness is asked for apart."""
    file = write(tmp_path, content)

    reason = status.probe_failure(file, 60, NOON, ready=ready)

    assert reason == (failure and failure.replace('FILE', file))


def test_probe_without_a_readable_file_names_the_option(tmp_path):
    """A missing file points to a worker that is not running or to another path."""
    assert status.probe_failure(str(tmp_path), 60, NOON) == (
        f'{tmp_path}: Is a directory; name a readable file, that of [worker] liveness_file'
    )
    assert status.probe_failure(str(tmp_path / 'none'), 60, NOON).endswith(
        'none: No such file or directory: placement-worker is not running or has not reached its '
        'broker yet, or its [worker] liveness_file names another file'
    )


def test_probe_that_fails_exits_with_1_and_prints_a_line(run, tmp_path):
    """The reason is one line of standard error."""
    file = write(tmp_path, state(now=datetime.datetime.now(datetime.UTC)))
    malformed = MALFORMED.replace('FILE', file)
    line = f'placement-worker-status readiness: {malformed}\n'

    assert run('readiness', '--file', file) == (1, '', line)
    code, _, err = run('liveness', '--file', write(tmp_path, state()), '--max-age', '5')
    assert (code, err.count('\n')) == (1, 1)
    assert err.startswith(f'placement-worker-status liveness: {file} was written ')


def test_probe_imports_nothing_else_of_the_package(tmp_path):
    """A probe responds quickly: it loads three modules of this package and no slow library."""
    file = write(tmp_path, state(now=datetime.datetime.now(datetime.UTC)))
    program = (
        'import sys; from placement_worker.cmd.status import main; '
        f'sys.argv = ["p", "liveness", "--file", {file!r}]; status = main(); '
        'print(*sorted(name for name in sys.modules if name.startswith("placement_worker."))); '
        'slow = {"oslo_messaging", "kombu", "oslo_config", "oslo_service", "multiprocessing"}; '
        'sys.exit(status or sorted(slow & {name.split(".")[0] for name in sys.modules}) or 0)'
    )
    # A measurement of the coverage would import modules of its own.
    environment = {name: value for name, value in os.environ.items() if 'COVERAGE' not in name}
    done = run_python('-c', program, env=environment)

    assert (done.returncode, done.stderr) == (0, '')
    modules = ('cmd', 'cmd.argument_types', 'cmd.status')
    assert done.stdout.split() == [f'placement_worker.{name}' for name in modules]
