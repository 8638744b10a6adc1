"""The metrics of a worker, and their names."""

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.errors import InvalidSpec
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    CheckStarted,
    CloudCalled,
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
    MessageMoved,
    MessageRedelivered,
    MessageSettled,
    MessageTaken,
    PolicyConsulted,
    RequestFailed,
)
from placement_worker.metrics.prometheus import Metrics
from tests.factories import bind, request, zone_policy


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def metrics(registry):
    return Metrics(['t'], registry)


def check(status, elapsed_s, phase='BEFORE', action='CLUSTER_RESIZE'):
    """Return the event of a check with a reply of this status."""
    asked = msgspec.convert(request(action, [], target=phase), CheckRequest)
    reply = {'action': {'id': 'a', 'data': {'status': status}}, 'cluster': None, 'nodes': {}}
    replied = msgspec.convert({**reply, 'decisions': []}, CheckReply)
    return CheckEnded(asked, replied, elapsed_s, 'req-1')


def binding(elapsed_s):
    """Return the event of a policy that was attached."""
    asked = msgspec.convert(bind(zone_policy('a')), BindRequest)
    replied = msgspec.convert(
        {
            'status': 'OK',
            'reason': 'Policy attached.',
            'policy': {'id': 'p', 'data': {}},
            'cluster': None,
            'nodes': {},
        },
        BindReply,
    )
    return BindingEnded('policy_attach', asked, replied, 'a', 'a-1.0', elapsed_s, 'req-1')


EVENTS = [
    (
        check('ERROR', 2, 'AFTER', 'CLUSTER_CREATE'),
        'check_duration_seconds',
        {'phase': 'AFTER', 'action': 'CLUSTER_CREATE', 'outcome': 'ERROR'},
        2,
    ),
    (
        PolicyConsulted('a-1.0', 'APPLIED', 2),
        'policy_duration_seconds',
        {'policy': 'a-1.0', 'outcome': 'APPLIED'},
        2,
    ),
    (
        binding(2),
        'binding_duration_seconds',
        {'method': 'policy_attach', 'policy': 'a-1.0', 'outcome': 'OK'},
        2,
    ),
    (
        CloudCalled('compute', 'zones', 'CloudUnavailable', 2),
        'cloud_call_duration_seconds',
        {'service': 'compute', 'operation': 'zones', 'outcome': 'CloudUnavailable'},
        2,
    ),
    (LoadBalancerConflicted(2), 'load_balancer_conflict_wait_seconds', {}, 2),
    (
        RequestFailed('policy_check', InvalidSpec('no'), 'req-1'),
        'request_errors_total',
        {'method': 'policy_check', 'error': 'InvalidSpec'},
        1,
    ),
    (
        RequestFailed('policy_check', KeyError('no'), 'req-1'),
        'request_errors_total',
        {'method': 'policy_check', 'error': 'WorkerFailed'},
        1,
    ),
    (LoadBalancerUpdated(), 'load_balancer_updates_total', {}, 1),
    (LoadBalancerRetried(), 'load_balancer_retries_total', {}, 1),
    (MessageTaken('t'), 'requests_in_work', {'topic': 't'}, 1),
    (MessageSettled('t'), 'requests_settled_total', {'topic': 't'}, 1),
    (MessageRedelivered('t'), 'requests_redelivered_total', {'topic': 't'}, 1),
    (MessageMoved('t', parked=False), 'requests_put_aside_total', {'to': 'suspects'}, 1),
    (MessageMoved('t', parked=True), 'requests_put_aside_total', {'to': 'parked'}, 1),
]


@pytest.mark.parametrize(
    ('event', 'name', 'labels', 'step'), EVENTS, ids=lambda value: type(value).__name__
)
def test_metric_after_each_event_grows_by_one_step(metrics, registry, event, name, labels, step):
    """Each event changes the metric of its name and labels, each time by the same step."""

    def value(of):
        return registry.get_sample_value(f'placement_worker_{name}{of}', labels)

    measured = name.endswith('_seconds')
    for times in (1, 2):
        metrics.handle(event)
        assert value('_sum' if measured else '') == times * step
        assert not measured or value('_count') == times


def test_metrics_after_an_event_without_a_metric_are_unchanged(metrics, registry):
    """An event that no metric counts is ignored."""
    before = list(registry.collect())

    metrics.handle(CheckStarted(check('OK', 0).request, None))

    assert list(registry.collect()) == before


def test_requests_in_flight_after_a_message_is_settled_are_zero(metrics, registry):
    """A request counts as in flight from the moment its message is taken until it is settled."""
    metrics.handle(MessageTaken('t'))
    metrics.handle(MessageSettled('t'))

    assert registry.get_sample_value('placement_worker_requests_in_work', {'topic': 't'}) == 0


def test_duration_of_a_check_is_in_the_buckets_above_it(metrics, registry):
    """A histogram counts a duration in each bucket whose bound it does not exceed."""
    metrics.handle(check('OK', 0.003))

    labels = {'phase': 'BEFORE', 'action': 'CLUSTER_RESIZE', 'outcome': 'OK'}
    name = 'placement_worker_check_duration_seconds_bucket'
    assert registry.get_sample_value(name, {**labels, 'le': '0.0025'}) == 0
    assert registry.get_sample_value(name, {**labels, 'le': '0.005'}) == 1


@pytest.mark.usefixtures('metrics')
def test_counters_of_alerts_before_any_event_are_zero(registry):
    """Counters that alerts observe exist from the start, so that `increase` sees their first
    step.
    """
    for name, labels in (
        ('requests_in_work', {'topic': 't'}),
        ('requests_settled_total', {'topic': 't'}),
        ('requests_redelivered_total', {'topic': 't'}),
        ('requests_put_aside_total', {'to': 'suspects'}),
        ('requests_put_aside_total', {'to': 'parked'}),
        ('request_errors_total', {'method': 'policy_check', 'error': 'WorkerFailed'}),
        ('request_errors_total', {'method': 'policy_attach', 'error': 'WorkerFailed'}),
        ('request_errors_total', {'method': 'policy_detach', 'error': 'WorkerFailed'}),
    ):
        assert registry.get_sample_value(f'placement_worker_{name}', labels) == 0
