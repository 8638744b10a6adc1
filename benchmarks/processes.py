"""The CPU time and the memory of processes, from /proc of Linux."""

import os
from collections.abc import Iterable
from pathlib import Path

TICK_S = 1 / os.sysconf('SC_CLK_TCK')
MIB = 1024  # KiB


def cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU time of processes so far, user and system, in seconds."""
    return sum(_ticks(pid) for pid in pids) * TICK_S


def scheduled_s(pids: Iterable[int]) -> float:
    """Return the CPU time of the running threads, which `cpu_s` rounds to 10 ms."""
    files = (task / 'schedstat' for pid in pids for task in Path(f'/proc/{pid}/task').iterdir())
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def descendants(pid: int) -> list[int]:
    """Return the processes that a process and its descendants have started and that run."""
    threads = Path(f'/proc/{pid}/task').glob('*/children')
    children = [int(child) for thread in threads for child in _text(thread).split()]
    return [*children, *(one for child in children for one in descendants(child))]


def command(pid: int) -> str:
    """Return the command line of a process, which may have changed it."""
    return _text(Path(f'/proc/{pid}/cmdline')).replace('\0', ' ')


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB, shared memory included."""
    return _status(pid, 'VmRSS')


def peak_mib(pid: int) -> float:
    """Return the peak of the resident memory since the start or since `forget_peak`, in MiB."""
    return _status(pid, 'VmHWM')


def own_mib(pid: int) -> float:
    """Return the resident memory in MiB, with a proportional part of shared memory."""
    rollup = Path(f'/proc/{pid}/smaps_rollup').read_text()
    return (
        next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith('Pss:')) / MIB
    )


def written_kib(pid: int) -> float:
    """Return what a process has written to files so far, in KiB of whole pages."""
    lines = Path(f'/proc/{pid}/io').read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith('write_bytes')) / 1024


def forget_peak(pid: int) -> None:
    """Reset the peak of the resident memory."""
    Path(f'/proc/{pid}/clear_refs').write_text('5')


def _text(file: Path) -> str:
    """Return the content of a file, or '' if its process or thread has ended."""
    try:
        return file.read_text()
    except OSError:
        return ''


def _ticks(pid: int) -> int:
    after_name = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return int(after_name[11]) + int(after_name[12])


def _status(pid: int, key: str) -> float:
    status = Path(f'/proc/{pid}/status').read_text()
    return (
        next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f'{key}:'))
        / MIB
    )
