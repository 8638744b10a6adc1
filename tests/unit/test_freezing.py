"""Stopping processes where they are."""

import subprocess
import sys

from tests.freezing import STOPPED, _states, frozen

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
