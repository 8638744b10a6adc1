"""The export of the metrics of several processes on one port."""

import subprocess
import sys
import time
import urllib.request
from collections import Counter

import pytest
from prometheus_client import values
from prometheus_client.parser import text_string_to_metric_families

from placement_worker.events.types import LoadBalancerUpdated, MessageTaken
from placement_worker.metrics.multiprocess import Exporter


@pytest.fixture
def closed():
    """Return a list that gets an entry when the exporter is closed."""
    return []


@pytest.fixture
def exporter(tmp_path, monkeypatch, closed):
    monkeypatch.setattr(values, 'ValueClass', values.ValueClass)
    monkeypatch.setenv('PROMETHEUS_MULTIPROC_DIR', str(tmp_path))
    exporter = Exporter(0, '127.0.0.1', str(tmp_path), lambda: closed.append('closed'))
    yield exporter
    exporter.close()


def scraped(exporter):
    """Return the values that Prometheus reads, added up by metric."""
    port = exporter._server.port
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics') as response:
        families = text_string_to_metric_families(response.read().decode())
    found = Counter()
    for family in families:
        for sample in family.samples:
            found[sample.name.removeprefix('placement_worker_')] += sample.value
    return found


def process(folder, number, *events):
    """Report events in a process with this number."""
    code = (
        'from placement_worker.events.types import *\n'
        'from placement_worker.metrics.multiprocess import Exporter\n'
        f'exporter = Exporter(0, "127.0.0.1", {str(folder)!r}, lambda: None)\n'
        f'metrics = exporter.begin({number}, ["t"])\n'
        f'for event in {list(events)!r}: metrics.handle(event)\n'
    )
    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)


def test_metrics_of_all_processes_are_added_up(exporter, tmp_path):
    """Prometheus reads the sum over the processes."""
    process(tmp_path, 0, LoadBalancerUpdated())
    process(tmp_path, 1, LoadBalancerUpdated(), LoadBalancerUpdated())

    assert scraped(exporter)['load_balancer_updates_total'] == 3


def test_process_that_replaces_a_dead_one_continues_its_counters(exporter, tmp_path):
    """A process with the number of a dead one continues in its files."""
    process(tmp_path, 0, LoadBalancerUpdated())
    files = sorted(tmp_path.iterdir())
    exporter.process_died(None, 0, 1)
    process(tmp_path, 0, LoadBalancerUpdated())

    assert scraped(exporter)['load_balancer_updates_total'] == 2
    assert sorted(tmp_path.iterdir()) == files


def test_requests_in_flight_of_a_dead_process_are_reset(exporter, tmp_path):
    """A dead process has no request in flight, and its counters stay."""
    process(tmp_path, 0, MessageTaken('t'), LoadBalancerUpdated())
    assert scraped(exporter)['requests_in_work'] == 1

    exporter.process_died(None, 0, 1)

    assert scraped(exporter)['requests_in_work'] == 0
    assert scraped(exporter)['load_balancer_updates_total'] == 1


def test_death_of_a_process_is_counted_by_the_parent(exporter, tmp_path):
    """A process that keeps dying is visible, also if it handles no request."""
    process(tmp_path, 0)
    assert scraped(exporter)['process_deaths_total'] == 0

    exporter.process_died(None, 0, 1)
    process(tmp_path, 0)
    exporter.process_died(None, 0, 1)

    assert scraped(exporter)['process_deaths_total'] == 2


def test_versions_and_start_time_of_several_processes_are_those_of_the_parent(exporter, tmp_path):
    """Prometheus reads the version and the start time once per worker."""
    process(tmp_path, 0, LoadBalancerUpdated())
    process(tmp_path, 1, LoadBalancerUpdated())

    found = scraped(exporter)
    assert found['build_info'] == 1
    assert 0 < found['process_start_time_seconds'] < time.time()


def test_close_of_the_exporter_frees_the_port_and_calls_back(tmp_path, monkeypatch, closed):
    """A closed exporter no longer responds, and reports that it is closed."""
    monkeypatch.setattr(values, 'ValueClass', values.ValueClass)
    monkeypatch.setenv('PROMETHEUS_MULTIPROC_DIR', str(tmp_path))
    exporter = Exporter(0, '127.0.0.1', str(tmp_path), lambda: closed.append('closed'))

    exporter.close()

    assert closed == ['closed']
    with pytest.raises(OSError, match='refused'):
        scraped(exporter)
