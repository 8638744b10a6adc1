"""One process of the worker, from its fork to its end, and the RPC servers that it runs.

A process that stops finishes its requests in flight and returns waiting ones to the broker. An
unreachable broker must not keep it from stopping.
"""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import cotyledon
from oslo_config import cfg

from placement_worker.health import watchdog
from placement_worker.health.watchdog import PUBLISH_S, HeartbeatTable, ServerTimes
from placement_worker.late_ack import server as late_ack
from placement_worker.worker import guru_meditation
from placement_worker.worker.reload import reload
from placement_worker.worker.startup import PROGRAM

if TYPE_CHECKING:
    from cotyledon.types import WorkerId  # cotyledon 2.0 has no types


# The longest wait for the transports to close; one without its broker would wait for it.
CLOSE_S = 2
# Blocked from the fork of a process until it has handlers of its own: cotyledon 2.2 loses a signal
# that comes before, and a stop would wait for that process without an end.
HELD_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Server(NamedTuple):
    """`long_s`: the time in flight from which on the log names a request."""

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
    def close(self) -> None: ...


class Servers:
    def __init__(
        self, servers: Sequence[Server], transports: Sequence[Any], senders: Sequence[Closeable]
    ) -> None:
        self._servers = servers
        self._transports = transports
        self._senders = senders

    def start(self) -> None:
        for server in self._servers:
            server.rpc_server.start(override_pool_size=server.threads)

    def stop(self) -> None:
        """Stop all servers at the same time, and close their connections."""
        with ThreadPoolExecutor(len(self._servers)) as executor:
            list(executor.map(Server.stop, self._servers))
        for sender in self._senders:
            sender.close()
        threads = [threading.Thread(target=it.cleanup, daemon=True) for it in self._transports]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + CLOSE_S
        for thread in threads:
            thread.join(max(0, deadline - time.monotonic()))

    def heartbeats(self) -> list[ServerTimes | None]:
        return [late_ack.heartbeat(server.rpc_server) for server in self._servers]

    def log_long_requests(self) -> None:
        """Log each request that has been in flight for long, once per request."""
        for server in self._servers:
            listener = late_ack.listener_of(server.rpc_server)
            if listener:
                listener.in_flight.log_longer_than(server.long_s)

    def requests_in_flight(self) -> str:
        listeners = [late_ack.listener_of(server.rpc_server) for server in self._servers]
        in_flight = [listener.in_flight.described() for listener in listeners if listener]
        return '\n'.join(itertools.chain(*in_flight)) or 'none'


class WorkerProcess(cotyledon.Service):
    name = PROGRAM

    def __init__(
        self,
        worker_id: 'WorkerId',
        conf: cfg.ConfigOpts,
        create_servers: 'Callable[[WorkerId, threading.Event], Servers]',
        heartbeats: HeartbeatTable,
    ) -> None:
        """Create the servers after the fork: processes cannot share connections."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)
        super().__init__(worker_id)
        self._conf = conf
        self._heartbeats = heartbeats
        heartbeats.start_process(worker_id, os.getpid())
        self._stopping = threading.Event()
        self._servers = create_servers(worker_id, self._stopping)

    def run(self) -> None:
        """Start the servers, which have threads of their own; wait for an unreachable broker."""
        guru_meditation.Report.register_section(
            'Requests in flight', self._servers.requests_in_flight
        )
        watchdog.repeat_in_thread(self._observe_requests, PUBLISH_S)
        self._servers.start()

    def reload(self) -> None:
        """Reload the mutable options.

        By default cotyledon restarts the process, and oslo_config_glue does not change that.
        """
        reload(self._conf, logs_changes=False)

    def terminate(self) -> None:
        self._stopping.set()
        self._servers.stop()
        # Without this the last heartbeat would show a finished request in flight.
        self._publish_heartbeat()

    def _observe_requests(self) -> None:
        self._publish_heartbeat()
        self._servers.log_long_requests()

    def _publish_heartbeat(self) -> None:
        self._heartbeats.publish(self.worker_id, self._servers.heartbeats(), time.monotonic())
