"""The process of a worker, over servers that record calls."""

import os
import threading

import pytest

from placement_worker.health.heartbeats import COLUMNS, Heartbeat, HeartbeatTable
from placement_worker.worker import guru_meditation, worker_process
from placement_worker.worker.worker_process import WorkerProcess


class Servers:
    """Servers that record what happens to them."""

    def __init__(self, stopping):
        self.stopping = stopping
        self.calls = []

    def start(self):
        self.calls.append('start')

    def stop(self):
        self.calls.append(('stop', self.stopping.is_set()))

    def log_long_requests(self):
        self.calls.append('log')

    def requests_in_flight(self):
        return 'a request'

    def heartbeats(self):
        return [Heartbeat(50, None, None)]


class Factory:
    """A factory of such servers."""

    def create(self, number, stopping):
        assert number == 0
        self.servers = Servers(stopping)
        return self.servers


@pytest.fixture
def factory():
    return Factory()


@pytest.fixture
def table():
    return HeartbeatTable([0.0] * COLUMNS, 0)


@pytest.fixture
def worker(factory, table, monkeypatch):
    """A process that is neither forked nor repeats anything."""
    monkeypatch.setattr('cotyledon.Service.__init__', _set_worker_id)
    return WorkerProcess(0, 'configuration', factory, table)


def _set_worker_id(service, worker_id):
    service.worker_id = worker_id


def test_process_enters_its_id_into_the_heartbeats(worker, table):
    """The watchdog names the process that has not polled."""
    assert table.read(0)[0].pid == os.getpid()


def test_run_publishes_heartbeats_and_starts_the_servers(worker, factory, table, monkeypatch):
    """The watchdog sees a process that waits for its broker, and hanging requests are logged."""
    repeated, sections = [], []
    monkeypatch.setattr(
        'placement_worker.health.periodic.repeat', lambda *call: repeated.append(call)
    )
    monkeypatch.setattr(
        guru_meditation.Report, 'register_section', lambda *section: sections.append(section)
    )

    worker.run()
    ((publish, interval_s),) = repeated
    publish()

    assert factory.servers.calls == ['start', 'log']
    assert sections == [('Requests in flight', factory.servers.requests_in_flight)]
    assert interval_s == 2
    assert table.read(60)[0].poll_age_s == 10


def test_terminate_ends_all_waits_before_it_stops_the_servers(worker, factory, table):
    """A reply that waits for its destination does not delay the end of the process."""
    worker.terminate()

    assert factory.servers.calls == [('stop', True)]
    assert table.read(60)[0].unserved_s is None


def test_reload_applies_the_mutable_options_without_a_restart(worker, monkeypatch):
    """SIGHUP does not end the requests in flight, and the parent alone logs the changes."""
    reloaded = []
    monkeypatch.setattr(
        worker_process, 'reload', lambda conf, **options: reloaded.append((conf, options))
    )

    worker.reload()

    assert reloaded == [('configuration', {'logs_changes': False})]


def test_process_creates_its_servers_with_an_event_that_is_not_set(worker, factory):
    """The stopping event ends the waits of this process alone."""
    assert isinstance(factory.servers.stopping, threading.Event)
    assert not factory.servers.stopping.is_set()
