"""The process reaper terminates the programs of a test run."""

import os
import select
import subprocess
import sys
from pathlib import Path

from tests.waiting import first_line

ROOT = Path(__file__).parents[2]
WAIT_S = 120
LINGERING = 'sleep 1000 & sleep 1000'
TEST_RUN = """
import signal, sys
from pathlib import Path
from tests.process_reaper import Reaper, Program

folder, file = Path(sys.argv[1]), int(sys.argv[2])
Reaper(folder, [Program(['sh', '-c', sys.argv[3]], str(folder / 'output'), [file])])
print('started', flush=True)
signal.pause()
"""


def wait_for_end(reading, writing):
    """Wait until no other process holds the writing end."""
    os.close(writing)
    assert select.select([reading], [], [], WAIT_S)[0], 'a process is still running'
    assert os.read(reading, 1) == b''
    os.close(reading)


def test_programs_of_killed_test_run_are_terminated(tmp_path):
    """Programs and their children are terminated if the test run is killed."""
    folder = tmp_path / 'state'
    folder.mkdir()
    reading, writing = os.pipe()
    arguments = [sys.executable, '-c', TEST_RUN, str(folder), str(writing), LINGERING]
    with subprocess.Popen(
        arguments, cwd=ROOT, stdout=subprocess.PIPE, pass_fds=[writing], text=True
    ) as run:
        try:
            assert first_line(run) == 'started\n'
        finally:
            run.kill()  # the block waits for its end, also after a failure

    wait_for_end(reading, writing)
