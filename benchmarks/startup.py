"""The start time of programs."""

import contextlib
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import servers
from benchmarks.pairing import Effort, Took, cpu_ms, interleaved, wall_ms
from benchmarks.results import Bar, Result, Table

ROOT = Path(__file__).parents[1]
POLICY = str(Path(sys.executable).with_name('placement-policy'))
HELP = 'placement-policy --help'
COMMANDS = {
    'python -c pass': [sys.executable, '-c', 'pass'],
    HELP: [POLICY, '--help'],
    'placement-policy check --help': [POLICY, 'check', '--help'],
    'placement-policy check examples/scale-out.yaml': [POLICY, 'check', 'examples/scale-out.yaml'],
    'import of the client': [
        sys.executable,
        '-c',
        'from placement_worker.cmd import threading_backend; threading_backend.choose(); '
        'import placement_worker.client.rpc_client',
    ],
    'placement-worker --help': [str(Path(sys.executable).with_name('placement-worker')), '--help'],
}
BAR_MS = 150.0
RUNS_A_ROUND = 3


def run(effort: Effort) -> Result:
    """Start the programs in turns, and a worker a few times until it replies."""
    contenders = {
        name: lambda command=command: _start(command) for name, command in COMMANDS.items()
    }
    found = interleaved(contenders, effort.rounds * RUNS_A_ROUND)
    rows = [
        {'program': name, 'cpu ms': str(cpu_ms(runs)), 'wall ms': str(wall_ms(runs))}
        for name, runs in found.items()
    ]
    with servers.bus() as bus:
        answers = [_worker(bus.url) for _ in range(effort.rounds)]
    rows.append(
        {
            'program': 'placement-worker, until it answers',
            'cpu ms': '-',
            'wall ms': str(wall_ms(answers)),
        }
    )
    bar = Bar(f'{HELP}, CPU time', cpu_ms(found[HELP]).mid, BAR_MS, 'ms')
    return Result([Table('Start', rows, 'Medians, and quartiles.')], [bar])


def _start(command: list[str]) -> Took:
    before, began = _children_s(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return Took((time.perf_counter() - began) * 1000, (_children_s() - before) * 1000)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _worker(url: str) -> Took:
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(servers.worker(url))
        return Took((time.perf_counter() - began) * 1000, 0.0)
