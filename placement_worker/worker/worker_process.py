"""One process of the worker, as a service of cotyledon."""

import os
import threading
import time
from typing import TYPE_CHECKING

import cotyledon
from oslo_config import cfg

from placement_worker.health import periodic
from placement_worker.health.heartbeats import PUBLISH_S, HeartbeatTable
from placement_worker.worker import guru_meditation
from placement_worker.worker.reload import reload
from placement_worker.worker.server_factory import ServerFactory
from placement_worker.worker.startup import PROGRAM

if TYPE_CHECKING:
    from cotyledon.types import WorkerId  # cotyledon 2.0 has no types


class WorkerProcess(cotyledon.Service):
    """The servers of a process, from its fork to its end."""

    name = PROGRAM

    def __init__(
        self,
        worker_id: 'WorkerId',
        conf: cfg.ConfigOpts,
        factory: ServerFactory,
        heartbeats: HeartbeatTable,
    ) -> None:
        """Create the servers after the fork: processes cannot share connections."""
        super().__init__(worker_id)
        self._conf = conf
        self._heartbeats = heartbeats
        heartbeats.start_process(worker_id, os.getpid())
        self._stopping = threading.Event()
        self._servers = factory.create(worker_id, self._stopping)

    def run(self) -> None:
        """Start the servers, which have threads of their own; wait for an unreachable broker."""
        guru_meditation.Report.register_section(
            'Requests in flight', self._servers.requests_in_flight
        )
        periodic.repeat(self._observe_requests, PUBLISH_S)
        self._servers.start()

    def reload(self) -> None:
        """Reload the mutable options.

        By default cotyledon restarts the process, and oslo_config_glue does not change that.
        """
        reload(self._conf, logs_changes=False)

    def terminate(self) -> None:
        """Take no more requests, return waiting ones to the broker, and finish the others."""
        self._stopping.set()
        self._servers.stop()
        # Without this the last heartbeat would show a finished request in flight.
        self._publish_heartbeat()

    def _observe_requests(self) -> None:
        self._publish_heartbeat()
        self._servers.log_long_requests()

    def _publish_heartbeat(self) -> None:
        self._heartbeats.publish(self.worker_id, self._servers.heartbeats(), time.monotonic())
