"""The process reaper terminates the programs of a test run."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from tests.process_reaper import Program, Reaper
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
        assert first_line(run) == 'started\n'

        run.send_signal(signal.SIGKILL)

    wait_for_end(reading, writing)


def test_close_deletes_folder_unless_kept(tmp_path):
    """Closing deletes the folder of the programs, unless it is to be kept."""
    kept, gone = tmp_path / 'kept', tmp_path / 'gone'
    for folder in kept, gone:
        folder.mkdir()
        reading, writing = os.pipe()
        program = Program(['sh', '-c', LINGERING], str(folder / 'output'), [writing])
        reaper = Reaper(folder, [program])

        reaper.close(keep_folder=folder == kept)

        wait_for_end(reading, writing)

    assert (kept.exists(), gone.exists()) == (True, False)


def test_programs_get_only_given_environment(tmp_path):
    """Programs get the given environment variables and no others."""
    reading, writing = os.pipe()
    show = 'import json, os, sys; os.write(int(sys.argv[1]), json.dumps(dict(os.environ)).encode())'
    program = Program(
        [sys.executable, '-c', show, str(writing)], str(tmp_path / 'output'), [writing]
    )

    reaper = Reaper(tmp_path, [program], {'A': '1', 'LC_CTYPE': 'C.UTF-8'})

    os.close(writing)
    with os.fdopen(reading) as shown:
        assert json.load(shown) == {'A': '1', 'LC_CTYPE': 'C.UTF-8'}
    reaper.close()
