"""A program of the cloud that can be killed and started again."""

from collections.abc import Sequence
from pathlib import Path

from tests import failure_logs
from tests.process_reaper import Program, Reaper


class RestartableProgram:
    """A program in the folder of the cloud; it ends with the test run, even if that is killed."""

    def __init__(self, folder: Path, name: str, arguments: Sequence[object]) -> None:
        self.name = name
        self.log = folder / f'{name}.log'
        self._folder = folder
        self._program = Program(
            [str(argument) for argument in arguments], str(folder / f'{name}.out')
        )
        self._reaper: Reaper | None = None
        failure_logs.watch(self.log, Path(self._program.output))

    @property
    def runs(self) -> bool:
        """Whether the program was started and not killed since."""
        return self._reaper is not None

    def start(self) -> None:
        """Start the program, unless it runs."""
        if not self.runs:
            self._reaper = Reaper(self._folder, [self._program])

    def kill(self) -> None:
        """Kill the program and its children, if it runs."""
        if self._reaper is not None:
            self._reaper.close(keep_folder=True)
            self._reaper = None
