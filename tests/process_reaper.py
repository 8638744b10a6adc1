"""Processes that end with the test run, even if SIGKILL ends it.

As a program, this module is the reaper. It starts the processes. When the test run ends, the
standard input of the reaper closes: it kills the processes with their children and removes their
folder.
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
KEEP_FOLDER = b'keep'  # sent to the reaper if the programs will be started again


@dataclass(frozen=True)
class Program:
    """A program: its arguments, the file for its output, and the open files that it inherits."""

    arguments: Sequence[str]
    output: str
    files: Sequence[int] = ()

    def start(self) -> subprocess.Popen[bytes]:
        with open(self.output, 'ab') as output:
            return subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=self.files,
                start_new_session=True,
            )


class Reaper:
    def __init__(
        self,
        folder: Path,
        programs: Sequence[Program],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the programs.

        :param folder: removed when all programs have ended.
        :param environment: of the programs; None for that of the test run.
        """
        with (folder / 'reaper').open('ab') as output:
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
        """Whether the reaper runs; it ends if it cannot start the programs."""
        return self._process.poll() is None

    def close(self, keep_folder: bool = False) -> None:
        """End the programs at once, as a power cut would."""
        self._process.communicate(KEEP_FOLDER if keep_folder else b'', timeout=STOP_TIMEOUT_S)


def reap(folder: str) -> None:
    """Start the programs of the first line of standard input, and kill them when it closes."""
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
    reap(sys.argv[1])
