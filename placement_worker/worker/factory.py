"""Every object of the worker, built from the configuration.

Other packages take values, not options: their tests need no configuration, and an option has one
reader. The parent builds what its processes share, such as the cloud; each process builds its
servers after the fork, since processes cannot share connections.
"""

import functools
import glob
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import oslo_messaging
import tenacity
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.transport import (
    CONNECT_TIMEOUT_S,
    connect,
    control_exchange,
    load_transport_url,
    open_connection,
    shuffled,
    transport_url,
)
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds, Timing
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract.model import Package
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX, Limits
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.cordons.live_cordons import LiveCordons
from placement_worker.decisions.records import DecisionLog, LogFile
from placement_worker.errors import ConfigurationError, InvalidInventory, file_error
from placement_worker.events.types import Listeners
from placement_worker.handlers.decision_state import Recorder
from placement_worker.handlers.reply_delivery import Destinations
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.health.watchdog import (
    HeartbeatTable,
    LivenessFile,
    Systemd,
    Thresholds,
    Watchdog,
)
from placement_worker.late_ack import parking
from placement_worker.late_ack.parking import DeathLimit
from placement_worker.late_ack.poison import PoisonMessages
from placement_worker.messaging import notifications, rpc_server, topology
from placement_worker.messaging.reply_sender import ReplySender
from placement_worker.policies.registry import Registry
from placement_worker.worker.crash_table import CrashTable
from placement_worker.worker.servers import Server, Servers

if TYPE_CHECKING:
    from placement_worker.metrics.prometheus import Exporter

BROKER_WAIT_MAX_S = 10
LONG_S = 60  # the timeout of a client for a request that waits for no load balancer
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue that each process of the worker consumes, with its number of threads per process.

    `long_s`: the time in flight from which on the log names a request.
    """

    topic: str
    threads: int
    death_limit: DeathLimit
    long_s: float


def isolation_queue(conf: cfg.ConfigOpts) -> str:
    return str(conf.worker.topic) + ISOLATION_SUFFIX


def parking_lot(conf: cfg.ConfigOpts) -> str:
    return str(conf.worker.topic) + PARKING_SUFFIX


def consumed_queues(conf: cfg.ConfigOpts) -> list[Queue]:
    worker = conf.worker
    isolating = DeathLimit(worker.max_deliveries, isolation_queue(conf), parks=False)
    parking = DeathLimit(1, parking_lot(conf), parks=True)
    return [
        Queue(worker.topic, worker.threads, isolating, min(LONG_S, worker.engine_timeout_s)),
        Queue(worker.slow_topic, worker.slow_threads, isolating, worker.engine_timeout_s),
        Queue(isolation_queue(conf), 1, parking, worker.engine_timeout_s),
    ]


def queue_names(conf: cfg.ConfigOpts) -> list[str]:
    topics = [queue.topic for queue in consumed_queues(conf)]
    return [
        *(f'{topic}{suffix}' for topic in topics for suffix in ('', f'.{conf.worker.host}')),
        parking_lot(conf),
    ]


def declare_queues(conf: cfg.ConfigOpts) -> None:
    """Declare the queues; wait for a broker that cannot be reached yet.

    :raises QueueMismatch: a queue exists with other arguments; the text has the command that
        repairs it.
    """
    target = load_transport_url(conf)
    retry = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors.BrokerUnreachable),
        wait=tenacity.wait_exponential(max=BROKER_WAIT_MAX_S),
        before_sleep=_log_retry,
    )
    consumers = retry(topology.declare, conf, target, queue_names(conf), parking_lot(conf))
    own_queue = f'{conf.worker.topic}.{conf.worker.host}'
    # No process of this worker consumes yet, so a consumer belongs to another worker.
    if consumers.get(own_queue):
        LOG.warning(
            'Queue %s already has a consumer; set a unique [worker] host on each worker', own_queue
        )


def _log_retry(state: tenacity.RetryCallState) -> None:
    if state.outcome and state.next_action:
        LOG.warning('%s; trying again in %g s', state.outcome.exception(), state.next_action.sleep)


@dataclass(frozen=True)
class ServerFactory:
    conf: cfg.ConfigOpts
    clouds: Clouds
    registry: Registry
    recorder: Recorder | None
    exporter: 'Exporter | None'
    cordons: LiveCordons | None = None

    @functools.cached_property
    def crashes(self) -> CrashTable:
        # The parent uses it before it forks the processes that share it.
        threads = sum(queue.threads for queue in consumed_queues(self.conf))
        return CrashTable(self.conf.worker.workers, threads)

    def create(self, process_number: int, stopping: threading.Event) -> Servers:
        """Return the servers of a process, which are not started.

        :param stopping: set when the process stops; it ends the waits for the broker and the cloud.
        """
        queues = consumed_queues(self.conf)
        topics = [queue.topic for queue in queues]
        metrics = self.exporter.begin(process_number, topics) if self.exporter else None
        host = self.conf.worker.host
        notifier = notifications.create(self.conf, host, metrics)
        events = Listeners(*[listener for listener in (metrics, notifier) if listener])
        replies = self._reply_sender(stopping)
        clouds = InterceptedClouds(self.clouds, Timing(events)) if events else self.clouds
        settings = self._settings(events, replies)
        endpoints = Endpoints(clouds, self.registry, settings)
        self.crashes.start_process(process_number)

        def server(transport: Any, queue: Queue) -> Server:
            poison = PoisonMessages(
                queue.death_limit,
                self._move,
                rpc_server.parked_error,
                self.crashes,
                functools.partial(rpc_server.report_parked, endpoints),
            )
            target = oslo_messaging.Target(
                exchange=control_exchange(self.conf), topic=queue.topic, server=host
            )
            server_class = rpc_server.late_ack_server(events, replies, poison)
            created = rpc_server.create(transport, target, endpoints, server_class)
            return Server(created, queue.threads, queue.long_s)

        transports = [  # each prefetches one request per thread
            connect(self.conf, transport_url(self.conf, rabbit_qos_prefetch_count=queue.threads))
            for queue in queues
        ]
        servers = [server(*pair) for pair in zip(transports, queues, strict=True)]
        return Servers(servers, transports, (replies, notifier) if notifier else (replies,))

    def _reply_sender(self, stopping: threading.Event) -> ReplySender:
        worker = self.conf.worker
        # A request whose reply waits for the broker must not reach the age at which the worker
        # counts as not alive.
        spare_s = worker.liveness_request_age_s - worker.engine_timeout_s
        url = transport_url(self.conf)
        return ReplySender(
            # One attempt per host, so that a dead one delays no reply for long.
            lambda **options: open_connection(
                self.conf, shuffled(url), left_s=CONNECT_TIMEOUT_S, **options
            ),
            stopping,
            timeout_s=worker.reply_timeout_s,
            away_s=min(worker.engine_timeout_s, spare_s),
        )

    def _settings(self, events: Listeners, delivery: ReplySender) -> WorkerSettings:
        conf, worker, octavia = self.conf, self.conf.worker, self.conf.load_balancer
        return WorkerSettings(
            events,
            delivery,
            self.recorder,
            Destinations(
                worker.reply_to_allowed,
                exchange=control_exchange(conf),
                queues=[isolation_queue(conf), parking_lot(conf)],
                notification_topics=conf.oslo_messaging_notifications.topics,
            ),
            limits=lambda: Limits(
                nodes_per_cluster=worker.max_nodes_per_cluster,
                request_bytes=worker.max_request_bytes,
            ),
            octavia_settings=lambda: OctaviaSettings(
                batch_members=octavia.batch_members,
                poll_initial_s=octavia.poll_initial_s,
                poll_max_s=octavia.poll_max_s,
                max_attempts=octavia.max_attempts,
                events=events,
            ),
            cordons=self.cordons.in_force if self.cordons else None,
            host=worker.host,
        )

    def _move(self, message: Any, limit: DeathLimit) -> str | None:
        """Move a message to the queue of a limit, on a connection with timeouts for every step."""
        target = transport_url(self.conf)
        with open_connection(self.conf, target) as connection:
            # The queue may have been deleted since the worker started. It is not bound here:
            # RabbitMQ 4.3 would close the connection on a node without a majority.
            queues = topology.Topology(self.conf, target, connection, parking_lot(self.conf))
            queues.declare_queue(limit.queue)
            return parking.move(connection, message, limit)


def create_clouds(conf: cfg.ConfigOpts, state_file: str | None = None) -> Clouds:
    """Return the cloud of `[cloud] backend`; no service is called yet.

    :param state_file: keeps the load balancers of an embedded cloud whose description names no
        file, so that all processes share them.
    :raises ConfigurationError: an option is missing or has an invalid value.
    """
    if conf.cloud.backend == 'openstack':
        # Only this backend needs the libraries of OpenStack.
        from placement_worker.worker import openstack_factory  # noqa: PLC0415

        return openstack_factory.create(conf)
    path = conf.cloud.inventory_file
    if not path:
        raise ConfigurationError(
            '[cloud] backend = inventory needs inventory_file, the description of a cloud'
        )
    try:
        inventory = Inventory.load(path)
    except InvalidInventory as exc:
        is_missing = isinstance(exc.__cause__, FileNotFoundError)
        remedy = '; create it, or correct the path' if is_missing else ''
        raise ConfigurationError(f'[cloud] inventory_file: {exc}{remedy}') from exc
    return inventory.with_state_in(state_file) if state_file else inventory


def create_cordons(conf: cfg.ConfigOpts) -> LiveCordons | None:
    """Return the cordons of `[placement] cordon_file`, or None without a file.

    :raises ConfigurationError: the file cannot be read, or its content is not valid.
    """
    path = conf.placement.cordon_file
    try:
        return LiveCordons(path, is_shared=True) if path else None
    except InvalidCordonFile as exc:
        raise ConfigurationError(f'[placement] cordon_file: {exc}') from exc


def create_recorder(
    conf: cfg.ConfigOpts, packages: Mapping[str, Package] | None = None
) -> Recorder | None:
    """Return the decision log of `[decision_log] file`, or None without a file.

    :raises ConfigurationError: the file cannot be written.
    """
    path = conf.decision_log.file
    try:
        return DecisionLog(LogFile(path).append, conf.worker.host, packages or {}) if path else None
    except OSError as exc:
        remedy = (
            'name a file in that folder'
            if isinstance(exc, IsADirectoryError)
            else 'create its folder and let the user of the worker write to it'
        )
        raise ConfigurationError(
            f'Cannot write [decision_log] file: {file_error(exc)}; {remedy}'
        ) from exc


def create_exporter(conf: cfg.ConfigOpts, cordons: LiveCordons | None) -> 'Exporter | None':
    """Return the exporter of the processes that will be forked, or None without `[metrics] port`.

    prometheus_client reads `PROMETHEUS_MULTIPROC_DIR` when it is imported, so the folder of the
    processes is chosen first. A worker without metrics does not import it.

    :raises ConfigurationError: the folder, or address and port, cannot be used.
    """
    options = conf.metrics
    if options.port is None:
        return None
    is_temporary = options.folder is None
    folder = (
        tempfile.mkdtemp(prefix='placement-worker-metrics-') if is_temporary else options.folder
    )
    if not is_temporary:
        _delete_metrics(folder)

    def remove_temporary() -> None:
        if is_temporary:
            shutil.rmtree(folder, ignore_errors=True)

    os.environ['PROMETHEUS_MULTIPROC_DIR'] = folder
    from placement_worker.metrics.prometheus import Exporter  # noqa: PLC0415  # see above

    try:
        return Exporter(options.port, options.address, folder, remove_temporary, cordons)
    except BaseException:
        remove_temporary()
        raise


def _delete_metrics(folder: str) -> None:
    """Delete the files of an earlier worker; create the folder if it is missing."""
    try:
        os.makedirs(folder, exist_ok=True)
        for path in glob.glob(os.path.join(glob.escape(folder), '*.db')):
            os.unlink(path)
    except OSError as exc:
        raise ConfigurationError(
            f'Cannot use [metrics] folder: {file_error(exc)}; let the user of the worker write to '
            'it, or to its parent folder'
        ) from exc


def create_watchdog(
    conf: cfg.ConfigOpts, heartbeats: HeartbeatTable, environment: MutableMapping[str, str]
) -> Watchdog:
    """Return the watchdog of the processes, before it is started.

    :param environment: has the address of systemd, which is removed from it.
    """
    worker = conf.worker
    thresholds = Thresholds(
        poll_age_s=worker.liveness_poll_age_s,
        request_age_s=worker.liveness_request_age_s,
        reconnect_age_s=worker.liveness_reconnect_age_s,
        disconnected_s=worker.readiness_disconnected_s,
    )
    systemd = Systemd.from_environment(environment)
    return Watchdog(heartbeats, thresholds, systemd, LivenessFile(worker.liveness_file))
