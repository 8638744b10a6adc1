"""A process of the worker and its servers, over objects that record calls."""

import os
import threading
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest
from oslo_messaging._drivers import base

from placement_worker.health.watchdog import COLUMNS, HeartbeatTable
from placement_worker.late_ack.listener import LateAckListener
from placement_worker.worker import guru_meditation
from placement_worker.worker import servers as module
from placement_worker.worker.servers import Server, Servers, WorkerProcess
from tests.unit.late_ack.fakes import Connection, Driver


def server(threads=1, listener=None):
    """Return a server that records its calls; without a listener it has not reached its broker."""
    recording = Mock(spec_set=['listener', 'start', 'stop', 'wait'], listener=listener)
    return Server(recording, threads, 60)


@pytest.fixture
def blocked():
    """An event that a transport without a broker waits for; set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def test_stop_waits_for_servers_with_a_broker_alone():
    """Each server has its threads; one without a broker has no requests and would never stop."""
    connected, waiting = server(8, listener=object()), server(1)
    sender, transport = Mock(spec_set=['close']), Mock(spec_set=['cleanup'])
    servers = Servers([connected, waiting], [transport], [sender])

    servers.start()
    heartbeats = Servers([waiting], [], []).heartbeats()
    servers.stop()

    start, stop = call.start, [call.stop(), call.wait()]
    assert connected.rpc_server.mock_calls == [start(override_pool_size=8), *stop]
    assert waiting.rpc_server.mock_calls == [start(override_pool_size=1)]
    assert heartbeats == [None]
    assert (sender.mock_calls, transport.mock_calls) == ([call.close()], [call.cleanup()])


def test_stop_does_not_wait_for_a_transport_without_its_broker(monkeypatch, blocked):
    """A worker can be stopped while its broker is away."""
    monkeypatch.setattr(module, 'CLOSE_S', 0.01)
    transport, closed = Mock(spec_set=['cleanup']), []
    lost = SimpleNamespace(cleanup=lambda: closed.append(blocked.wait()))

    Servers([server()], [transport, lost], []).stop()

    assert (transport.mock_calls, closed) == ([call.cleanup()], [])


class ListeningServer:
    """An RPC server of the topic t with one request in flight since the time 100."""

    def __init__(self, clock):
        listener = LateAckListener(Driver(), Connection(), 't', monotonic=clock)
        message = {'key': 1, 'is_logged': False, 'message': {'method': 'm'}, 'ctxt': {}}
        listener.in_flight.add(SimpleNamespace(**message))
        self.listener = base.PollStyleListenerAdapter(listener, 1, None)


def test_requests_in_flight_are_reported_and_logged_after_the_bound_of_their_queue(caplog):
    """The report has all topics; a request of the slow topic may take longer than of the first."""
    now = [100]
    fast, slow = (ListeningServer(lambda: now[0]) for _ in range(2))
    servers = Servers([Server(fast, 1, 60), Server(slow, 1, 600), server()], [], [])

    now[0] = 170
    servers.log_long_requests()

    line = 'm has been in flight for 70 s (request unknown, topic t)'
    assert caplog.messages == [line]
    assert servers.requests_in_flight() == f'{line}\n{line}'
    assert Servers([server()], [], []).requests_in_flight() == 'none'


@pytest.fixture
def table():
    return HeartbeatTable([0.0] * COLUMNS, 0)


@pytest.fixture
def servers():
    recording = Mock(spec_set=[name for name in vars(Servers) if not name.startswith('_')])
    recording.heartbeats.return_value = [(50, None, None)]
    return recording


@pytest.fixture
def worker(table, servers, monkeypatch):
    """A process that is neither forked nor repeats anything."""
    monkeypatch.setattr(
        'cotyledon.Service.__init__', lambda service, number: setattr(service, 'worker_id', number)
    )
    created = []
    worker = WorkerProcess(0, 'configuration', lambda *how: created.append(how) or servers, table)
    ((number, worker.stopping),) = created
    assert (number, worker.stopping.is_set()) == (0, False)
    return worker


def test_run_publishes_heartbeats_and_starts_the_servers(worker, servers, table, monkeypatch):
    """The watchdog sees a process that waits for its broker, and hanging requests are logged."""
    repeat, register = Mock(), Mock()
    monkeypatch.setattr(module.watchdog, 'repeat_in_thread', repeat)
    monkeypatch.setattr(guru_meditation.Report, 'register_section', register)

    worker.run()
    ((publish, interval_s),) = (repeated.args for repeated in repeat.mock_calls)
    publish()

    assert servers.mock_calls == [call.start(), call.heartbeats(), call.log_long_requests()]
    assert register.mock_calls == [call('Requests in flight', servers.requests_in_flight)]
    assert interval_s == 2
    assert table.read(60)[0].pid == os.getpid()
    assert table.read(60)[0].poll_age_s == 10


def test_terminate_ends_all_waits_before_it_stops_the_servers(worker, servers, table):
    """A reply that waits for its destination does not delay the end of the process."""
    stopping = []
    servers.stop.side_effect = lambda: stopping.append(worker.stopping.is_set())

    worker.terminate()

    assert stopping == [True]
    assert table.read(60)[0].unserved_s is None


def test_reload_of_a_process_applies_the_mutable_options_without_a_restart(worker, monkeypatch):
    """SIGHUP does not end the requests in flight, and the parent alone logs the changes."""
    reloaded = []
    monkeypatch.setattr(module, 'reload', lambda conf, **how: reloaded.append((conf, how)))

    worker.reload()

    assert reloaded == [('configuration', {'logs_changes': False})]
