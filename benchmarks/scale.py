"""Worker processes on a cluster of three brokers and on one broker; see README.rst.

The last tables are those of doc/source/capacity.rst, from the costs of this machine.
"""

import contextlib
import itertools
import os
import random
import statistics
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import arrivals, capacity, echoes, queue_processes, servers
from benchmarks.arrivals import Station
from benchmarks.clusters import shrinking
from benchmarks.pairing import Effort
from benchmarks.results import Result, Row, Table
from benchmarks.sampling import Contender, Sample, compare, cpu_row
from tests.broker import LEAN, Broker
from tests.cluster import Cluster
from tests.functional.conftest import amqp
from tests.functional.engine import slow

NODES = (3, 200)
PROCESSES = (1, 2, 4, 8)
CALLERS = 32
ROUNDS = 4
SECONDS = 2.0
ARRIVALS_S = 30.0
THREE, ONE = 'three', 'one'
"""The brokers: a cluster of three nodes, and one node."""
PLUGIN = {
    **os.environ,
    'PYTHONPATH': str(Path(__file__).parents[1] / 'tests' / 'functional' / 'plugin'),
}
RATES = (
    f'{CALLERS} callers. CPU: milliseconds per check; the CPU time of all nodes of the broker '
    'together. Client, workers and brokers share the cores, so calls/s does not show what more '
    'processes would give on cores of their own.'
)
QUEUE = (
    f'{CALLERS} callers, one worker process, three brokers. Leader and log: how long the process '
    "of the queue's leader and that of the write-ahead log of its node run per check. KiB: what "
    'each node writes.'
)
WAITING = (
    'Poisson arrivals at one worker process on three brokers. waiting: the mean length of the '
    'queue. model: M/G/c with the measured variation of the service times. ms: the time in the '
    'queue; replayed: its mean in a simulation with the same arrivals; formula: that of the model.'
)


def run(effort: Effort) -> Result:
    """Measure rates, the queue's leader and random arrivals."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(_cluster())
        rates = _rates(cluster, effort)
        leaders = [_leader(cluster, nodes, effort) for nodes in NODES]
        stations = itertools.islice(_stations(cluster, stack), 1 if effort.quick else None)
        waiting = [row for station in stations for row in _waiting(station, effort)]
    return Result(
        [
            Table('Rates and CPU time', [row for some in rates.values() for row in some], RATES),
            Table('The process of a queue', leaders, QUEUE),
            Table('Random arrivals', waiting, WAITING),
            *capacity.tables({row['nodes']: _cost(rates[row['nodes']], row) for row in leaders}),
        ]
    )


@contextlib.contextmanager
def _cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        yield cluster.start()
    finally:
        cluster.close()


@contextlib.contextmanager
def _one_broker() -> Iterator[servers.Bus]:
    broker = Broker(erlang_arguments=LEAN)
    try:
        yield servers.Bus(broker.start().url, [broker.pid])
    finally:
        broker.close()


def _rates(cluster: Cluster, effort: Effort) -> Mapping[int, list[Row]]:
    """Return the number of nodes -> a row per broker and number of processes."""
    found = {}
    with contextlib.ExitStack() as stack:
        buses = {
            THREE: servers.Bus(cluster.url, [node.pid for node in cluster.nodes]),
            ONE: stack.enter_context(_one_broker()),
        }
        contenders, about = {}, {}
        for brokers, bus in buses.items():
            for processes in PROCESSES[:2] if effort.quick else PROCESSES:
                name = f'{brokers} {processes}'
                contenders[name] = stack.enter_context(_checks(bus, processes))
                about[name] = {'brokers': brokers, 'processes': processes}
        for nodes in NODES:
            print(f'  {nodes} nodes, {CALLERS} callers', file=sys.stderr)
            rounds, seconds = (1, effort.seconds) if effort.quick else (ROUNDS, SECONDS)
            samples = compare(contenders, shrinking(nodes), CALLERS, rounds, seconds)
            found[nodes] = [
                {'nodes': nodes, **about[name], **_row(some)} for name, some in samples.items()
            ]
    return found


@contextlib.contextmanager
def _checks(bus: servers.Bus, processes: int) -> Iterator[Contender]:
    with (
        servers.worker(bus.url, processes) as worker,
        contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)) as client,
    ):
        yield Contender(client.policy_check, worker.children(), bus.pids)


def _row(samples: list[Sample]) -> Row:
    return {'calls/s': statistics.median(sample.rate for sample in samples), **cpu_row(samples)}


def _leader(cluster: Cluster, nodes: int, effort: Effort) -> Row:
    """Measure the queue of a worker with one process."""
    print(f'  queue, {nodes} nodes', file=sys.stderr)
    with (
        servers.worker(cluster.url) as worker,
        contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)) as client,
    ):
        call = partial(client.policy_check, shrinking(nodes))
        busy = queue_processes.busy(
            cluster.nodes, worker.topic, call, CALLERS, 2 if effort.quick else 8
        )
    return {
        'nodes': nodes,
        'checks/s': busy.rate,
        'leader ms': busy.leader_s * 1000,
        'log ms': busy.log_s * 1000,
        'KiB': busy.written_kib,
    }


def _cost(rates: list[Row], leader: Row) -> capacity.Cost:
    """Return the cost of a check on three brokers: medians of all numbers of processes."""
    three = [row for row in rates if row['brokers'] == THREE]
    return capacity.Cost(
        statistics.median(row['worker ms'] for row in three),
        statistics.median(row['broker ms'] for row in three),
        leader['leader ms'],
        leader['KiB'],
    )


def _stations(cluster: Cluster, stack: contextlib.ExitStack) -> Iterator[Station]:
    """Yield stations whose threads are busy before the cores are."""
    asked = shrinking(3)
    yield _station(cluster, stack, 'decision', 1, lambda client, _: client.policy_check(asked))
    sleeping: Any = lambda client, slept: client.policy_check(slow(slept))  # noqa: E731
    for threads, mean_s in ((1, 0.02), (4, 0.05)):
        yield _station(cluster, stack, 'wait', threads, sleeping, mean_s)


def _station(
    cluster: Cluster,
    stack: contextlib.ExitStack,
    what: str,
    threads: int,
    call: Any,
    mean_s: float = 0.0,
) -> Station:
    worker = stack.enter_context(
        servers.worker(cluster.url, threads=threads, environment=PLUGIN),
    )
    client = stack.enter_context(contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)))

    def sleep(draw: random.Random) -> float:
        return draw.expovariate(1 / mean_s) if mean_s else 0.0

    channel = stack.enter_context(amqp(cluster.nodes[0].url)).default_channel

    def waiting() -> int:
        return channel.queue_declare(worker.topic, passive=True).message_count

    return Station(what, threads, partial(call, client), sleep, waiting)


def _waiting(station: Station, effort: Effort) -> Iterator[Row]:
    print(f'  {station.what}, {station.threads} threads', file=sys.stderr)
    yield from arrivals.rows(station, 3.0 if effort.quick else ARRIVALS_S)
