"""What is counted, and under which names."""

import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry

from placement_worker.metrics.prometheus import EXEMPLAR_MOST, Metrics


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def metrics(registry):
    return Metrics(registry)


TOLD = [
    (
        lambda metrics: metrics.check_ended('AFTER', 'NODE_CREATE', 'ERROR', 2, 'req-1'),
        (
            'check_duration_seconds',
            {'phase': 'AFTER', 'action': 'NODE_CREATE', 'outcome': 'ERROR'},
            2,
        ),
    ),
    (
        lambda metrics: metrics.policy_consulted('a-1.0', 'APPLIED', 2),
        ('policy_duration_seconds', {'policy': 'a-1.0', 'outcome': 'APPLIED'}, 2),
    ),
    (
        lambda metrics: metrics.binding_ended('policy_attach', 'a-1.0', 'OK', 2, 'req-1'),
        (
            'binding_duration_seconds',
            {'method': 'policy_attach', 'policy': 'a-1.0', 'outcome': 'OK'},
            2,
        ),
    ),
    (
        lambda metrics: metrics.cloud_called('compute', 'zones', 'CloudUnavailable', 2),
        (
            'cloud_call_duration_seconds',
            {'service': 'compute', 'operation': 'zones', 'outcome': 'CloudUnavailable'},
            2,
        ),
    ),
    (
        lambda metrics: metrics.load_balancer_conflicted(2),
        ('load_balancer_conflict_wait_seconds', {}, 2),
    ),
    (
        lambda metrics: metrics.request_failed('policy_check', 'InvalidSpec'),
        ('request_errors_total', {'method': 'policy_check', 'error': 'InvalidSpec'}, 1),
    ),
    (lambda metrics: metrics.load_balancer_updated(), ('load_balancer_updates_total', {}, 1)),
    (lambda metrics: metrics.load_balancer_retried(), ('load_balancer_retries_total', {}, 1)),
    (lambda metrics: metrics.traffic('t').begun(), ('requests_in_work', {'topic': 't'}, 1)),
    (
        lambda metrics: metrics.traffic('t').redelivered(),
        ('requests_redelivered_total', {'topic': 't'}, 1),
    ),
    (
        lambda metrics: metrics.traffic('t').put_aside(parked=False),
        ('requests_put_aside_total', {'to': 'suspects'}, 1),
    ),
    (
        lambda metrics: metrics.traffic('t').put_aside(parked=True),
        ('requests_put_aside_total', {'to': 'parked'}, 1),
    ),
]


@pytest.mark.parametrize(
    ('tell', 'expected'), TOLD, ids=lambda value: value[0] if isinstance(value, tuple) else ''
)
def test_what_is_told_changes_its_metric_each_time(metrics, registry, tell, expected):
    name, labels, step = expected

    def value(of):
        return registry.get_sample_value(f'placement_worker_{name}{of}', labels)

    measured = name.endswith('_seconds')
    for times in (1, 2):
        tell(metrics)
        assert value('_sum' if measured else '') == times * step
        assert not measured or value('_count') == times


def test_a_request_that_has_ended_is_not_in_work(metrics, registry):
    traffic = metrics.traffic('t')

    traffic.begun()
    traffic.ended()

    assert registry.get_sample_value('placement_worker_requests_in_work', {'topic': 't'}) == 0


def test_a_duration_is_found_in_the_bucket_that_it_fits_in(metrics, registry):
    metrics.check_ended('BEFORE', 'CLUSTER_RESIZE', 'OK', 0.003, None)

    labels = {'phase': 'BEFORE', 'action': 'CLUSTER_RESIZE', 'outcome': 'OK'}
    name = 'placement_worker_check_duration_seconds_bucket'
    assert registry.get_sample_value(name, {**labels, 'le': '0.0025'}) == 0
    assert registry.get_sample_value(name, {**labels, 'le': '0.005'}) == 1


def test_counters_that_alerts_look_at_begin_with_0_so_that_their_first_step_is_seen(
    metrics, registry
):
    metrics.traffic('t')

    for name, labels in (
        ('requests_redelivered_total', {'topic': 't'}),
        ('requests_put_aside_total', {'to': 'suspects'}),
        ('requests_put_aside_total', {'to': 'parked'}),
        ('request_errors_total', {'method': 'policy_check', 'error': 'WorkerFailed'}),
        ('request_errors_total', {'method': 'policy_attach', 'error': 'WorkerFailed'}),
        ('request_errors_total', {'method': 'policy_detach', 'error': 'WorkerFailed'}),
    ):
        assert registry.get_sample_value(f'placement_worker_{name}', labels) == 0


def exemplars(registry):
    return [
        sample.exemplar.labels
        for family in registry.collect()
        for sample in family.samples
        if sample.exemplar
    ]


def test_the_request_id_is_the_exemplar_of_a_check_and_of_a_binding(metrics, registry):
    metrics.check_ended('BEFORE', 'CLUSTER_RESIZE', 'OK', 0.1, 'req-1')
    metrics.binding_ended('policy_attach', 'a-1.0', 'OK', 0.1, 'req-2')

    assert exemplars(registry) == [{'request_id': 'req-1'}, {'request_id': 'req-2'}]


@pytest.mark.parametrize('request_id', [None, 'r' * (EXEMPLAR_MOST - len('request_id') + 1)])
def test_no_request_id_and_one_that_is_too_long_for_an_exemplar_are_left_out(
    metrics, registry, request_id
):
    metrics.check_ended('BEFORE', 'CLUSTER_RESIZE', 'OK', 0.1, request_id)

    assert exemplars(registry) == []


def test_a_request_id_of_the_greatest_length_that_fits_is_kept(metrics, registry):
    request_id = 'r' * (EXEMPLAR_MOST - len('request_id'))

    metrics.check_ended('BEFORE', 'CLUSTER_RESIZE', 'OK', 0.1, request_id)

    assert exemplars(registry) == [{'request_id': request_id}]


def test_whoever_wants_no_metrics_does_not_load_their_library():
    code = (
        'import sys\nfrom placement_worker.metrics import setup\nfrom placement_worker.worker import process\nsetup.share(None, "", None).begin(0)\n'
        'assert "prometheus_client" not in sys.modules'
    )

    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)
