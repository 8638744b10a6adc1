"""Decisions while other requests wait for a slow Octavia; they must not become slower."""

import contextlib
import itertools
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

from benchmarks import servers
from benchmarks.clusters import CLOUD, shrinking
from benchmarks.pairing import Effort, Spread, interleaved, ratio
from benchmarks.results import Result, Table
from placement_worker.client.rpc_client import PolicyClient

PENDING_S = 2.0  # duration of each change of a load balancer
WAITING = 16  # requests that wait at any time: the default of [worker] slow_threads
NODES = (3, 200)
CLOUD_WITH_OCTAVIA = {
    **CLOUD,
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/16'}},
    'load_balancer': {'pending_s': PENDING_S},
}
ALONE, BESIDE = 'alone', f'{WAITING} attachments waiting'
_numbers = itertools.count()


def run(effort: Effort) -> Result:
    """Measure with one caller and one process, in turns with and without waiting attachments."""
    rows = []
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.bus()).url
        worker = stack.enter_context(servers.worker(url, cloud=CLOUD_WITH_OCTAVIA))
        client = stack.enter_context(
            contextlib.closing(worker.client(slow_topic=f'{worker.topic}-slow'))
        )
        for nodes in NODES:
            asked = shrinking(nodes)

            def alone(asked: Any = asked) -> list[float]:
                return _latencies(client, asked, effort.seconds)

            def beside(asked: Any = asked) -> list[float]:
                with _attaching(client):
                    return _latencies(client, asked, effort.seconds)

            found = interleaved({ALONE: alone, BESIDE: beside}, effort.rounds)
            rows += [{'nodes': nodes, 'decisions': name, **_row(found, name)} for name in found]
    note = f'Each change of a load balancer takes {PENDING_S} s. One caller, one process.'
    return Result([Table('Decisions with a slow Octavia behind', rows, note)])


def _latencies(client: PolicyClient, asked: Any, seconds: float) -> list[float]:
    began, took = time.perf_counter(), []
    while time.perf_counter() - began < seconds:
        asked_at = time.perf_counter()
        client.policy_check(asked)
        took.append(time.perf_counter() - asked_at)
    return took


@contextlib.contextmanager
def _attaching(client: PolicyClient) -> Iterator[None]:
    """Create and delete load balancers continuously, until the last one is deleted."""
    begun, enough = threading.Barrier(WAITING + 1), threading.Event()

    def attach_and_detach() -> None:
        begun.wait()
        while not enough.is_set():
            bind = _bind(next(_numbers))
            attached = client.policy_attach(bind)
            client.policy_detach(
                {**bind, 'policy': {**bind['policy'], 'data': attached.policy.data}}
            )

    threads = [threading.Thread(target=attach_and_detach) for _ in range(WAITING)]
    for thread in threads:
        thread.start()
    try:
        begun.wait()
        time.sleep(PENDING_S / 2)  # now all of them wait for a load balancer
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()


def _bind(number: int) -> dict[str, Any]:
    place = {'subnet': 'private-subnet'}
    spec = {
        'type': 'senlin.policy.loadbalance',
        'version': '1.3',
        'properties': {'pool': place, 'vip': place},
    }
    profile = {'type': 'os.nova.server-1.0'}
    cluster = {'id': f'cluster-{number}', 'project': 'p1', 'profile': profile, 'nodes': []}
    return {'cluster': cluster, 'policy': {'id': f'policy-{number}', 'spec': spec}}


def _row(found: dict[str, list[list[float]]], name: str) -> dict[str, Any]:
    latencies = sorted(took for some in found[name] for took in some)
    p50 = {which: [statistics.median(some) for some in rounds] for which, rounds in found.items()}
    p99 = {
        which: [sorted(some)[len(some) * 99 // 100] for some in rounds]
        for which, rounds in found.items()
    }
    return {
        'calls': len(latencies),
        'p50 ms': Spread.of(p50[name]).mid * 1000,
        'p99 ms': latencies[len(latencies) * 99 // 100] * 1000,
        'p50/alone': str(ratio(p50[name], p50[ALONE])),
        'p99/alone': str(ratio(p99[name], p99[ALONE])),
    }
