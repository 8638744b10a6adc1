"""Helpers of the tests: threads in a chosen order, reports of failures, frozen processes, ports."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import failure_logs
from tests.deterministic_threads import ThreadScheduler
from tests.freezing import STOPPED, _states, frozen
from tests.ports import RANGE, free_ports


def test_threads_run_in_the_chosen_order_and_time_passes_when_all_sleep():
    """A test can repeat any interleaving of its threads."""
    order = iter([1, 0, 0, 0, 0, 0])
    turns = ThreadScheduler(lambda count: next(order) % count)
    began, seen = turns(), []

    def job(name, *naps):
        for nap in naps:
            seen.append((name, turns() - began))
            turns.sleep(nap)
        return name

    assert turns.run(lambda: job('a', 1, 2), lambda: job('b', 0, 5)) == ['a', 'b']
    assert seen == [('b', 0), ('a', 0), ('b', 0), ('a', 1)]
    assert turns() - began == 5


def test_run_with_a_failing_thread_raises_its_error_after_the_others_ended():
    """No thread of a failed test goes on."""
    turns, seen = ThreadScheduler(lambda count: 0), []

    def fail():
        raise ValueError('so')

    with pytest.raises(ValueError, match='so'):
        turns.run(fail, lambda: seen.append(turns.sleep(3)))
    assert seen


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Watch more files than a report shows, written one after the other."""
    monkeypatch.setattr(failure_logs, '_watched', set())
    files = [tmp_path / str(number) for number in range(failure_logs.FILES + 2)]
    for number, file in enumerate(files):
        file.write_text(''.join(f'{line}\n' for line in range(failure_logs.LINES + 1)))
        os.utime(file, (number, number))
    failure_logs.watch(*files, tmp_path / 'missing')
    return files


def sections(failed):
    """Return the sections that the hook adds to a report."""
    report = SimpleNamespace(failed=failed, sections=[])
    hook = failure_logs.pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    return report.sections


def test_failure_shows_the_end_of_the_files_that_were_written_last(watched):
    """The report of a failure has the last lines of the logs in use, and of no missing file."""
    shown = dict(sections(failed=True))

    assert list(shown) == [f'End of {file}' for file in watched[-failure_logs.FILES :]]
    lines = shown[f'End of {watched[-1]}'].splitlines()
    assert lines == [str(line) for line in range(1, failure_logs.LINES + 1)]


def test_passed_test_shows_no_log(watched):
    """The report of a test that passes has no logs."""
    assert sections(failed=False) == []


THREADS = """
import threading
for _ in range(4):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print('started', flush=True)
threading.Event().wait()
"""


def test_frozen_process_runs_no_thread_during_the_block_and_goes_on_after_it():
    """All threads of a busy process are stopped when the block begins."""
    with subprocess.Popen([sys.executable, '-c', THREADS], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            with frozen(process.pid):
                inside = _states(process.pid)
            after = _states(process.pid)
        finally:
            process.kill()

    assert inside <= STOPPED
    assert not after <= STOPPED


ROOT = Path(__file__).parents[2]


def test_reserved_port_is_given_to_no_other_process():
    """A port that one test run has reserved is not free for another one."""
    (port,) = free_ports(1)
    program = f'from tests.ports import _reserve; print(_reserve({port}))'

    done = subprocess.run(
        [sys.executable, '-c', program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == 'False\n'


def test_reserved_ports_are_not_those_of_clients():
    """The kernel gives none of the ports to a client."""
    clients = Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()

    assert RANGE[-1] < int(clients[0])
    assert set(free_ports(3)) < set(RANGE)
