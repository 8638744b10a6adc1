"""Wait for what other processes do, with a deadline for a machine under heavy load."""

import select
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

DEADLINE_S = 120
PAUSE_S = 0.05
T = TypeVar('T')


def wait_for(
    condition: Callable[[], T], timeout_s: float = DEADLINE_S, pause_s: float = PAUSE_S
) -> T:
    """Return the first result of a condition that is true.

    :param pause_s: the pause before the condition is evaluated again, longer if that is expensive.
    :raises AssertionError: the condition did not become true in time.
    """
    deadline = time.monotonic() + timeout_s
    while not (result := condition()):
        assert time.monotonic() < deadline, (
            f'the condition did not become true within {timeout_s} s'
        )
        time.sleep(pause_s)
    return result


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line that a program prints, or '' if it ends without one.

    :raises AssertionError: the program printed nothing in time.
    """
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], DEADLINE_S)
    assert readable, f'the program printed nothing within {DEADLINE_S} s'
    return process.stdout.readline()
