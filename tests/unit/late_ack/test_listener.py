"""The listener: deliveries, acknowledgements, stops and reconnections."""

import json
import logging
import socket
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from oslo_messaging._drivers import base

from placement_worker.late_ack import listener as listener_module
from placement_worker.late_ack.listener import REMEMBERED, LateAckListener, ListenConnection
from placement_worker.late_ack.parking import RETRIED
from placement_worker.late_ack.server import heartbeat
from tests.events import SteppingClock
from tests.unit.late_ack.fakes import Delivery, Driver, deliver, taken, turn


def test_request_is_acknowledged_when_it_is_finished_and_not_before(listener, connection):
    """A request in flight stays with the broker until it is finished."""
    delivery = Delivery('u1')
    deliver(listener, delivery)

    (request,) = listener.poll()
    request.acknowledge()  # as the stock server does before it begins
    assert request.begin()
    turn(listener, connection)
    assert delivery.settled == []
    request.finish()
    turn(listener, connection)

    assert delivery.settled == ['acknowledged']


def test_redelivery_of_a_request_in_flight_is_settled_instead_of_the_first_delivery(
    listener, connection
):
    """A request that is redelivered on a new connection runs once and is settled there."""
    first, again = (
        Delivery('u1', broken=True),
        Delivery('u1', channel='channel-2', redelivered=True),
    )
    request = taken(listener, first)

    deliver(listener, again)
    request.finish()
    turn(listener, connection)

    assert (first.settled, again.settled) == ([], ['acknowledged'])


@pytest.mark.parametrize('is_broken', [True, False])
def test_finished_request_that_comes_again_is_dropped(listener, connection, is_broken):
    """A finished request is not handled again, e.g. if its acknowledgement was lost.

    A request that an operator retries is not taken for the one that was parked.
    """
    request = taken(listener, Delivery('u1', broken=is_broken))
    request.finish()
    turn(listener, connection)

    again = Delivery('u1', channel='channel-2', redelivered=True)
    retried = Delivery('u1')
    retried._raw_message.headers[RETRIED] = 'p1'
    deliver(listener, again, retried)

    assert (again.settled, retried.settled) == (['acknowledged'], [])
    assert len(listener.poll()) == 1


def test_the_same_request_published_twice_runs_once(listener, connection):
    """Two messages with the same unique id on one channel are one request."""
    first, second = Delivery('u1'), Delivery('u1')

    deliver(listener, first, second)

    assert len(listener.poll()) == 1
    assert (first.settled, second.settled) == ([], ['acknowledged'])


@pytest.mark.parametrize('unique_id', [['u1'], 'u' * 256])
def test_delivery_with_a_malformed_id_raises_value_error(listener, unique_id):
    """The driver rejects a message whose unique id is not a string or is too long."""
    with pytest.raises(ValueError, match='unique id'):
        deliver(listener, Delivery(unique_id))


def test_finished_requests_beyond_the_limit_are_forgotten_oldest_first(listener, connection):
    """The memory of finished requests is bounded."""
    for number in range(REMEMBERED + 10):
        request = taken(listener, Delivery(f'u{number}'))
        request.finish()
    turn(listener, connection)

    assert len(listener._finished) == REMEMBERED
    assert f'u{REMEMBERED + 9}' in listener._finished


def test_stop_gives_back_waiting_requests_and_waits_for_those_in_flight(listener, connection):
    """A stop loses no request: other workers get those that no thread has begun."""
    begun, polled, arrived = Delivery('u1'), Delivery('u2'), Delivery('u3')
    deliver(listener, begun, polled, arrived)
    (first,), (second,) = listener.poll(), listener.poll()
    first.begin()

    listener.stop()
    turn(listener, connection)

    assert not connection.has_consumers
    assert (begun.settled, polled.settled, arrived.settled) == ([], ['given back'], ['given back'])
    assert not second.begin(), 'the request belongs to another worker'
    first.finish()
    assert listener.poll() == []
    assert begun.settled == ['acknowledged']


def test_request_that_could_not_be_requeued_is_not_remembered_as_finished(listener, connection):
    """A request that was not handled here is handled when it is redelivered."""
    deliver(listener, Delivery('u1', broken=True))
    listener.stop()

    assert listener.poll() == []
    assert 'u1' not in listener._finished


def test_listener_without_a_connection_reconnects_and_polls_between_attempts(
    connection, monkeypatch, caplog
):
    """Each attempt counts as a poll; the heartbeat and the log have the time of the loss."""
    monkeypatch.setattr(listener_module, 'RECONNECT_PAUSE_S', 0)
    caplog.set_level(logging.INFO)
    listener = LateAckListener(Driver(), connection, 't', monotonic=SteppingClock())
    connection.refusals, connection.waiting = 100, [connection.lose]
    heartbeats = []

    def reconnect(once=connection.reconnect):
        heartbeats.append(
            heartbeat(SimpleNamespace(listener=base.PollStyleListenerAdapter(listener, 1, None)))
        )
        once()

    connection.reconnect = reconnect
    turn(listener, connection)

    assert (connection.attempts, listener.disconnected_at) == (101, None)
    assert len({lost_at for *_, lost_at in heartbeats} - {None}) == 1
    assert heartbeats[-1][0] > heartbeats[0][0]
    lost, *warnings, restored = caplog.messages
    assert lost == 'Lost the connection to the broker at broker:5672 (topic t): gone'
    assert restored.startswith('Reconnected to the broker at broker:5672 (topic t) after ')
    assert 3 < len(warnings) < 20
    assert all(' (topic t); broker:5672: refused' in warning for warning in warnings)


def test_stop_without_a_broker_waits_for_requests_in_flight_without_reconnecting(
    listener, connection
):
    """Without a connection a stop ends when the last request in flight has ended."""
    request = taken(listener, Delivery('u1', broken=True))
    connection.is_connected = False

    listener.stop()
    threading.Timer(0.1, request.finish).start()

    assert listener.poll() == []
    assert connection.attempts == 0


class DriverConnection:
    """A connection of the driver to a cluster; `alive` has one value per host."""

    def __init__(self, alive):
        self.alive, self.tried, self.consumed = alive, [], []
        self.max_retries = None
        self._consumers = {}
        self.dropped_with_timeout = None
        self.connection = self.channel = self._connection = self._transport = self
        self.transport_options = {}
        self.current, self.connected, self.refuses_consumers = 0, True, False
        self.sock, self.far_end = socket.socketpair()

    def __getattr__(self, name):
        return {'hostname': f'host-{self.current}', 'port': 5672}[name]

    def declare_topic_consumer(self, exchange_name, topic, callback):
        self._consumers[ListenedQueue(self, topic, callback)] = len(self._consumers) + 1

    def ensure_connection(self):
        assert self.max_retries == 0, 'one attempt'
        self.tried.append(self.current)
        if not self.alive[self.current]:
            raise ConnectionRefusedError
        self.connected = True
        self.sock, self.far_end = socket.socketpair()

    def basic_cancel(self, tag, nowait):
        assert nowait, 'a broker that does not respond must not delay a stop'
        self.consumed.append(('cancel', tag))

    def maybe_switch_next(self):
        self.current = (self.current + 1) % len(self.alive)

    def collect(self):
        if self.connected:
            self.dropped_with_timeout = self.sock.gettimeout()
        self.connected = False
        self.sock.close()
        self.far_end.close()

    def drain_events(self, timeout):
        self.sock.settimeout(timeout or 0.01)
        if not self.sock.recv(100):
            raise ConnectionResetError('closed')

    def _heartbeat_supported_and_enabled(self):
        return True

    def _heartbeat_check(self):
        self.consumed.append('heartbeat')


class ListenedQueue:
    def __init__(self, connection, topic, callback):
        self.connection, self.topic = connection, topic
        self._callback = callback

    def consume(self, connection, tag):
        if connection.refuses_consumers:
            raise ConnectionRefusedError
        connection.consumed.append(('consume', self.topic, tag))


@pytest.fixture
def listen():
    """Make a ListenConnection to hosts; return it and the connection of the driver."""
    made = []

    def making(*alive):
        driver = DriverConnection(alive)
        connection = ListenConnection(Mock(connection=driver))
        connection.add_consumer('exchange', 'topic', None)
        made.append((connection, driver))
        return connection, driver

    yield making
    for connection, driver in made:
        connection.close()
        driver.collect()


@pytest.mark.parametrize('refuses', ['connections', 'consumers'])
@pytest.mark.parametrize('dead', [0, 1, 2])
def test_reconnect_tries_one_host_per_call_and_every_host(listen, dead, refuses):
    """Any host that refuses connections or consumers delays reconnecting by one attempt."""
    is_away = refuses == 'connections'
    connection, driver = listen(*(not is_away or position != dead for position in range(3)))
    driver.current = (dead - 1) % 3
    driver.collect()
    driver.refuses_consumers = not is_away

    with pytest.raises(ConnectionRefusedError):
        connection.reconnect()
    assert not connection.is_connected
    driver.refuses_consumers = False
    connection.reconnect()

    assert driver.tried == [dead, (dead + 1) % 3]
    assert driver.consumed == [('consume', 'topic', 1)]
    assert connection.is_connected


def test_reconnect_to_a_host_that_sends_heartbeats_and_no_response_ends_in_time(
    listen, monkeypatch
):
    """A node that does not let a consumer in within the limit delays the next host no longer."""
    monkeypatch.setattr(listener_module, 'RESPONSE_S', 0.1)
    connection, _ = listen(True, True)
    monkeypatch.setattr(ListenedQueue, 'consume', lambda self, driver, tag: driver.drain_events(9))

    with pytest.raises(ConnectionResetError, match='closed'):
        connection.reconnect()

    assert not connection.is_connected


def test_wait_on_a_silent_connection_drops_it_without_waiting_for_its_peer(listen):
    """The end of TLS, which py-amqp waits for, does not delay the loss of a silent connection."""
    connection, driver = listen(True)
    connection.wait(0)

    def fail():
        raise ConnectionError('Too many heartbeats missed')

    driver._heartbeat_check = fail
    with pytest.raises(ConnectionError):
        connection.wait(0)

    assert driver.dropped_with_timeout == 0


def test_cancelled_consumers_stay_cancelled_after_an_error(listen, caplog):
    """A lost connection has no consumers to cancel, gets none later, and logs nothing of it."""
    connection, driver = listen(True)
    driver.collect()

    connection.cancel_consumers()
    connection.reconnect()
    connection.wait(0)

    assert [event for event in driver.consumed if event != 'heartbeat'] == []
    assert caplog.messages == []


def test_bodies_that_are_compressed_or_above_the_limit_are_refused(monkeypatch):
    """A body of the limit is decoded; none can fill the memory of the process."""
    compressions, serializers = {}, {}
    monkeypatch.setattr(
        'kombu.compression.register', lambda _, decode, kind: compressions.update({kind: decode})
    )
    monkeypatch.setattr(
        'kombu.serialization.register',
        lambda name, _, decode, *__: serializers.update({name: decode}),
    )
    listener_module.limit_bodies(lambda: 100)
    decode = serializers.pop('json')

    assert not serializers
    assert decode(json.dumps('x' * 98)) == 'x' * 98
    with pytest.raises(ValueError, match='at most 100 bytes, got 101'):
        decode('"' + 'x' * 99 + '"')
    assert 'application/x-gzip' in compressions
    for decompress in compressions.values():
        with pytest.raises(ValueError, match='not compressed'):
            decompress(b'')
