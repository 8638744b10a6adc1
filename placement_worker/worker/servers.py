"""The RPC servers of one process."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from placement_worker import late_ack
from placement_worker.health.heartbeats import Heartbeat

CLOSE_S = 2
"""The longest wait for the transports to close; one without its broker would wait for it."""


class Server(NamedTuple):
    """An RPC server of oslo.messaging and the size of its thread pool.

    `long_s`: the time in flight from which on the log names a request.
    """

    rpc_server: Any
    threads: int
    long_s: float

    def stop(self) -> None:
        """Stop after the requests in flight.

        A server without a listener has not reached its broker yet. It has no requests, and its
        `stop` would wait for the broker.
        """
        if self.rpc_server.listener is not None:
            self.rpc_server.stop()
            self.rpc_server.wait()


class Closeable(Protocol):
    """An object that sends replies or notifications on connections of its own."""

    def close(self) -> None:
        """Close the connections."""


class Servers:
    """The servers of a process, with their connections to the broker."""

    def __init__(
        self, servers: Sequence[Server], transports: Sequence[Any], senders: Sequence[Closeable]
    ) -> None:
        self._servers = servers
        self._transports = transports
        self._senders = senders

    def start(self) -> None:
        """Start every server; each one waits for an unreachable broker."""
        for server in self._servers:
            server.rpc_server.start(override_pool_size=server.threads)

    def stop(self) -> None:
        """Stop all servers at the same time, and close their connections."""
        with ThreadPoolExecutor(len(self._servers)) as executor:
            list(executor.map(Server.stop, self._servers))
        for sender in self._senders:
            sender.close()
        _close(self._transports)

    def heartbeats(self) -> list[Heartbeat | None]:
        """Return one heartbeat per server; None for a server without a listener."""
        found = [late_ack.heartbeat(server.rpc_server) for server in self._servers]
        return [heartbeat and Heartbeat(*heartbeat) for heartbeat in found]

    def log_long_requests(self) -> None:
        """Log each request that has been in flight for long, once per request."""
        for server in self._servers:
            requests = late_ack.requests_in_flight(server.rpc_server)
            if requests:
                requests.log_longer_than(server.long_s)

    def requests_in_flight(self) -> str:
        """Return a line per request in flight."""
        of_servers = [late_ack.requests_in_flight(one.rpc_server) for one in self._servers]
        lines = [line for requests in of_servers if requests for line in requests.described()]
        return '\n'.join(lines) or 'none'


def _close(transports: Sequence[Any]) -> None:
    """Close the transports at the same time, within `CLOSE_S`."""
    threads = [threading.Thread(target=one.cleanup, daemon=True) for one in transports]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + CLOSE_S
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
