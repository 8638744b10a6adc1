"""A model of waiting requests: a queue with one or more equal servers.

Requests arrive independently of each other (a Poisson process), and the first one in the queue is
the first to be served. For exponential service times this is the M/M/c queue, which Erlang's C
formula solves exactly. For others, the approximation of Allen and Cunneen multiplies the mean wait
of M/M/c by (1 + variation²) / 2; with one server it is the exact formula of Pollaczek and
Khinchine. See https://en.wikipedia.org/wiki/M/G/k_queue and Allen, "Probability, Statistics, and
Queueing Theory" (1990), section 5.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Queue:
    """A queue: arrivals per second, and the mean time for which a request occupies a server.

    `variation` is the standard deviation of the service times divided by their mean: 1 for M/M/c, 0
    for service times that are all equal.
    """

    arrivals: float
    service_s: float
    servers: int = 1
    variation: float = 1.0

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
        exponential = self.delayed * self.service_s / (self.servers * (1 - self.use))
        return exponential * (1 + self.variation**2) / 2

    @property
    def waiting(self) -> float:
        """The mean number of requests in the queue, without those at a server: Little's law."""
        return self.arrivals * self.wait_s

    def longest_wait_s(self, share: float) -> float:
        """Return the wait that this share of the requests does not exceed, e.g. 0.95.

        Assume that the waits of those that wait at all are exponential: exact for M/M/c.
        """
        if self.delayed <= 1 - share:
            return 0.0
        return self.wait_s / self.delayed * math.log(self.delayed / (1 - share))


def waits(arrivals: Iterable[float], services: Iterable[float], servers: int = 1) -> list[float]:
    """Simulate a queue; return the wait of each request.

    :param arrivals: the times of the arrivals, in order.
    :param services: how long each request occupies a server.
    """
    free_at = [0.0] * servers
    found = []
    for arrived, service in zip(arrivals, services, strict=False):
        begun = max(arrived, free_at[0])
        heapq.heapreplace(free_at, begun + service)
        found.append(begun - arrived)
    return found
