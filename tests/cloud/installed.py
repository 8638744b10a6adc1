"""Programs of the environment that runs the tests."""

import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 300


def program(name: str) -> Path:
    """Return the path of an installed program."""
    return Path(sys.executable).with_name(name)


def run(name: str, *arguments: object) -> str:
    """Run a program, which must succeed; return what it prints."""
    command = [str(part) for part in (program(name), *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
