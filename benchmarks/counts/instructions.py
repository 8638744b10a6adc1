"""Instructions of a check in process, in Python and in C, counted by callgrind.

The count is the difference between a program that decides several requests and one that decides
one, so it does not include the start.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.clusters import encoded, shrinking
from benchmarks.counts.count import Count

ROOT = Path(__file__).parents[2]
# Number of nodes -> number of additional checks of the second program.
TIMES = {1000: 10, 4000: 3}
TOLERANCE = 0.10  # starts differ by some million instructions, builds of Python by some per cent
GROWTH_TOLERANCE = 0.15
TIMEOUT_S = 600


def counted() -> list[Count]:
    """Count the instructions per node, and their growth with the cluster.

    :raises RuntimeError: valgrind is not installed.
    """
    if shutil.which('valgrind') is None:
        raise RuntimeError('valgrind is not installed: apt-get install valgrind')
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as programs:
        runs = {}
        for nodes, times in TIMES.items():
            request = Path(folder) / f'{nodes}.json'
            request.write_text(encoded(shrinking(nodes)))
            runs[nodes] = [
                programs.submit(_instructions, request, checks) for checks in (1, 1 + times)
            ]
        a_node = {
            nodes: (more.result() - once.result()) / TIMES[nodes] / nodes
            for nodes, (once, more) in runs.items()
        }
    small, large = sorted(a_node)
    return [
        *(
            Count(f'instructions a node, {nodes} nodes', round(a_node[nodes]), TOLERANCE)
            for nodes in a_node
        ),
        Count(
            f'the same, {large} to {small} nodes',
            round(a_node[large] / a_node[small], 3),
            GROWTH_TOLERANCE,
        ),
    ]


def _instructions(request: Path, checks: int) -> int:
    """Count the instructions of a program that decides a number of checks."""
    done = subprocess.run(
        [
            *('valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null'),
            *(sys.executable, '-m', 'benchmarks.counts.checks', str(request), str(checks)),
        ],
        cwd=ROOT,
        env={**os.environ, 'PYTHONHASHSEED': '0'},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    collected = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode or collected is None:
        raise RuntimeError(f'callgrind failed:\n{done.stderr}')
    return int(collected[1])
