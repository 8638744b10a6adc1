"""The memory of a worker process: idle, after many checks, during and after a very large check."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import servers
from benchmarks.clusters import shrinking
from benchmarks.pairing import Effort
from benchmarks.processes import forget_peak, own_mib, peak_mib, resident_mib
from benchmarks.results import Bar, Result, Row, Table
from placement_worker.client.rpc_client import PolicyClient

CHECKS, NODES = 10_000, 20
LARGE = 100_000
CALLERS = 8
SETTLE_S = 2
MIB_PER_MB = 1e6 / 2**20
REST_MB, GROWN_MB, AFTER_MB = 70, 10, 30


def run(effort: Effort) -> Result:
    """Measure the one process of a worker at several points."""
    rows: list[Row] = []
    checks = CHECKS // 10 if effort.quick else CHECKS
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(servers.worker(stack.enter_context(servers.bus()).url))
        client = stack.enter_context(contextlib.closing(worker.client(timeout_s=120)))
        (pid,) = worker.children()
        rest = _look(rows, 'at rest', pid)
        _check(client, NODES, checks)
        busy = _look(rows, f'after {checks} checks of {NODES} nodes', pid)
        _check(client, 10_000, 1)
        _look(rows, 'after a check of 10000 nodes', pid)
        _check(client, LARGE, 1)
        after = _look(rows, f'after a check of {LARGE} nodes', pid)
        _check(client, NODES, CALLERS)
        _look(rows, 'after some small ones', pid)
        _look(rows, 'the parent', worker.process.pid)
    bars = [
        Bar('a worker process at rest', rest, REST_MB, 'MB'),
        Bar(f'more after {checks} checks', busy - rest, GROWN_MB, 'MB'),
        Bar(f'more after a check of {LARGE} nodes than at rest', after - rest, AFTER_MB, 'MB'),
    ]
    note = 'MB of RAM; own: without what processes share. The peak is that since the line before.'
    return Result([Table('Memory of a worker process', rows, note)], bars)


def _look(rows: list[Row], when: str, pid: int) -> float:
    time.sleep(SETTLE_S)
    resident = resident_mib(pid) / MIB_PER_MB
    own, peak = own_mib(pid) / MIB_PER_MB, peak_mib(pid) / MIB_PER_MB
    rows.append(
        {'when': when, 'resident': resident, 'own': own, 'peak': peak, 'threads': _threads(pid)}
    )
    forget_peak(pid)
    return resident


def _threads(pid: int) -> int:
    return len(list(Path(f'/proc/{pid}/task').iterdir()))


def _check(client: PolicyClient, nodes: int, times: int) -> None:
    asked = shrinking(nodes)
    with ThreadPoolExecutor(CALLERS) as callers:
        for done in [callers.submit(client.policy_check, asked) for _ in range(times)]:
            done.result()
