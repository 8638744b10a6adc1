"""Programs that tests run in a process of their own."""

import subprocess
import sys


def run_python(*arguments, text=True, **more):
    """Run Python, and return the finished process with its output and errors."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=text, check=False, **more)
