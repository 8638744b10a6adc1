"""Stop processes where they are."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.waiting import wait_for

# The states of a thread that runs no code (`man 5 proc_pid_stat`): stopped, traced or ended.
STOPPED = frozenset('TtXZ')


@contextlib.contextmanager
def frozen(*pids: int) -> Iterator[None]:
    """Stop processes during the block; their connections stay open.

    A signal returns before it takes effect: on a busy machine, threads of the process go on for
    some milliseconds. The block therefore begins when all threads are stopped.

    :raises AssertionError: a process was not stopped in time.
    """
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        for pid in pids:
            wait_for(lambda pid=pid: _states(pid) <= STOPPED)  # type: ignore[misc]
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _states(pid: int) -> set[str]:
    """Return the states of all threads of a process; a thread that ended has none."""
    states = set()
    for thread in Path(f'/proc/{pid}/task').iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name, in parentheses before the state, may hold spaces and parentheses.
            states.add((thread / 'stat').read_text().rpartition(')')[2].split()[0])
    return states
