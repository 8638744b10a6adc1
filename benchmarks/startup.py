"""The start time of programs."""

import contextlib
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import servers
from benchmarks.pairing import Effort, Took, cpu_ms, interleaved, ratio, wall_ms
from benchmarks.results import Bar, Result, Table

ROOT = Path(__file__).parents[1]
POLICY = str(Path(sys.executable).with_name('placement-policy'))
HELP = 'placement-policy --help'
EMPTY = 'python -c pass'
CLIENT, LIBRARY = 'import of the client', 'import of oslo.messaging'
BARS = [(HELP, EMPTY, 4.5), (CLIENT, LIBRARY, 1.10)]
"""Program, reference, and the maximum ratio of their CPU times."""


def _importing(module: str) -> list[str]:
    """Return the command that imports a module, with the threads that engines use."""
    before = 'from placement_worker.cmd import threading_backend; threading_backend.choose(); '
    return [sys.executable, '-c', f'{before}import {module}']


COMMANDS = {
    EMPTY: [sys.executable, '-c', 'pass'],
    HELP: [POLICY, '--help'],
    'placement-policy check --help': [POLICY, 'check', '--help'],
    'placement-policy check examples/scale-out.yaml': [POLICY, 'check', 'examples/scale-out.yaml'],
    CLIENT: _importing('placement_worker.client.rpc_client'),
    LIBRARY: _importing('oslo_messaging'),
    'placement-worker --help': [str(Path(sys.executable).with_name('placement-worker')), '--help'],
}
RUNS_A_ROUND = 3


def run(effort: Effort) -> Result:
    """Start the programs in turns, and a worker a few times until it replies."""
    needed = {name for bar in BARS for name in bar[:2]} if effort.bars_only else set(COMMANDS)
    contenders = {
        name: lambda command=command: _start(command)
        for name, command in COMMANDS.items()
        if name in needed
    }
    found = interleaved(contenders, effort.rounds * RUNS_A_ROUND)
    used = {name: [one.cpu_ms for one in runs] for name, runs in found.items()}
    bars = [
        Bar(f'{name} / {other}, CPU time', ratio(used[name], used[other]).mid, limit)
        for name, other, limit in BARS
    ]
    rows = [
        {'program': name, 'cpu ms': str(cpu_ms(runs)), 'wall ms': str(wall_ms(runs))}
        for name, runs in found.items()
    ]
    if not effort.bars_only:
        with servers.bus() as bus:
            answers = [_worker(bus.url) for _ in range(effort.rounds)]
        worker = 'placement-worker, until it answers'
        rows.append({'program': worker, 'cpu ms': '-', 'wall ms': str(wall_ms(answers))})
    return Result([Table('Start', rows, 'Medians, and quartiles.')], bars)


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
