"""A process of the worker and its servers, over objects that record calls."""

import os
import threading
from types import SimpleNamespace

import pytest
from oslo_messaging._drivers import base

from placement_worker.health.watchdog import COLUMNS, Heartbeat, HeartbeatTable
from placement_worker.late_ack.listener import LateAckListener
from placement_worker.worker import guru_meditation
from placement_worker.worker import servers as module
from placement_worker.worker.servers import Server, Servers, WorkerProcess
from tests.unit.late_ack.fakes import Connection, Driver


class RecordingServer:
    """An RPC server that records its calls."""

    def __init__(self, *, connected):
        self.listener = object() if connected else None
        self.calls = []

    def start(self, override_pool_size):
        self.calls.append(('start', override_pool_size))

    def stop(self):
        self.calls.append('stop')

    def wait(self):
        self.calls.append('wait')


class RecordingTransport:
    """A transport, and the sender: both end with one call."""

    def __init__(self, blocked=None):
        self.closed = False
        self._blocked = blocked

    def cleanup(self):
        if self._blocked:
            self._blocked.wait()
        self.closed = True

    close = cleanup


@pytest.fixture
def blocked():
    """An event that a transport without a broker waits for; set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def test_start_gives_each_server_its_number_of_threads():
    """Each queue has a thread pool of its own."""
    one, other = RecordingServer(connected=False), RecordingServer(connected=False)

    Servers([Server(one, 8, 60), Server(other, 1, 60)], [], []).start()

    assert (one.calls, other.calls) == ([('start', 8)], [('start', 1)])


def test_stop_waits_for_servers_with_a_broker_alone():
    """A server that has not reached its broker has no requests and would wait for ever."""
    connected, waiting = RecordingServer(connected=True), RecordingServer(connected=False)
    sender, transport = RecordingTransport(), RecordingTransport()

    Servers([Server(connected, 1, 60), Server(waiting, 1, 60)], [transport], [sender]).stop()

    assert connected.calls == ['stop', 'wait']
    assert waiting.calls == []
    assert sender.closed
    assert transport.closed


def test_stop_does_not_wait_for_a_transport_without_its_broker(monkeypatch, blocked):
    """A worker can be stopped while its broker is away."""
    monkeypatch.setattr(module, 'CLOSE_S', 0.01)
    transport, lost = RecordingTransport(), RecordingTransport(blocked)

    Servers([Server(RecordingServer(connected=False), 1, 60)], [transport, lost], []).stop()

    assert transport.closed
    assert not lost.closed


def test_heartbeats_of_servers_without_a_listener_are_none():
    """The watchdog does not report a process ready whose servers still look for their broker."""
    servers = Servers([Server(RecordingServer(connected=False), 1, 60)], [], [])

    assert servers.heartbeats() == [None]


class ListeningServer:
    """An RPC server of the topic t with one request in flight since the time 100."""

    def __init__(self, clock):
        listener = LateAckListener(Driver(), Connection(), 't', monotonic=clock)
        listener.in_flight.add(
            SimpleNamespace(key=1, is_logged=False, message={'method': 'm'}, ctxt={})
        )
        self.listener = base.PollStyleListenerAdapter(listener, 1, None)


def test_long_requests_are_logged_by_the_bound_of_their_queue(caplog):
    """A request of the slow topic may take longer than one of the first topic."""
    now = [100]
    fast, slow = (ListeningServer(lambda: now[0]) for _ in range(2))
    waiting = RecordingServer(connected=False)
    servers = Servers([Server(fast, 1, 60), Server(slow, 1, 600), Server(waiting, 1, 60)], [], [])

    now[0] = 170
    servers.log_long_requests()

    (line,) = caplog.messages
    assert line == 'm has been in flight for 70 s (request unknown, topic t)'


def test_requests_in_flight_of_all_servers_are_a_line_each():
    """The report of a process lists the requests of all topics."""
    servers = Servers([Server(ListeningServer(lambda: 100), 1, 60) for _ in range(2)], [], [])
    idle = Servers([Server(RecordingServer(connected=False), 1, 60)], [], [])

    line = 'm has been in flight for 0 s (request unknown, topic t)'
    assert servers.requests_in_flight() == f'{line}\n{line}'
    assert idle.requests_in_flight() == 'none'


class RecordingServers:
    """Servers of a process that record what happens to them."""

    def __init__(self, number, stopping):
        assert (number, stopping.is_set()) == (0, False)
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


@pytest.fixture
def table():
    return HeartbeatTable([0.0] * COLUMNS, 0)


@pytest.fixture
def worker(table, monkeypatch):
    """A process that is neither forked nor repeats anything."""
    monkeypatch.setattr(
        'cotyledon.Service.__init__', lambda service, number: setattr(service, 'worker_id', number)
    )
    return WorkerProcess(0, 'configuration', RecordingServers, table)


def test_run_publishes_heartbeats_and_starts_the_servers(worker, table, monkeypatch):
    """The watchdog sees a process that waits for its broker, and hanging requests are logged."""
    repeated, sections = [], []
    monkeypatch.setattr(module.watchdog, 'repeat_in_thread', lambda *call: repeated.append(call))
    monkeypatch.setattr(
        guru_meditation.Report, 'register_section', lambda *section: sections.append(section)
    )

    worker.run()
    ((publish, interval_s),) = repeated
    publish()

    assert worker._servers.calls == ['start', 'log']
    assert [(title, section()) for title, section in sections] == [
        ('Requests in flight', 'a request')
    ]
    assert interval_s == 2
    assert table.read(60)[0].pid == os.getpid()
    assert table.read(60)[0].poll_age_s == 10


def test_terminate_ends_all_waits_before_it_stops_the_servers(worker, table):
    """A reply that waits for its destination does not delay the end of the process."""
    worker.terminate()

    assert worker._servers.calls == [('stop', True)]
    assert table.read(60)[0].unserved_s is None


def test_reload_of_a_process_applies_the_mutable_options_without_a_restart(worker, monkeypatch):
    """SIGHUP does not end the requests in flight, and the parent alone logs the changes."""
    reloaded = []
    monkeypatch.setattr(module, 'reload', lambda conf, **how: reloaded.append((conf, how)))

    worker.reload()

    assert reloaded == [('configuration', {'logs_changes': False})]
