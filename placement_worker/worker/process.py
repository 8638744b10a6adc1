"""The daemon: read the configuration, build the worker, fork the processes, let each serve."""

import functools
import logging
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from importlib import metadata
from typing import TYPE_CHECKING, Any

import cotyledon
import tenacity
from cotyledon import oslo_config_glue
from cotyledon.types import WorkerId
from oslo_config import cfg
from oslo_log import log

from placement_worker import config, errors
from placement_worker.client.connection import (
    connect,
    control_exchange,
    load_transport_url,
    open_connection,
    transport_url,
)
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted import interceptor
from placement_worker.cloud.intercepted.timing import Timing
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.config import unknown_options
from placement_worker.contract.limits import Limits
from placement_worker.contract.topics import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.decisions.log_file import LogFile
from placement_worker.decisions.records import DecisionLog, Forgetful, Recorder
from placement_worker.events.listener import Listener, Listeners
from placement_worker.formats.escaping import escaped
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.health import heartbeats, periodic
from placement_worker.health.heartbeats import HeartbeatTable
from placement_worker.health.liveness_file import LivenessFile
from placement_worker.health.systemd import Systemd
from placement_worker.health.watchdog import Thresholds, Watchdog
from placement_worker.messaging import (
    late_ack,
    parking,
    publisher,
    server,
    size_limit,
    topology,
    tracing,
)
from placement_worker.messaging.delivery import CastDelivery
from placement_worker.messaging.late_ack import LateAckServer
from placement_worker.messaging.replies import Replies
from placement_worker.messaging.sender import Sender
from placement_worker.metrics import setup
from placement_worker.policies.registry import Registry
from placement_worker.worker import garbage_collection, guru_meditation, log_lines

if TYPE_CHECKING:
    from placement_worker.metrics.multiprocess import Exporter

PROGRAM = 'placement-worker'
BROKER_WAIT_MAX_S = 10
CLOSE_S = 2
QUIET = ('amqp=ERROR', 'stevedore=CRITICAL')
"""Loggers that warn of what is no fault, or of what we tell ourselves."""
FAULTS = (cfg.Error, errors.PlacementWorkerError, OSError, UnicodeDecodeError)
"""What a configuration that cannot work raises."""
LOG = logging.getLogger(__name__)


class Worker(cotyledon.Service):
    """One process: two topics, each with threads of its own."""

    name = PROGRAM

    def __init__(
        self,
        worker_id: WorkerId,
        conf: cfg.ConfigOpts,
        clouds: Clouds,
        registry: Registry,
        recorder: Recorder,
        heartbeat_table: HeartbeatTable,
        exporter: 'Exporter | None',
    ) -> None:
        """Connect after the fork: connections cannot be shared between processes."""
        super().__init__(worker_id)
        self._conf = conf
        self._heartbeats = heartbeat_table
        heartbeat_table.start_process(worker_id, os.getpid())
        queues = server.queues(conf)
        metrics = exporter and exporter.begin(worker_id, [queue.topic for queue in queues])
        self._publisher = publisher.create(conf)
        events = Listeners(*[one for one in (metrics, self._publisher) if one])
        self._transports = [_connect(conf, queue.threads) for queue in queues]
        self._stopping = threading.Event()
        self._replies = replies = _replies(conf, self._stopping)
        endpoints = Endpoints(
            interceptor.Clouds(clouds, Timing(events)) if events else clouds,
            registry,
            events,
            CastDelivery(replies),
            recorder=recorder,
            destinations=_destinations(conf),
            limits=lambda: Limits(conf.worker.max_nodes_per_cluster, conf.worker.max_request_bytes),
            octavia_settings=lambda: _octavia_settings(conf.load_balancer, events),
        )
        aside = threading.Lock()
        self._servers = [
            (
                server.create(
                    conf,
                    connection,
                    queue.topic,
                    endpoints,
                    _server_class(conf, queue, events, aside, endpoints, replies),
                ),
                queue.threads,
            )
            for connection, queue in zip(self._transports, queues, strict=True)
        ]

    def run(self) -> None:
        """Begin to serve; the threads are the servers' own. A server waits here for a broker that
        is away.
        """
        periodic.repeat(self._publish, heartbeats.PUBLISH_S)
        for one, threads in self._servers:
            one.start(override_pool_size=threads)

    def reload(self) -> None:
        """Read the options again that may change while it runs.

        cotyledon's own way is to end the process and start another one, and its oslo_config_glue
        leaves that so.
        """
        read_again(self._conf)

    def terminate(self) -> None:
        """Take no more requests, give back those that wait, and answer those in work."""
        self._stopping.set()
        with ThreadPoolExecutor(len(self._servers)) as stopping:
            list(stopping.map(_stop, [one for one, _ in self._servers]))
        self._replies.close()
        if self._publisher:
            self._publisher.close()
        _close(self._transports)
        # or what was in work at the last turn would grow old in a process that has ended
        self._publish()

    def _publish(self) -> None:
        """Let the parent know how the servers are."""
        self._heartbeats.publish(
            self.worker_id, [late_ack.heartbeat(one) for one, _ in self._servers], time.monotonic()
        )


def read_again(conf: cfg.ConfigOpts) -> None:
    """Take over the options that may change; files that a worker would not start with change
    nothing.
    """
    try:
        config.validate_files(conf)
    except FAULTS as exc:
        LOG.error('The configuration stays as it was: %s', told(exc))
        return
    try:
        conf.mutate_config_files()
    except Exception as exc:  # whatever the file that log_config_append names leads to
        LOG.error('The options are read again, but not those of the log: %s', exc)
    else:
        LOG.info('The options that may change are read again')
    finally:
        log_lines.guard()  # the file that log_config_append names may have made handlers


class _Reloading:
    """A configuration as cotyledon's glue takes it, to be read again as `read_again` does."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)

    def mutate_config_files(self) -> None:
        """In the parent."""
        read_again(self._conf)


def _octavia_settings(options: Any, events: Listener) -> OctaviaSettings:
    return OctaviaSettings(
        options.batch_members,
        options.poll_initial_s,
        options.poll_max_s,
        options.max_attempts,
        events=events,
    )


def _connect(conf: cfg.ConfigOpts, threads: int) -> Any:
    """A transport that takes as many requests from the broker as there are threads to work on
    them.
    """
    return connect(conf, transport_url(conf, rabbit_qos_prefetch_count=threads))


def _replies(conf: cfg.ConfigOpts, stopping: threading.Event) -> Replies:
    """Return the retry policy for replies, with connections of its own."""
    sender = Sender(
        functools.partial(open_connection, conf, transport_url(conf)), stopping
    )
    worker = conf.worker
    return Replies(
        sender,
        stopping,
        slots=max(1, worker.threads // 2),
        timeout_s=worker.reply_timeout_s,
        # So that a reply that waits for the broker after a long request does not make the worker
        # look dead.
        away_s=min(
            worker.engine_timeout_s, worker.liveness_request_age_s - worker.engine_timeout_s
        ),
    )


def _destinations(conf: cfg.ConfigOpts) -> Destinations:
    """Return where replies to casts may go."""
    return Destinations(
        conf.worker.reply_to_allowed,
        exchange=control_exchange(conf),
        queues=[conf.worker.topic + ISOLATION_SUFFIX, conf.worker.topic + PARKING_SUFFIX],
        notification_topics=conf.oslo_messaging_notifications.topics,
    )


def _server_class(
    conf: cfg.ConfigOpts,
    queue: server.Queue,
    events: Listener,
    isolation: AbstractContextManager[Any],
    endpoints: Endpoints,
    replies: Replies,
) -> Callable[..., Any]:
    """The server for a queue, which knows where to put what it cannot finish."""
    address = transport_url(conf)

    def move(message: Any, to: str) -> None:
        with open_connection(
            conf, address
        ) as connection:  # its timeouts bound every step
            topology.declare_queue(conf, address, connection, to)  # it may have been deleted
            parking.move(connection, message, to)

    return functools.partial(
        LateAckServer,
        delivery_limit=queue.delivery_limit,
        move=move,
        events=events,
        isolation=isolation,
        report_parked=functools.partial(server.report_parked, endpoints),
        replies=replies,
    )


def _stop(one: Any) -> None:
    """End a server gracefully; one that has not found its broker yet has no work, and would wait
    for it first.
    """
    if one.listener is not None:
        one.stop()
        one.wait()


def _close(transports: Sequence[Any]) -> None:
    """Close transports, for `CLOSE_S` at most: those that lost their broker would wait until it is
    back.
    """
    closing = [threading.Thread(target=one.cleanup, daemon=True) for one in transports]
    for thread in closing:
        thread.start()
    deadline = time.monotonic() + CLOSE_S
    for thread in closing:
        thread.join(max(0, deadline - time.monotonic()))


def run(arguments: Sequence[str], conf: cfg.ConfigOpts = cfg.CONF) -> int:
    """Serve until a signal ends it.

    :param arguments: of the command line, e.g. `--config-file FILE`.
    :returns: the exit status: 0 after a graceful stop, 2 for a configuration that cannot work.
    """
    try:
        _configure(conf, arguments)
        guru_meditation.setup(conf, PROGRAM)
        tracing.prepare(conf)
        over, recorder = clouds(conf), _recorder(conf)
        publisher.check(conf)
        _declare(conf)
        exporter = setup.export(conf.metrics.port, conf.metrics.address, conf.metrics.folder)
    except FAULTS as exc:
        where = f' ({config.sources(conf)})' if isinstance(exc, errors.ConfigurationError) else ''
        return _complain(told(exc) + where)
    unknown_options.warn(conf)
    size_limit.install(
        lambda: conf.worker.max_request_bytes, garbage_collection.release_later
    )
    LOG.info(
        'Serving %s and %s of exchange %s as %s, with %d process%s',
        conf.worker.topic,
        conf.worker.slow_topic,
        control_exchange(conf),
        conf.worker.host,
        conf.worker.workers,
        '' if conf.worker.workers == 1 else 'es',
    )
    scratch = tempfile.mkdtemp(prefix=f'{PROGRAM}-')
    if isinstance(over, Inventory):
        over = over.with_state_in(os.path.join(scratch, 'load-balancers.json'))
    heartbeat_table = HeartbeatTable(
        multiprocessing.RawArray('d', conf.worker.workers * heartbeats.COLUMNS), time.monotonic()
    )
    watch = _watch(conf, heartbeat_table)
    manager = cotyledon.ServiceManager(mp_context=multiprocessing.get_context('fork'))
    manager.add(
        Worker,
        conf.worker.workers,
        args=(conf, over, Registry.installed(), recorder, heartbeat_table, exporter),
    )
    oslo_config_glue.setup(manager, _Reloading(conf), reload_method='mutate')
    manager.register_hooks(
        on_terminate=watch.begin_stop, on_dead_worker=exporter.process_died if exporter else None
    )
    garbage_collection.settle()
    watch.start()
    try:
        manager.run()
    finally:
        watch.close()
        shutil.rmtree(scratch, ignore_errors=True)
        if exporter:
            exporter.close()
    return 0


def _watch(conf: cfg.ConfigOpts, heartbeat_table: HeartbeatTable) -> Watchdog:
    """Who judges the processes, with the bounds of the configuration."""
    worker = conf.worker
    thresholds = Thresholds(
        poll_age_s=worker.liveness_poll_age_s,
        request_age_s=worker.liveness_request_age_s,
        reconnect_age_s=worker.liveness_reconnect_age_s,
        disconnected_s=worker.readiness_disconnected_s,
    )
    return Watchdog(
        heartbeat_table,
        thresholds,
        Systemd.from_environment(os.environ),
        LivenessFile(worker.liveness_file),
    )


def told(exc: Exception) -> str:
    """What went wrong, in a line."""
    text = errors.file_error(exc) if isinstance(exc, OSError) else config.told(exc)
    return escaped(' '.join(text.split()))


def _complain(message: str) -> int:
    """Say in one line why it does not start; the log may not be there yet."""
    print(f'{PROGRAM}: {message}', file=sys.stderr)  # noqa: T201
    return 2


def _configure(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Read the command line and the files it names, and set up the log.

    :raises cfg.Error: an option that does not exist or does not fit.
    :raises ConfigurationError: options that do not fit together, or a log that cannot be set up.
    """
    config.register(conf)
    log.register_options(conf)
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *QUIET])
    config.set_defaults()
    conf(arguments, project=PROGRAM, version=metadata.version(PROGRAM))
    config.validate(conf)
    try:
        log.setup(conf, PROGRAM)
    except OSError:
        raise
    except Exception as exc:  # whatever the file that log_config_append names leads to
        raise errors.ConfigurationError(f'The log cannot be set up: {exc}') from exc
    log_lines.guard()


def _declare(conf: cfg.ConfigOpts) -> None:
    """See that the broker's queues are made as they have to be; wait for a broker that is not there
    yet.

    :raises QueueMismatch: they are not; the text has the command that mends it.
    """
    target = load_transport_url(conf)
    patiently = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors.BrokerUnreachable),
        wait=tenacity.wait_exponential(max=BROKER_WAIT_MAX_S),
        before_sleep=_trying_again,
    )
    patiently(topology.declare, conf, target, queues(conf))
    own = f'{conf.worker.topic}.{conf.worker.host}'
    if patiently(topology.consumer_count, conf, target, own):  # before our processes begin
        LOG.warning(
            'Somebody consumes %s already: each worker of a topic needs a [worker] host of its own',
            own,
        )


def _trying_again(state: tenacity.RetryCallState) -> None:
    """Say what is waited for, and how long."""
    if state.outcome and state.next_action:
        LOG.warning('%s; trying again in %g s', state.outcome.exception(), state.next_action.sleep)


def _recorder(conf: cfg.ConfigOpts) -> Recorder:
    """Who keeps decisions: the file that `[decision_log] file` names, or nobody.

    :raises ConfigurationError: the file cannot be written.
    """
    path = conf.decision_log.file
    try:
        return DecisionLog(LogFile(path).append) if path else Forgetful()
    except OSError as exc:
        raise errors.ConfigurationError(
            f'[decision_log] file cannot be written: {errors.file_error(exc)}; its folder has to be there, and the worker '
            'has to have the right to write to it'
        ) from exc


def queues(conf: cfg.ConfigOpts) -> list[str]:
    """The queues of a worker: of each topic one for all and one for this alone, and that of parked
    requests.
    """
    topics = [queue.topic for queue in server.queues(conf)]
    return [
        *(f'{topic}{of}' for topic in topics for of in ('', f'.{conf.worker.host}')),
        conf.worker.topic + PARKING_SUFFIX,
    ]


def clouds(conf: cfg.ConfigOpts) -> Clouds:
    """The cloud that `[cloud] backend` names.

    :raises ConfigurationError: it is not there, or its options do not fit.
    """
    if conf.cloud.backend == 'openstack':
        from placement_worker.worker import cloud_factory  # noqa: PLC0415  # the libraries of OpenStack, if they are needed

        return cloud_factory.clouds(conf)
    if not conf.cloud.inventory_file:
        raise errors.ConfigurationError(
            '[cloud] backend = inventory needs inventory_file, the description of a cloud'
        )
    try:
        return Inventory.load(conf.cloud.inventory_file)
    except errors.InvalidInventory as exc:
        raise errors.ConfigurationError(f'[cloud] inventory_file: {exc}') from exc
