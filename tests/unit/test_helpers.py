"""Helpers of the tests: threads in a chosen order, and frozen processes."""

import subprocess
import sys

import pytest

from tests.deterministic_threads import ThreadScheduler
from tests.freezing import STOPPED, _states, frozen


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
