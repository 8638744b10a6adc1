"""Programs of the environment that runs the tests: some run once, others are killed and started."""

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests import failure_logs
from tests.process_reaper import Program, Reaper

TIMEOUT_S = 300


def installed(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def run(name: str, *arguments: object, folder: Path | None = None, status: int = 0) -> str:
    """Run an installed program, which must end with a status; return what it prints."""
    done = subprocess.run(
        [str(part) for part in (installed(name), *arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


class RestartableProgram:
    """A program in the folder of the cloud; it ends with the test run, even if that is killed."""

    def __init__(self, folder: Path, name: str, arguments: Sequence[object]) -> None:
        self.log = folder / f'{name}.log'
        self._folder = folder
        self._program = Program([str(part) for part in arguments], str(folder / f'{name}.out'))
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


class EnginePrograms:
    """The services and the engines by name that the workers serve."""

    url: str
    services: Iterable[RestartableProgram]
    engines: Mapping[str, RestartableProgram]

    def create_database(self) -> None:
        raise NotImplementedError

    def wait_until_ready(self) -> None:
        """Return when the engines handle requests."""
        raise NotImplementedError

    def start(self) -> None:
        """Start all programs without waiting for them; Keystone has their users."""
        for program in [*self.services, *self.engines.values()]:
            program.start()

    def close(self) -> None:
        for program in [*self.services, *self.engines.values()]:
            program.kill()
