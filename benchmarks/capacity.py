"""The processes and cores that a number of clusters needs: doc/source/capacity.rst.

python -m benchmarks.capacity            # the costs on that page, and what follows from them
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.tables import Row, Table

# The share of time for which processes and cores may be busy.
USE = 0.7
# The default of [worker] threads.
THREADS = 8
# A wait for the cloud, to show the effect of one.
CLOUD_S = 0.2
CLUSTERS = (10_000, 100_000, 1_000_000)
PER_HOUR = (1, 6, 60)


@dataclass(frozen=True)
class Queue:
    """A queue in front of equal servers, first come, first served (M/M/c).

    Requests arrive independently of each other, `arrivals` per second, and occupy a server for
    `service_s` on average, by an exponential distribution: Erlang's C formula is then exact. See
    https://en.wikipedia.org/wiki/M/M/c_queue.
    """

    arrivals: float
    service_s: float
    servers: int = 1

    def __post_init__(self) -> None:
        """Refuse a queue that grows without a bound."""
        if self.use >= 1:
            raise ValueError(f'{self.servers} servers cannot carry {self.load:.2f} Erlang')

    @property
    def load(self) -> float:
        """The mean number of busy servers, in Erlang."""
        return self.arrivals * self.service_s

    @property
    def use(self) -> float:
        """The share of time for which a server is busy."""
        return self.load / self.servers

    @property
    def delayed(self) -> float:
        """The share of requests that wait: Erlang's C formula, by the recursion of his B formula.

        The recursion does not overflow for thousands of servers, unlike the factorials.
        """
        blocked = 1.0
        for server in range(1, self.servers + 1):
            blocked = self.load * blocked / (server + self.load * blocked)
        return blocked / (1 - self.use * (1 - blocked))

    @property
    def wait_s(self) -> float:
        """The mean time in the queue, over all requests."""
        return self.delayed * self.service_s / (self.servers * (1 - self.use))

    @property
    def waiting(self) -> float:
        """The mean number of requests in the queue, without those at a server: Little's law."""
        return self.arrivals * self.wait_s

    def longest_wait_s(self, share: float) -> float:
        """Return the wait that this share of the requests does not exceed, e.g. 0.95."""
        if self.delayed <= 1 - share:
            return 0.0
        return self.wait_s / self.delayed * math.log(self.delayed / (1 - share))


@dataclass(frozen=True)
class Cost:
    """The cost of a check.

    CPU time of a worker process and of all three nodes of the broker, the time for which the leader
    of the queue runs, and what each node writes to its disk.
    """

    worker_ms: float
    broker_ms: float
    leader_ms: float
    written_kib: float


# Nodes of a cluster -> the cost of its checks, on the machine that the page describes.
MEASURED: Mapping[int, Cost] = {3: Cost(2.2, 2.5, 0.24, 14), 200: Cost(3.0, 3.9, 0.44, 108)}


def queue(checks_per_s: float, cost: Cost) -> Queue:
    """Return the queue in front of enough worker processes, for clusters of any size (M/M/c)."""
    worker_s = cost.worker_ms / 1000
    return Queue(checks_per_s, worker_s, _needed(checks_per_s * worker_s))


def row(clusters: int, per_hour: int, cost: Cost) -> Row:
    """Return what a number of clusters needs."""
    checks_per_s = clusters * per_hour / 3600
    expected = queue(checks_per_s, cost)
    return {
        **_load(clusters, per_hour),
        'processes': expected.servers,
        'waiting': f'{expected.waiting:.2f}',
        'p95 ms': f'{expected.longest_wait_s(0.95) * 1000:.1f}',
        'cores': _needed(checks_per_s * cost.broker_ms / 1000),
        'MB/s': f'{checks_per_s * cost.written_kib * 1024 / 1e6:.1f}',
    }


def waiting_row(clusters: int, per_hour: int) -> Row:
    """Return the processes for checks that wait for a cloud, each on a thread."""
    busy = clusters * per_hour / 3600 * CLOUD_S
    expected = Queue(busy / CLOUD_S, CLOUD_S, _needed(busy / THREADS) * THREADS)
    return {
        **_load(clusters, per_hour),
        'busy threads': f'{busy:.1f}',
        'processes': expected.servers // THREADS,
        'waiting': f'{expected.waiting:.2f}',
        'p95 ms': f'{expected.longest_wait_s(0.95) * 1000:.1f}',
    }


def _load(clusters: int, per_hour: int) -> Row:
    checks_per_s = clusters * per_hour / 3600
    return {
        'clusters': f'{clusters:,}',
        'per h': per_hour,
        'per s': f'{checks_per_s:.0f}' if checks_per_s >= 10 else f'{checks_per_s:.1f}',
    }


def _needed(busy: float) -> int:
    """Return how many of something are busy for `USE` of the time at most."""
    return math.ceil(round(busy / USE, 9))  # 5.000000000000001 is 5


def tables(costs: Mapping[int, Cost]) -> list[Table]:
    """Return the costs, a table per size of the clusters, and one for waits."""
    loads = list(itertools.product(CLUSTERS, PER_HOUR))
    return [
        Table('Cost of a check', [_cost_row(nodes, cost) for nodes, cost in costs.items()]),
        *(
            Table(f'Clusters of {nodes} nodes', [row(*load, cost) for load in loads])
            for nodes, cost in costs.items()
        ),
        Table(f'Waits of {CLOUD_S} s per check', [waiting_row(*load) for load in loads]),
    ]


def _cost_row(nodes: int, cost: Cost) -> Row:
    return {
        'nodes': nodes,
        'worker ms': f'{cost.worker_ms:.1f}',
        'broker ms': f'{cost.broker_ms:.1f}',
        'leader ms': f'{cost.leader_ms:.2f}',
        'KiB': f'{cost.written_kib:.0f}',
        'per process': math.floor(USE * 1000 / cost.worker_ms),
        'per queue': math.floor(USE * 1000 / cost.leader_ms),
    }


if __name__ == '__main__':
    print(*tables(MEASURED), sep='\n')
