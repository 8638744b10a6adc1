"""What is counted, under which names; doc/source/monitoring.rst has the same as a table."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from placement_worker.errors import WorkerFailed
from placement_worker.events.listener import Traffic

DECIDING_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 600)
"""Bounds of what decides: a millisecond without a cloud, minutes behind a load balancer."""
CALLING_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
WAITING_S = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
EXEMPLAR_MOST = 128
"""What names and values of an exemplar may add up to, in characters, says OpenMetrics."""
REQUEST_ID = 'request_id'
METHODS = ('policy_check', 'policy_attach', 'policy_detach')


class Metrics:
    """As `Observer`: counts, and measures.

    In a process of several, what is counted goes to the folder that they share, and `registry`
    stays None.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        def histogram(
            name: str, told: str, labels: tuple[str, ...], bounds: tuple[float, ...]
        ) -> Histogram:
            return Histogram(
                f'placement_worker_{name}_seconds', told, labels, registry=registry, buckets=bounds
            )

        def counter(name: str, told: str, labels: tuple[str, ...]) -> Counter:
            return Counter(f'placement_worker_{name}_total', told, labels, registry=registry)

        self._checks = histogram(
            'check_duration', 'Time to decide a check.', ('phase', 'action', 'outcome'), DECIDING_S
        )
        self._policies = histogram(
            'policy_duration',
            'Time that a policy took within a check.',
            ('policy', 'outcome'),
            DECIDING_S,
        )
        self._bindings = histogram(
            'binding_duration',
            'Time to attach or detach a policy.',
            ('method', 'policy', 'outcome'),
            DECIDING_S,
        )
        self._failures = counter(
            'request_errors', 'Requests answered with an error.', ('method', 'error')
        )
        for method in METHODS:
            self._failures.labels(
                method, WorkerFailed.__name__
            )  # with 0: an alert sees the first step only so
        self._calls = histogram(
            'cloud_call_duration',
            'Time of a call to the cloud.',
            ('service', 'operation', 'outcome'),
            CALLING_S,
        )
        self._updates = counter('load_balancer_updates', 'Changes made to load balancers.', ())
        self._retries = counter(
            'load_balancer_retries', 'What was tried with load balancers once more.', ()
        )
        self._conflicts = histogram(
            'load_balancer_conflict_wait',
            'Time waited for load balancers with another change pending.',
            (),
            WAITING_S,
        )
        self._in_work = Gauge(
            'placement_worker_requests_in_work',
            'Requests that a thread works on.',
            ('topic',),
            registry=registry,
            multiprocess_mode='livesum',
        )
        self._redelivered = counter('requests_redelivered', 'Requests that came again.', ('topic',))
        self._put_aside = counter(
            'requests_put_aside', 'Requests that came too often, by where they went.', ('to',)
        )

    def traffic(self, topic: str) -> Traffic:
        """As `Observer.traffic`; from here on its metrics are there, with 0."""
        return TopicMetrics(self._in_work, self._redelivered, self._put_aside, topic)

    def check_ended(
        self, phase: str, action: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """As `Observer.check_ended`."""
        self._checks.labels(phase, action, outcome).observe(elapsed_s, _exemplar(request_id))

    def policy_consulted(self, policy_type: str, outcome: str, elapsed_s: float) -> None:
        """As `Observer.policy_consulted`."""
        self._policies.labels(policy_type, outcome).observe(elapsed_s)

    def binding_ended(
        self, method: str, policy_type: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """As `Observer.binding_ended`."""
        self._bindings.labels(method, policy_type, outcome).observe(
            elapsed_s, _exemplar(request_id)
        )

    def request_failed(self, method: str, error: str) -> None:
        """As `Observer.request_failed`."""
        self._failures.labels(method, error).inc()

    def cloud_called(self, service: str, operation: str, outcome: str, elapsed_s: float) -> None:
        """As `Observer.cloud_called`."""
        self._calls.labels(service, operation, outcome).observe(elapsed_s)

    def load_balancer_updated(self) -> None:
        """As `Observer.load_balancer_updated`."""
        self._updates.inc()

    def load_balancer_retried(self) -> None:
        """As `Observer.load_balancer_retried`."""
        self._retries.inc()

    def load_balancer_conflicted(self, waited_s: float) -> None:
        """As `Observer.load_balancer_conflicted`."""
        self._conflicts.observe(waited_s)


class TopicMetrics:
    """As `Traffic`: counts the requests of one topic."""

    def __init__(
        self, in_work: Gauge, redelivered: Counter, put_aside: Counter, topic: str
    ) -> None:
        self._in_work, self._redelivered = in_work.labels(topic), redelivered.labels(topic)
        self._suspected, self._parked = put_aside.labels('suspects'), put_aside.labels('parked')

    def begun(self) -> None:
        """As `Traffic.begun`."""
        self._in_work.inc()

    def ended(self) -> None:
        """As `Traffic.ended`."""
        self._in_work.dec()

    def redelivered(self) -> None:
        """As `Traffic.redelivered`."""
        self._redelivered.inc()

    def put_aside(self, parked: bool) -> None:
        """As `Traffic.put_aside`."""
        (self._parked if parked else self._suspected).inc()


def _exemplar(request_id: str | None) -> dict[str, str] | None:
    """What joins a measurement with the log; an id that is too long to be told whole is left
    out.
    """
    if request_id is None or len(REQUEST_ID) + len(request_id) > EXEMPLAR_MOST:
        return None
    return {REQUEST_ID: request_id}
