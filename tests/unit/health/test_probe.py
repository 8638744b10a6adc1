"""The probe, as a function and as the command that containers run."""

import datetime
import json
import os
import subprocess
import sys

import pytest

from placement_worker.health import probe

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
MALFORMED = 'FILE is not a liveness file of placement-worker'


def write(tmp_path, content):
    file = tmp_path / 'liveness'
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


def state(seconds_ago=0, now=NOON, **more):
    checked_at = now - datetime.timedelta(seconds=seconds_ago)
    return {'checked_at': checked_at.isoformat(), 'alive': True, **more}


def current_state():
    return state(now=datetime.datetime.now(datetime.UTC))


def run_probe(*arguments):
    program = 'import sys; from placement_worker.cmd.status import main; sys.exit(main())'
    command = [sys.executable, '-c', program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
def test_failure_is_none_only_for_a_fresh_file_of_a_live_worker(tmp_path, ready, content, failure):
    """Old, malformed and negative states fail with a reason; readiness is asked for apart."""
    file = write(tmp_path, content)

    assert probe.failure(file, 60, NOON, ready=ready) == (failure and failure.replace('FILE', file))


def test_failure_without_a_readable_file_names_the_option(tmp_path):
    """A missing file points to a worker that is not running or to another path."""
    assert probe.failure(str(tmp_path), 60, NOON) == (
        f'{tmp_path}: Is a directory; name a readable file, that of [worker] liveness_file'
    )
    assert probe.failure(str(tmp_path / 'none'), 60, NOON).endswith(
        'none: No such file or directory: placement-worker is not running or has not reached its '
        'broker yet, or its [worker] liveness_file names another file'
    )


def test_command_of_a_failed_probe_exits_with_1_and_prints_a_line(tmp_path):
    """A probe that fails prints its reason on one line of standard error."""
    file = write(tmp_path, current_state())
    unready = run_probe('readiness', '--file', file)
    old = run_probe('liveness', '--file', write(tmp_path, state()), '--max-age', '5')

    assert (unready.returncode, old.returncode) == (1, 1)
    malformed = MALFORMED.replace('FILE', file)
    assert unready.stderr == f'placement-worker-status readiness: {malformed}\n'
    assert old.stderr.startswith(f'placement-worker-status liveness: {file} was written ')
    assert old.stderr.count('\n') == 1


def test_command_imports_nothing_of_the_package_but_the_probe(tmp_path):
    """A probe responds quickly: it loads three modules of this package and no slow library."""
    file = write(tmp_path, current_state())
    program = (
        'import sys; from placement_worker.cmd.status import main; '
        f'sys.argv = ["p", "liveness", "--file", {file!r}]; status = main(); '
        'print(*sorted(name for name in sys.modules if name.startswith("placement_worker."))); '
        'slow = {"oslo_messaging", "kombu", "oslo_config", "oslo_service", "multiprocessing"}; '
        'sys.exit(status or sorted(slow & {name.split(".")[0] for name in sys.modules}) or 0)'
    )
    # A measurement of the coverage would import modules of its own.
    environment = {name: value for name, value in os.environ.items() if 'COVERAGE' not in name}
    command = [sys.executable, '-c', program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.split() == [
        'placement_worker.cmd',
        'placement_worker.cmd.argument_types',
        'placement_worker.cmd.status',
        'placement_worker.health',
        'placement_worker.health.probe',
    ]
