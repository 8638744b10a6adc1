"""What processes use, as Linux tells it in /proc."""

import os
from collections.abc import Iterable
from pathlib import Path

TICK_S = 1 / os.sysconf('SC_CLK_TCK')
MIB = 1024  # KiB


def cpu_s(pids: Iterable[int]) -> float:
    """The CPU time that processes have used so far, user and system."""
    return sum(_ticks(pid) for pid in pids) * TICK_S


def scheduled_s(pids: Iterable[int]) -> float:
    """The CPU time of the threads that live, which `cpu_s` rounds to hundredths of a second."""
    files = (task / 'schedstat' for pid in pids for task in Path(f'/proc/{pid}/task').iterdir())
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def resident_mib(pid: int) -> float:
    """How much memory of a process is in RAM, what it shares included."""
    return _status(pid, 'VmRSS')


def peak_mib(pid: int) -> float:
    """The most that was in RAM since the process began, or since `forget_peak`."""
    return _status(pid, 'VmHWM')


def own_mib(pid: int) -> float:
    """As `resident_mib`, of what is shared only this process's part."""
    rollup = Path(f'/proc/{pid}/smaps_rollup').read_text()
    return (
        next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith('Pss:')) / MIB
    )


def forget_peak(pid: int) -> None:
    """Begin to look for the peak anew."""
    Path(f'/proc/{pid}/clear_refs').write_text('5')


def _ticks(pid: int) -> int:
    after_name = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return int(after_name[11]) + int(after_name[12])


def _status(pid: int, key: str) -> float:
    status = Path(f'/proc/{pid}/status').read_text()
    return (
        next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f'{key}:'))
        / MIB
    )
