"""Compare checks over RabbitMQ with echoes of the same bytes; see README.rst in this folder.

Contenders take turns, and ratios are computed round by round, so that a slow phase of the machine
affects both. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks import echoes, servers
from benchmarks.clusters import shrinking
from benchmarks.tables import Row, Table

BARS = {3: 1.25, 200: 1.05, 10_000: 0.90}  # nodes -> time of a check / time of an echo, at most
ECHO = 'benchmark-echo'


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument('--rounds', type=int, default=9, help='default: %(default)s')
    parser.add_argument('--seconds', type=float, default=1.0, help='of a contender in a round')
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.broker())
        worker = stack.enter_context(servers.worker(url))
        client = stack.enter_context(contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)))
        stack.enter_context(servers.echo(url, ECHO))
        echo = stack.enter_context(echoes.client(url, ECHO))
        rows = [
            compare(nodes, client.policy_check, echo, arguments.rounds, arguments.seconds)
            for nodes in BARS
        ]
    print(Table('Time of a check / echo', rows))
    return int(any(row['check / echo'] > row['at most'] for row in rows))


def compare(
    nodes: int,
    check: Callable[[object], object],
    echo: Callable[[object], object],
    rounds: int,
    seconds: float,
) -> Row:
    """Return the median of the ratios of the rounds; each contender begins every other round."""
    request = shrinking(nodes)
    check(request), echo(request)  # connect before the measurement
    checks, echoed = [], []
    for number in range(rounds):
        turns = [(check, checks), (echo, echoed)]
        for call, times in turns if number % 2 else reversed(turns):
            times.append(median_ms(call, request, seconds))
    ratios = [one / other for one, other in zip(checks, echoed, strict=True)]
    return {
        'nodes': nodes,
        'check ms': statistics.median(checks),
        'echo ms': statistics.median(echoed),
        'check / echo': round(statistics.median(ratios), 2),
        'at most': BARS[nodes],
    }


def median_ms(call: Callable[[object], object], request: object, seconds: float) -> float:
    """Call for some seconds, at least once; return the median time of a call."""
    times, began = [], time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        called = time.perf_counter()
        call(request)
        times.append((time.perf_counter() - called) * 1000)
    return statistics.median(times)


if __name__ == '__main__':
    sys.exit(main())
