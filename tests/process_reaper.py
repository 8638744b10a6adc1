"""Processes of a test run that end with it, however it ends, even by SIGKILL.

Run as a program it is the guard: it starts the processes, and ends them with all their children
when its standard input closes, which happens when the test run ends; then it removes their folder.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

STOP_TIMEOUT_S = 60
KEEP_FOLDER = b'keep'  # what the guard is told when the programs will be started again


@dataclass(frozen=True)
class Program:
    """What to start: its arguments, the file that its output is added to, and the open files that
    it inherits.
    """

    arguments: Sequence[str]
    output: str
    files: Sequence[int] = ()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it in a session of its own."""
        with open(self.output, 'ab') as output:
            return subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=self.files,
                start_new_session=True,
            )


class Guard:
    """A guard process and what it guards."""

    def __init__(
        self,
        folder: Path,
        programs: Sequence[Program],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the programs.

        :param folder: removed when all of them have ended.
        :param environment: of the programs; None for that of the test run.
        """
        with (folder / 'guard').open('ab') as output:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(folder)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                pass_fds=[file for program in programs for file in program.files],
                start_new_session=True,
            )
        assert self._process.stdin is not None
        self._process.stdin.write(
            json.dumps([asdict(program) for program in programs]).encode() + b'\n'
        )
        self._process.stdin.flush()

    @property
    def runs(self) -> bool:
        """False: it could not start the programs."""
        return self._process.poll() is None

    def close(self, keep_folder: bool = False) -> None:
        """End the programs at once, as a power cut would."""
        self._process.communicate(KEEP_FOLDER if keep_folder else b'', timeout=STOP_TIMEOUT_S)


def keep(folder: str) -> None:
    """Start what the first line of standard input lists and end it when standard input closes."""
    programs = [Program(**given) for given in json.loads(sys.stdin.buffer.readline() or b'[]')]
    running = [program.start() for program in programs]
    for file in {file for program in programs for file in program.files}:
        os.close(file)
    word = sys.stdin.buffer.read()
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for process in running:
        process.wait()
    if word != KEEP_FOLDER:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    keep(sys.argv[1])
