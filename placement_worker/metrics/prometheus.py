"""The metrics and their names; doc/source/monitoring.rst has them as a table."""

from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from typing_extensions import override

from placement_worker.contract import rpc
from placement_worker.errors import WorkerFailed, error_object
from placement_worker.events import types
from placement_worker.events.listener import Listener
from placement_worker.events.types import Event

DECISION_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 600)
"""Buckets from a millisecond without a cloud to minutes of waiting for a load balancer."""
CALL_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
CONFLICT_S = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
OBSERVED_METHODS = (
    rpc.POLICY_CHECK,
    rpc.POLICY_ATTACH,
    rpc.POLICY_DETACH,
    rpc.POLICY_REBALANCE,
)
"""The methods whose errors are reported as events."""
# The metric names `requests_in_work` and `requests_put_aside` and the label value `suspects` stay,
# since dashboards and alerts use them.
ISOLATED, PARKED = 'suspects', 'parked'


class Metrics(Listener):
    """Listener that counts and measures the events that have a metric.

    Several processes write their metrics into a folder that they share; they have no `registry`.
    """

    def __init__(
        self, topics: Sequence[str] = (), registry: CollectorRegistry | None = None
    ) -> None:
        """Create the metrics.

        :param topics: the topics whose metrics start at 0.
        """
        self._registry = registry
        self._create_request_metrics()
        self._create_cloud_metrics()
        self._create_delivery_metrics()
        self._start_at_zero(topics)
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            types.CheckEnded: self._check_ended,
            types.PolicyConsulted: self._policy_consulted,
            types.BindingEnded: self._binding_ended,
            types.RequestFailed: self._request_failed,
            types.CloudCalled: self._cloud_called,
            types.LoadBalancerUpdated: lambda _: self._updates.inc(),
            types.LoadBalancerRetried: lambda _: self._retries.inc(),
            types.LoadBalancerConflicted: lambda event: self._conflicts.observe(event.waited_s),
            types.MessageTaken: lambda event: self._in_flight.labels(event.topic).inc(),
            types.MessageSettled: self._message_settled,
            types.MessageRedelivered: lambda event: self._redelivered.labels(event.topic).inc(),
            types.MessageMoved: self._message_moved,
            types.NotificationDropped: lambda _: self._notifications_dropped.inc(),
        }

    @override
    def handle(self, event: Event) -> None:
        handler = self._handlers.get(type(event))
        if handler:
            handler(event)

    def _create_request_metrics(self) -> None:
        self._checks = self._histogram(
            'check_duration',
            'Time to decide a check.',
            ('phase', 'action', 'outcome'),
            DECISION_S,
        )
        self._policies = self._histogram(
            'policy_duration',
            'Time that a policy took within a check.',
            ('policy', 'outcome'),
            DECISION_S,
        )
        self._bindings = self._histogram(
            'binding_duration',
            'Time to attach or detach a policy.',
            ('method', 'policy', 'outcome'),
            DECISION_S,
        )
        self._failures = self._counter(
            'request_errors', 'Requests that ended with an error.', ('method', 'error')
        )

    def _create_cloud_metrics(self) -> None:
        self._calls = self._histogram(
            'cloud_call_duration',
            'Time of a call to the cloud.',
            ('service', 'operation', 'outcome'),
            CALL_S,
        )
        self._updates = self._counter('load_balancer_updates', 'Changes of load balancers.', ())
        self._retries = self._counter(
            'load_balancer_retries', 'Retried load balancer operations.', ()
        )
        self._conflicts = self._histogram(
            'load_balancer_conflict_wait',
            'Time waited for load balancers with another change pending.',
            (),
            CONFLICT_S,
        )

    def _create_delivery_metrics(self) -> None:
        self._in_flight = Gauge(
            'placement_worker_requests_in_work',
            'Requests in flight.',
            ('topic',),
            registry=self._registry,
            multiprocess_mode='livesum',
        )
        self._settled = self._counter(
            'requests_settled',
            'Requests that a thread has finished, whatever the result.',
            ('topic',),
        )
        self._notifications_dropped = self._counter(
            'notifications_dropped',
            'Notifications dropped while the broker accepted none and the queue was full.',
            (),
        )
        self._redelivered = self._counter(
            'requests_redelivered', 'Requests delivered again.', ('topic',)
        )
        self._moved = self._counter(
            'requests_put_aside',
            'Requests moved to another queue after too many deliveries.',
            ('to',),
        )

    def _start_at_zero(self, topics: Sequence[str]) -> None:
        """Create the series that alerts observe: `increase` misses the step that creates one."""
        for method in OBSERVED_METHODS:
            self._failures.labels(method.name, WorkerFailed.__name__)
        for topic in topics:
            self._in_flight.labels(topic)
            self._settled.labels(topic)
            self._redelivered.labels(topic)
        for queue in (ISOLATED, PARKED):
            self._moved.labels(queue)

    def _histogram(
        self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]
    ) -> Histogram:
        full_name = f'placement_worker_{name}_seconds'
        return Histogram(full_name, text, labels, registry=self._registry, buckets=buckets)

    def _counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f'placement_worker_{name}_total', text, labels, registry=self._registry)

    def _check_ended(self, event: types.CheckEnded) -> None:
        request, status = event.request, event.reply.action.data['status']
        self._checks.labels(request.target, request.action.action, status).observe(event.elapsed_s)

    def _policy_consulted(self, event: types.PolicyConsulted) -> None:
        self._policies.labels(event.policy_type, event.outcome).observe(event.elapsed_s)

    def _binding_ended(self, event: types.BindingEnded) -> None:
        labels = event.method, event.policy_type, event.reply.status
        self._bindings.labels(*labels).observe(event.elapsed_s)

    def _request_failed(self, event: types.RequestFailed) -> None:
        error = error_object(event.error)['error']['type']
        self._failures.labels(event.method, error).inc()

    def _cloud_called(self, event: types.CloudCalled) -> None:
        labels = event.service, event.operation, event.outcome
        self._calls.labels(*labels).observe(event.elapsed_s)

    def _message_settled(self, event: types.MessageSettled) -> None:
        self._in_flight.labels(event.topic).dec()
        self._settled.labels(event.topic).inc()

    def _message_moved(self, event: types.MessageMoved) -> None:
        self._moved.labels(PARKED if event.parked else ISOLATED).inc()
