"""The metrics of a worker, and their names."""

import datetime
import platform
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from importlib import metadata

import msgspec
import pytest
from prometheus_client import CollectorRegistry, values
from prometheus_client.parser import text_string_to_metric_families

from placement_worker.contract.model import (
    ActionPatch,
    BindingPatch,
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
)
from placement_worker.errors import InvalidSpec
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    CloudCalled,
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
    MessageHandled,
    NotificationDropped,
    PolicyConsulted,
    RequestFailed,
    RequestStarted,
)
from placement_worker.metrics.prometheus import CordonCollector, Exporter, Metrics, WorkerCollector
from placement_worker.planning.places import Cordon
from tests.factories import NOW, bind, request, zone_policy


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def metrics(registry):
    return Metrics(['t'], registry)


def check(status, elapsed_s, phase='BEFORE', action='CLUSTER_RESIZE'):
    checked = msgspec.convert(request(action, [], target=phase), CheckRequest)
    patch = ActionPatch('a', {'status': status})
    reply = CheckReply(action=patch, cluster=None, nodes={}, decisions=[])
    return CheckEnded(checked, reply, elapsed_s, 'req-1')


BIND = msgspec.convert(bind(zone_policy('a')), BindRequest)
BOUND = BindReply(status='OK', reason='', policy=BindingPatch('p', {}), cluster=None, nodes={})
EVENTS = [
    (check('ERROR', 2, 'AFTER', 'CLUSTER_CREATE'),
     'check_duration_seconds',
     {'phase': 'AFTER', 'action': 'CLUSTER_CREATE', 'outcome': 'ERROR'}, 2),
    (PolicyConsulted('a-1.0', 'APPLIED', 2),
     'policy_duration_seconds',
     {'policy': 'a-1.0', 'outcome': 'APPLIED'}, 2),
    (BindingEnded('policy_attach', BIND, BOUND, 'a', 'a-1.0', 2, 'req-1'),
     'binding_duration_seconds',
     {'method': 'policy_attach', 'policy': 'a-1.0', 'outcome': 'OK'}, 2),
    (CloudCalled('compute', 'zones', 'CloudUnavailable', 2),
     'cloud_call_duration_seconds',
     {'service': 'compute', 'operation': 'zones', 'outcome': 'CloudUnavailable'}, 2),
    (LoadBalancerConflicted(2), 'load_balancer_conflict_wait_seconds', {}, 2),
    (RequestFailed('policy_check', InvalidSpec('no'), 'req-1'),
     'request_errors_total',
     {'method': 'policy_check', 'error': 'InvalidSpec'}, 1),
    (RequestFailed('policy_check', KeyError('no'), 'req-1'),
     'request_errors_total',
     {'method': 'policy_check', 'error': 'WorkerFailed'}, 1),
    (LoadBalancerUpdated(), 'load_balancer_updates_total', {}, 1),
    (LoadBalancerRetried(), 'load_balancer_retries_total', {}, 1),
    (MessageHandled('TAKEN', 't'), 'requests_in_work', {'topic': 't'}, 1),
    (MessageHandled('SETTLED', 't'), 'requests_settled_total', {'topic': 't'}, 1),
    (MessageHandled('REDELIVERED', 't'), 'requests_redelivered_total', {'topic': 't'}, 1),
    (MessageHandled('ISOLATED', 't'), 'requests_put_aside_total', {'to': 'suspects'}, 1),
    (MessageHandled('PARKED', 't'), 'requests_put_aside_total', {'to': 'parked'}, 1),
    (NotificationDropped(), 'notifications_dropped_total', {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ('event', 'name', 'labels', 'step'), EVENTS, ids=lambda value: type(value).__name__
)
def test_metric_after_each_event_grows_by_one_step(metrics, registry, event, name, labels, step):
    """Each event changes the metric of its name and labels, each time by the same step."""

    def value(suffix):
        return registry.get_sample_value(f'placement_worker_{name}{suffix}', labels)

    measured = name.endswith('_seconds')
    for times in (1, 2):
        metrics.handle(event)
        assert value('_sum' if measured else '') == times * step
        assert not measured or value('_count') == times


def test_metrics_after_an_event_without_a_metric_are_unchanged(metrics, registry):
    """An event without a metric is ignored, and a settled request is no longer in flight."""
    before = list(registry.collect())
    metrics.handle(RequestStarted('policy_check', check('OK', 0).request, None))
    assert list(registry.collect()) == before

    metrics.handle(MessageHandled('TAKEN', 't'))
    metrics.handle(MessageHandled('SETTLED', 't'))
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
    """Counters of alerts exist from the start, so that `increase` sees their first step."""
    of_topic = ('requests_in_work', 'requests_settled_total', 'requests_redelivered_total')
    for name, labels in (
        *((name, {'topic': 't'}) for name in of_topic),
        *(('requests_put_aside_total', {'to': queue}) for queue in ('suspects', 'parked')),
        *(
            ('request_errors_total', {'method': f'policy_{method}', 'error': 'WorkerFailed'})
            for method in ('check', 'attach', 'detach')
        ),
    ):
        assert registry.get_sample_value(f'placement_worker_{name}', labels) == 0


DAY = datetime.timedelta(days=1)


class FakeCordons:
    """The cordons of a file: one in force twice, and one that has ended."""

    all = (
        Cordon(zone='az1', until=NOW + DAY),
        Cordon(zone='az1', until=NOW + 2 * DAY),
        Cordon(region='R1', until=NOW - DAY, evacuate=True),
    )
    is_valid = True


def collected(collector):
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


@pytest.fixture
def cordons():
    return collected(CordonCollector(FakeCordons, lambda: NOW))


@pytest.mark.parametrize('is_valid', [True, False])
def test_validity_of_the_file_is_one_or_zero(cordons, monkeypatch, is_valid):
    """An alert can observe that the last valid cordons stay in force."""
    monkeypatch.setattr(FakeCordons, 'is_valid', is_valid)

    assert cordons.get_sample_value('placement_worker_cordon_file_valid') == is_valid


def test_each_place_has_one_series_with_its_last_end(cordons):
    """Two cordons of a place do not repeat a series, and one that has ended is not active."""
    name = 'placement_worker_cordon_end_timestamp_seconds'
    (family,) = (family for family in cordons.collect() if family.name == name)

    assert {tuple(sample.labels.values()): sample.value for sample in family.samples} == {
        ('az1', '', 'false'): (NOW + 2 * DAY).timestamp(),
        ('', 'R1', 'true'): (NOW - DAY).timestamp(),
    }
    assert cordons.get_sample_value('placement_worker_active_cordons') == 2


def test_series_of_a_removed_cordon_disappears(cordons, monkeypatch):
    """An alert about a cordon that has ended stops when the cordon is removed."""
    monkeypatch.setattr(FakeCordons, 'all', ())

    assert cordons.get_sample_value('placement_worker_active_cordons') == 0
    samples = [sample.name for family in cordons.collect() for sample in family.samples]
    assert 'placement_worker_cordon_end_timestamp_seconds' not in samples


def test_build_info_of_a_worker_names_its_version_and_that_of_python():
    """CPU time, memory and open files of the parent are not exported."""
    labels = {
        'version': metadata.version('placement-worker'),
        'python_version': platform.python_version(),
    }

    info = collected(WorkerCollector())

    assert info.get_sample_value('placement_worker_build_info', labels) == 1
    names = {family.name for family in info.collect()}
    assert names == {
        'placement_worker_build', 'process_start_time_seconds', 'placement_worker_process_deaths'
    }  # fmt: skip


@pytest.fixture
def exporter(tmp_path, monkeypatch):
    """Return an exporter that adds a file `closed` to its folder when it is closed."""
    monkeypatch.setattr(values, 'ValueClass', values.ValueClass)
    monkeypatch.setenv('PROMETHEUS_MULTIPROC_DIR', str(tmp_path))
    exporter = Exporter(0, '127.0.0.1', str(tmp_path), (tmp_path / 'closed').touch, None)
    yield exporter
    exporter.close()


def scraped(exporter):
    """Return the values that Prometheus reads, added up by metric."""
    port = exporter._server.server_port
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics') as response:
        families = text_string_to_metric_families(response.read().decode())
    totals = Counter()
    for family in families:
        for sample in family.samples:
            totals[sample.name.removeprefix('placement_worker_')] += sample.value
    return totals


def process(folder, number, *events):
    code = (
        'from placement_worker.events.types import *\n'
        'from placement_worker.metrics.prometheus import Exporter\n'
        f'exporter = Exporter(0, "127.0.0.1", {str(folder)!r}, lambda: None, None)\n'
        f'metrics = exporter.begin({number}, ["t"])\n'
        f'for event in {list(events)!r}: metrics.handle(event)\n'
    )
    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)


def test_metrics_of_all_processes_are_added_up_across_the_death_of_one(exporter, tmp_path):
    """A process that takes the place of a dead one continues its counters in the same files."""
    process(tmp_path, 0, MessageHandled('TAKEN', 't'), LoadBalancerUpdated())
    process(tmp_path, 1, LoadBalancerUpdated(), LoadBalancerUpdated())
    files = sorted(tmp_path.iterdir())
    before = scraped(exporter)
    exporter.process_died(None, 0, 1)
    after = scraped(exporter)
    process(tmp_path, 0, LoadBalancerUpdated())
    replaced = scraped(exporter)

    names = (
        'load_balancer_updates_total', 'requests_in_work', 'process_deaths_total', 'build_info',
    )  # fmt: skip
    assert [[totals[name] for name in names] for totals in (before, after, replaced)] == [
        [3, 1, 0, 1],
        [3, 0, 1, 1],
        [4, 0, 1, 1],
    ]
    assert 0 < replaced['process_start_time_seconds'] < time.time()
    assert sorted(tmp_path.iterdir()) == files


def test_close_of_the_exporter_frees_the_port_and_calls_back(exporter, tmp_path):
    """A closed exporter no longer responds, and reports that it is closed."""
    assert list(tmp_path.glob('closed')) == []

    exporter.close()

    assert (tmp_path / 'closed').exists()
    with pytest.raises(OSError, match='refused'):
        scraped(exporter)
