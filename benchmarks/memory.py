"""The memory of a worker process: at rest, after many checks, and after a very large one."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import echoes, servers
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
AT_REST, GROWN, AFTER_LARGE = 1.3, 1.15, 1.5
"""The maximum ratios: to a stock server, and of a busy worker to itself at rest."""
OPENSTACK = """[cloud]
backend = openstack
[service_auth]
auth_type = v3password
auth_url = http://127.0.0.1:9/v3
username = placement-worker
password = secret
user_domain_id = default
project_name = service
project_domain_id = default
"""


def run(effort: Effort) -> Result:
    """Measure the one process of a worker at several points, beside others at rest."""
    rows: list[Row] = []
    checks = CHECKS // 10 if effort.quick else CHECKS
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.bus()).url
        (stock,) = stack.enter_context(servers.echo('stock', url, ['memory'], 1))
        stack.enter_context(echoes.client('stock', url, 'memory'))('hello')
        openstack = stack.enter_context(servers.worker(url, cloud=OPENSTACK))
        worker = stack.enter_context(servers.worker(url))
        client = stack.enter_context(contextlib.closing(worker.client(timeout_s=120)))
        (pid,) = worker.children()
        reference = _look(rows, 'a stock server', stock)
        beside = _look(rows, 'at rest, with OpenStack', *openstack.children())
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
        Bar('memory of a worker with OpenStack / stock server', beside / reference, AT_REST),
        Bar(f'memory after {checks} checks / at rest', busy / rest, GROWN),
        Bar(f'memory after a check of {LARGE} nodes / at rest', after / rest, AFTER_LARGE),
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
