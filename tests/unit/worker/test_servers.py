"""The servers of a process, with objects that record calls in place of those of oslo.messaging."""

import threading
from types import SimpleNamespace

import pytest
from oslo_messaging._drivers import base

from placement_worker.late_ack.listener import LateAckListener
from placement_worker.worker import servers as module
from placement_worker.worker.servers import Server, Servers
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
        listener.in_flight.add(SimpleNamespace(key=1, message={'method': 'm'}, ctxt={}))
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
