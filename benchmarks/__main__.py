"""Compare checks over RabbitMQ with echoes of the same bytes; see README.rst in this folder.

A stock client of oslo.messaging calls both servers. Contenders take turns, and ratios are computed
round by round, so that a slow phase of the machine affects all. The exit status is 1 if a bar is
missed.
"""

import argparse
import collections
import contextlib
import functools
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import echoes, servers
from benchmarks.clusters import shrinking
from benchmarks.tables import Row, Table
from placement_worker.contract.rpc import EXCHANGE

BARS = {3: 1.25, 200: 1.05, 10_000: 0.90}  # nodes -> time of a check / time of an echo, at most
TOPIC = 'benchmark-echo'


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument('--rounds', type=int, default=9, help='default: %(default)s')
    parser.add_argument('--seconds', type=float, default=1.0, help='of a contender in a round')
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.broker())
        worker = stack.enter_context(servers.worker(url))
        stack.enter_context(servers.echo(url, TOPIC))
        own = stack.enter_context(contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)))
        client = functools.partial(echoes.client, url)
        contenders = {
            'echo': stack.enter_context(client(echoes.EXCHANGE, TOPIC, 'echo')),
            'check': stack.enter_context(client(EXCHANGE, worker.topic, 'policy_check')),
            'PolicyClient': own.policy_check,
        }
        rows = [compare(nodes, contenders, arguments.rounds, arguments.seconds) for nodes in BARS]
    print(Table('Time of a check / echo', rows))
    return int(any(row['check / echo'] > row['at most'] for row in rows))


def compare(
    nodes: int, contenders: Mapping[str, Callable[[Any], object]], rounds: int, seconds: float
) -> Row:
    """Return the median of the ratios of the rounds; the contenders begin in turn."""
    request = shrinking(nodes)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = collections.deque(contenders.items())
    for _, call in order:
        call(request)  # connect before the measurement
    for _ in range(rounds):
        for name, call in order:
            times[name].append(median_ms(call, request, seconds))
        order.rotate()

    def ratio(name: str) -> float:
        turns = zip(times[name], times['echo'], strict=True)
        return round(statistics.median(one / other for one, other in turns), 2)

    return {
        'nodes': nodes,
        'check ms': statistics.median(times['check']),
        'echo ms': statistics.median(times['echo']),
        'check / echo': ratio('check'),
        'at most': BARS[nodes],
        'by PolicyClient': ratio('PolicyClient'),
    }


def median_ms(call: Callable[[Any], object], request: object, seconds: float) -> float:
    """Call for some seconds, at least once; return the median time of a call."""
    times, began = [], time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        called = time.perf_counter()
        call(request)
        times.append((time.perf_counter() - called) * 1000)
    return statistics.median(times)


if __name__ == '__main__':
    sys.exit(main())
