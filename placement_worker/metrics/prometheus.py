"""The metrics and their names, and the server from which Prometheus reads them on one port.

Each process writes its metrics into a folder, which must be chosen before this module is imported,
and the parent serves their sum. doc/source/monitoring.rst has all metrics as a table.
"""

import datetime
import errno
import functools
import platform
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from threading import Thread
from typing import Protocol
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    start_http_server,
    values,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from typing_extensions import override

from placement_worker.contract import rpc
from placement_worker.errors import ConfigurationError, WorkerFailed, error_object
from placement_worker.events import types
from placement_worker.events.types import Event, Listener
from placement_worker.planning.places import Cordon

# Buckets from a millisecond without a cloud to minutes of waiting for a load balancer.
DECISION_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 600)
CALL_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
CONFLICT_S = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
# The metric names `requests_in_work` and `requests_put_aside` and the label value `suspects` stay,
# since dashboards and alerts use them.
ISOLATED, PARKED = 'suspects', 'parked'
_LABELS = ('zone', 'region', 'evacuate')
_VERSIONS = {
    'version': metadata.version('placement-worker'),
    'python_version': platform.python_version(),
}


class Metrics(Listener):
    """Listener that counts and measures the events that have a metric.

    Several processes write their metrics into a folder that they share; they have no `registry`.
    """

    def __init__(self, topics: Sequence[str], registry: CollectorRegistry | None = None) -> None:
        histogram = functools.partial(Histogram, registry=registry)
        counter = functools.partial(Counter, registry=registry)
        self._checks = histogram(
            'placement_worker_check_duration_seconds',
            'Time to decide a check.',
            ('phase', 'action', 'outcome'),
            buckets=DECISION_S,
        )
        self._policies = histogram(
            'placement_worker_policy_duration_seconds',
            'Time that a policy took within a check.',
            ('policy', 'outcome'),
            buckets=DECISION_S,
        )
        self._bindings = histogram(
            'placement_worker_binding_duration_seconds',
            'Time to attach or detach a policy.',
            ('method', 'policy', 'outcome'),
            buckets=DECISION_S,
        )
        self._failures = counter(
            'placement_worker_request_errors_total',
            'Requests that ended with an error.',
            ('method', 'error'),
        )
        self._calls = histogram(
            'placement_worker_cloud_call_duration_seconds',
            'Time of a call to the cloud.',
            ('service', 'operation', 'outcome'),
            buckets=CALL_S,
        )
        self._updates = counter(
            'placement_worker_load_balancer_updates_total', 'Changes of load balancers.'
        )
        self._retries = counter(
            'placement_worker_load_balancer_retries_total', 'Retried load balancer operations.'
        )
        self._conflicts = histogram(
            'placement_worker_load_balancer_conflict_wait_seconds',
            'Time waited for load balancers with another change pending.',
            buckets=CONFLICT_S,
        )
        self._in_flight = Gauge(
            'placement_worker_requests_in_work',
            'Requests in flight.',
            ('topic',),
            registry=registry,
            multiprocess_mode='livesum',
        )
        self._settled = counter(
            'placement_worker_requests_settled_total',
            'Requests that a thread has finished, whatever the result.',
            ('topic',),
        )
        self._notifications_dropped = counter(
            'placement_worker_notifications_dropped_total',
            'Notifications dropped while the broker accepted none and the queue was full.',
        )
        self._redelivered = counter(
            'placement_worker_requests_redelivered_total', 'Requests delivered again.', ('topic',)
        )
        self._moved = counter(
            'placement_worker_requests_put_aside_total',
            'Requests moved to another queue after too many deliveries.',
            ('to',),
        )
        self._start_at_zero(topics)

    @override
    def handle(self, event: Event) -> None:
        match event:
            case types.CheckEnded(request, reply, elapsed_s):
                labels = request.target, request.action.action, reply.action.data['status']
                self._checks.labels(*labels).observe(elapsed_s)
            case types.PolicyConsulted(policy_type, outcome, elapsed_s):
                self._policies.labels(policy_type, outcome).observe(elapsed_s)
            case types.BindingEnded(method, _, reply, _, policy_type, elapsed_s):
                self._bindings.labels(method, policy_type, reply.status).observe(elapsed_s)
            case types.RequestFailed(method, error):
                self._failures.labels(method, error_object(error)['error']['type']).inc()
            case types.CloudCalled(service, operation, outcome, elapsed_s):
                self._calls.labels(service, operation, outcome).observe(elapsed_s)
            case types.LoadBalancerUpdated():
                self._updates.inc()
            case types.LoadBalancerRetried():
                self._retries.inc()
            case types.LoadBalancerConflicted(waited_s):
                self._conflicts.observe(waited_s)
            case _:
                self._handle_delivery(event)

    def _handle_delivery(self, event: Event) -> None:
        match event:
            case types.MessageHandled('TAKEN', topic):
                self._in_flight.labels(topic).inc()
            case types.MessageHandled('SETTLED', topic):
                self._in_flight.labels(topic).dec()
                self._settled.labels(topic).inc()
            case types.MessageHandled('REDELIVERED', topic):
                self._redelivered.labels(topic).inc()
            case types.MessageHandled(state):
                self._moved.labels(PARKED if state == 'PARKED' else ISOLATED).inc()
            case types.NotificationDropped():
                self._notifications_dropped.inc()

    def _start_at_zero(self, topics: Sequence[str]) -> None:
        """Create the series that alerts observe: `increase` misses the step that creates one."""
        for method in rpc.METHODS:
            self._failures.labels(method.name, WorkerFailed.__name__)
        for topic in topics:
            self._in_flight.labels(topic)
            self._settled.labels(topic)
            self._redelivered.labels(topic)
        for queue in (ISOLATED, PARKED):
            self._moved.labels(queue)


class Cordons(Protocol):
    """The cordons of the file, with those that have ended, and whether the file is valid now."""

    @property
    def all(self) -> Sequence[Cordon]: ...

    @property
    def is_valid(self) -> bool: ...


class Exporter:
    """The HTTP server of the parent, which serves the sum of the files of all processes.

    A file is named after the number of a process, not after its id as prometheus_client does by
    default: a process that replaces a dead one continues in its files, so their number is bounded.
    """

    def __init__(
        self,
        port: int,
        address: str,
        folder: str,
        on_close: Callable[[], None],
        cordons: Cordons | None,
    ) -> None:
        """Listen; a worker without a cordon file passes no `cordons`.

        :raises ConfigurationError: address and port cannot be used.
        """
        self._folder, self._on_close = folder, on_close
        self._number: int | str = 'parent'
        values.ValueClass = values.MultiProcessValue(lambda: self._number)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)
        self._worker = WorkerCollector()
        registry.register(self._worker)
        if cordons:
            now = functools.partial(datetime.datetime.now, datetime.UTC)
            registry.register(CordonCollector(cordons, now))
        self._server, self._thread = _listen(port, address, registry)

    def begin(self, number: int, topics: Sequence[str]) -> Metrics:
        """Return the metrics of a process; call this in the process, after the fork.

        :param number: a process that replaces a dead one takes its number.
        """
        self._server.socket.close()  # the parent keeps listening
        self._number = number
        return Metrics(topics)

    def process_died(self, _service: object, number: int, _exit_code: object) -> None:
        """Count the death, and reset the process's requests in flight; its counters stay."""
        self._worker.deaths += 1
        mark_process_dead(number, self._folder)

    def close(self) -> None:
        _close(self._server, self._thread)
        self._on_close()


def _listen(port: int, address: str, registry: CollectorRegistry) -> tuple[WSGIServer, Thread]:
    try:
        return start_http_server(port, address, registry)
    except (OSError, OverflowError) as exc:
        cause = getattr(exc, 'strerror', None) or exc
        raise ConfigurationError(
            f'[metrics] address {address} and port {port} cannot be used: {cause}'
        ) from exc


def _close(server: WSGIServer, thread: Thread) -> None:
    server.shutdown()
    server.server_close()
    thread.join()


def is_port_free(port: int, address: str) -> bool:
    """Return False if a program listens on the port.

    :raises ConfigurationError: address and port cannot be used for another reason.
    """
    try:
        _close(*_listen(port, address, CollectorRegistry()))
    except ConfigurationError as exc:
        if isinstance(exc.__cause__, OSError) and exc.__cause__.errno == errno.EADDRINUSE:
            return False
        raise
    return True


class WorkerCollector(Collector):
    """Collector of the parent, which outlives its processes: its values are of the whole worker.

    Of the series of `ProcessCollector`, CPU time, memory and open files would be those of the
    parent alone. A `Counter` would write into the files of the processes.
    """

    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)
        self.deaths = 0

    @override
    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily(
            'placement_worker_build', 'Versions of the worker and of Python.', _VERSIONS
        )
        for family in self._process.collect():
            if family.name == 'process_start_time_seconds':
                yield family
        yield CounterMetricFamily(
            'placement_worker_process_deaths',
            'Processes of the worker that crashed or were killed, and were replaced.',
            value=self.deaths,
        )


class CordonCollector(Collector):
    """Collector of the parent, which reads the cordon file at each scrape if it has changed.

    Files of processes could not drop the series of a cordon that was removed.
    """

    def __init__(self, cordons: Cordons, now: Callable[[], datetime.datetime]) -> None:
        self._cordons, self._now = cordons, now

    @override
    def collect(self) -> Iterator[Metric]:
        cordons, now = self._cordons.all, self._now()
        yield GaugeMetricFamily(
            'placement_worker_active_cordons',
            'Cordons in force.',
            sum(cordon.until > now for cordon in cordons),
        )
        yield GaugeMetricFamily(
            'placement_worker_cordon_file_valid',
            'Whether the cordon file is valid.',
            self._cordons.is_valid,
        )
        ends: dict[tuple[str, str, str], float] = {}
        for cordon in cordons:
            evacuate = 'true' if cordon.evacuate else 'false'
            labels = cordon.zone or '', cordon.region or '', evacuate
            ends[labels] = max(cordon.until.timestamp(), ends.get(labels, 0))
        family = GaugeMetricFamily(
            'placement_worker_cordon_end_timestamp_seconds', 'End of a cordon.', labels=_LABELS
        )
        for labels, until in ends.items():
            family.add_metric(labels, until)
        yield family
