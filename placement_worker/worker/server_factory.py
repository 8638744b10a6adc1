"""The servers of a process and the objects that they use."""

import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from placement_worker.client.transport import (
    connect,
    control_exchange,
    open_connection,
    transport_url,
)
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.cloud.intercepted.timing import Timing
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract.rpc import Limits
from placement_worker.cordons.live_cordons import LiveCordons
from placement_worker.events.listener import Listener, Listeners
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import Recorder
from placement_worker.late_ack import OutageLog, parking
from placement_worker.late_ack.poison import PoisonMessages
from placement_worker.messaging import notifications, rpc_server, topology
from placement_worker.messaging.reply_sender import ReplyCasts, ReplySender
from placement_worker.policies.registry import Registry
from placement_worker.worker import queues
from placement_worker.worker.queues import Queue
from placement_worker.worker.servers import Server, Servers

if TYPE_CHECKING:
    # Importing it loads prometheus_client, which a worker without metrics does not need.
    from placement_worker.metrics.multiprocess import Exporter


@dataclass(frozen=True)
class ServerFactory:
    """Creates the servers of a process from the objects that the parent shares."""

    conf: cfg.ConfigOpts
    clouds: Clouds
    registry: Registry
    recorder: Recorder | None
    exporter: 'Exporter | None'
    cordons: LiveCordons | None = None

    def create(self, process_number: int, stopping: threading.Event) -> Servers:
        """Return the servers of a process, which are not started.

        :param stopping: set when the process stops; it ends every wait.
        """
        consumed = queues.consumed(self.conf)
        topics = [queue.topic for queue in consumed]
        metrics = self.exporter.begin(process_number, topics) if self.exporter else None
        notifier = notifications.create(self.conf, metrics)
        events = Listeners(*[listener for listener in (metrics, notifier) if listener])
        replies = _replies(self.conf, stopping)
        endpoints = self._endpoints(events, ReplyCasts(replies))
        builder = _ServerBuilder(
            self.conf, endpoints, events, replies, OutageLog(), threading.Lock()
        )
        transports = [_connect(self.conf, queue.threads) for queue in consumed]
        servers = [builder.build(*pair) for pair in zip(transports, consumed, strict=True)]
        senders = (replies, notifier) if notifier else (replies,)
        return Servers(servers, transports, senders)

    def _endpoints(self, events: Listeners, delivery: ReplyCasts) -> Endpoints:
        worker = self.conf.worker
        return Endpoints(
            InterceptedClouds(self.clouds, Timing(events)) if events else self.clouds,
            self.registry,
            events,
            delivery,
            recorder=self.recorder,
            destinations=_destinations(self.conf),
            limits=lambda: Limits(
                nodes_per_cluster=worker.max_nodes_per_cluster,
                request_bytes=worker.max_request_bytes,
            ),
            octavia_settings=lambda: _octavia_settings(self.conf.load_balancer, events),
            cordons=self.cordons.in_force if self.cordons else None,
            host=worker.host,
        )


@dataclass(frozen=True)
class _ServerBuilder:
    """Builds one server per queue from the objects that the servers of a process share."""

    conf: cfg.ConfigOpts
    endpoints: Endpoints
    events: Listener
    replies: ReplySender
    outages: OutageLog
    move_lock: AbstractContextManager[Any]

    def build(self, transport: Any, queue: Queue) -> Server:
        created = rpc_server.create(
            self.conf, transport, queue.topic, self.endpoints, self._server_class(queue)
        )
        return Server(created, queue.threads, queue.long_s)

    def _server_class(self, queue: Queue) -> Callable[..., Any]:
        poison = PoisonMessages(
            queue.delivery_limit,
            self._move,
            rpc_server.parked_error,
            self.move_lock,
            functools.partial(rpc_server.report_parked, self.endpoints),
        )
        return rpc_server.late_ack_server(self.events, self.replies, poison, outages=self.outages)

    def _move(self, message: Any, limit: parking.DeliveryLimit) -> None:
        """Move a message to the queue of a limit, on a connection with timeouts for every step."""
        target = transport_url(self.conf)
        with open_connection(self.conf, target) as connection:
            # The queue may have been deleted since the worker started.
            topology.declare_queue(self.conf, target, connection, limit.queue)
            parking.move(connection, message, limit)


def _connect(conf: cfg.ConfigOpts, threads: int) -> Any:
    """Return a transport that prefetches one request per thread."""
    return connect(conf, transport_url(conf, rabbit_qos_prefetch_count=threads))


def _replies(conf: cfg.ConfigOpts, stopping: threading.Event) -> ReplySender:
    """Return the sender of replies, which opens connections of its own."""
    worker = conf.worker
    # A request whose reply waits for the broker must not reach the age at which the worker counts
    # as not alive.
    spare_s = worker.liveness_request_age_s - worker.engine_timeout_s
    return ReplySender(
        functools.partial(open_connection, conf, transport_url(conf)),
        stopping,
        slots=max(1, worker.threads // 2),
        timeout_s=worker.reply_timeout_s,
        away_s=min(worker.engine_timeout_s, spare_s),
    )


def _destinations(conf: cfg.ConfigOpts) -> Destinations:
    """Return the destinations that replies to casts may have."""
    return Destinations(
        conf.worker.reply_to_allowed,
        exchange=control_exchange(conf),
        queues=[queues.isolation_queue(conf), queues.parking_lot(conf)],
        notification_topics=conf.oslo_messaging_notifications.topics,
    )


def _octavia_settings(options: Any, events: Listener) -> OctaviaSettings:
    return OctaviaSettings(
        batch_members=options.batch_members,
        poll_initial_s=options.poll_initial_s,
        poll_max_s=options.poll_max_s,
        max_attempts=options.max_attempts,
        events=events,
    )
