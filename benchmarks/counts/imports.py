"""Modules that programs import at start."""

import subprocess
import sys

from benchmarks.counts.count import Count

TOLERANCE = 0.10  # releases of Python and of libraries


def counted() -> list[Count]:
    """Count the modules that --help imports: all, and those of this project."""
    completed = subprocess.run(
        [sys.executable, '-X', 'importtime', '-m', 'placement_worker', '--help'],
        capture_output=True,
        text=True,
        check=True,
    )
    names = [
        line.rpartition('|')[2].strip()
        for line in completed.stderr.splitlines()
        if line.startswith('import time:')
    ]
    ours = [name for name in names if name.partition('.')[0] == 'placement_worker']
    return [
        Count('modules that --help imports', len(names), TOLERANCE),
        Count('modules of this project that --help imports', len(ours)),
    ]
