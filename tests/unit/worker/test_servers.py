"""The servers of a process, with objects that record calls in place of those of oslo.messaging."""

import threading

import pytest

from placement_worker.worker import servers as module
from placement_worker.worker.servers import Server, Servers


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

    Servers([Server(one, 8), Server(other, 1)], [], []).start()

    assert (one.calls, other.calls) == ([('start', 8)], [('start', 1)])


def test_stop_waits_for_servers_with_a_broker_alone():
    """A server that has not reached its broker has no requests and would wait for ever."""
    connected, waiting = RecordingServer(connected=True), RecordingServer(connected=False)
    sender, transport = RecordingTransport(), RecordingTransport()

    Servers([Server(connected, 1), Server(waiting, 1)], [transport], [sender]).stop()

    assert connected.calls == ['stop', 'wait']
    assert waiting.calls == []
    assert sender.closed
    assert transport.closed


def test_stop_does_not_wait_for_a_transport_without_its_broker(monkeypatch, blocked):
    """A worker can be stopped while its broker is away."""
    monkeypatch.setattr(module, 'CLOSE_S', 0.01)
    transport, lost = RecordingTransport(), RecordingTransport(blocked)

    Servers([Server(RecordingServer(connected=False), 1)], [transport, lost], []).stop()

    assert transport.closed
    assert not lost.closed


def test_heartbeats_of_servers_without_a_listener_are_none():
    """The watchdog does not report a process ready whose servers still look for their broker."""
    servers = Servers([Server(RecordingServer(connected=False), 1)], [], [])

    assert servers.heartbeats() == [None]
