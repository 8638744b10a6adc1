"""The CPU time of idle servers: a worker with two processes and as many stock servers."""

import contextlib
import time

from benchmarks import echoes, servers
from benchmarks.pairing import Effort
from benchmarks.processes import scheduled_s
from benchmarks.results import Bar, Result, Row, Table

PROCESSES, TOPICS = 2, ('idle-1', 'idle-2', 'idle-3')
SETTLE_S, IDLE_S = 10, 120
FEWER = 4


def run(effort: Effort) -> Result:
    """Measure both while idle on one broker, after each has replied once."""
    idle_s = IDLE_S / FEWER if effort.quick or effort.bars_only else IDLE_S
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.bus()).url
        worker = stack.enter_context(servers.worker(url, PROCESSES))
        stock = stack.enter_context(servers.echo('stock', url, TOPICS, PROCESSES))
        call = stack.enter_context(echoes.client('stock', url, TOPICS[0]))
        for _ in range(4 * PROCESSES):
            call('hello')
        servers_of = {
            'worker process': worker.children(),
            'stock server': stock,
            'parent of the worker': [worker.process.pid],
        }
        time.sleep(SETTLE_S)
        began = {what: scheduled_s(pids) for what, pids in servers_of.items()}
        time.sleep(idle_s)
        used = {
            what: (scheduled_s(pids) - began[what]) / len(pids) for what, pids in servers_of.items()
        }
    rows: list[Row] = [{'what': what, 'CPU ms per s': 1000 * used[what] / idle_s} for what in used]
    ratio = used['worker process'] / used['stock server']
    note = f'CPU time per process over {idle_s:g} s without a request; each serves three topics.'
    return Result(
        [Table('Idle servers', rows, note)],
        [Bar('idle worker process / idle stock server', ratio, 1.0)],
    )
