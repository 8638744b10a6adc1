"""The listening connection: reconnection, wake-ups and bindings."""

import socket
import threading
import time
from types import SimpleNamespace

import pytest

from placement_worker.messaging.late_ack.listen_connection import ListenConnection
from tests.unit.messaging.late_ack.fakes import Clock


class DriverConnection:
    """A connection of the driver to a cluster; `alive` has one value per host."""

    def __init__(self, alive):
        self.alive, self.tried, self.consumed = alive, [], []
        self.max_retries = None
        self._consumers = {}
        self.transport_options = {}
        self.dropped_with_timeout = None
        self.connection = self.channel = self
        self.current, self.connected, self.refuses_consumers = 0, True, False
        self.sock, self.far_end = socket.socketpair()
        self.blocking_read = None

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
        if not self.sock.recv(100):
            raise ConnectionResetError('closed')

    def _heartbeat_supported_and_enabled(self):
        return True

    def _heartbeat_check(self):
        self.consumed.append('heartbeat')


class ListenedQueue:
    def __init__(self, connection, topic, callback):
        self.connection, self.topic, self.queue = connection, topic, self
        self._callback = callback

    def consume(self, connection, tag):
        if connection.refuses_consumers:
            raise ConnectionError('refused')
        connection.consumed.append(('consume', self.topic, tag))

    def queue_bind(self, nowait):
        assert nowait, 'a broker that does not respond must not stop the polling thread'
        self.connection.consumed.append(('bind', self.topic))


class Context:
    """The connection context that `_get_connection` of the driver returns."""

    def __init__(self, connection):
        self.connection = connection
        self.is_closed = False

    def close(self):
        self.is_closed = True


@pytest.fixture
def listen():
    """Make a ListenConnection to hosts; return it and the connection of the driver."""
    made = []

    def making(*alive):
        driver = DriverConnection(alive)
        connection = ListenConnection(Context(driver), Clock())
        connection.add_consumer('exchange', 'topic', None)
        connection.in_use.acquire()  # as the polling thread does
        made.append((connection, driver))
        return connection, driver

    yield making
    for connection, driver in made:
        connection.close()
        driver.collect()


@pytest.mark.parametrize('dead', [0, 1, 2])
def test_reconnect_tries_one_host_per_call_and_every_host(listen, dead):
    """A dead host in any position delays reconnecting by one attempt."""
    connection, driver = listen(*(position != dead for position in range(3)))
    driver.current = dead
    driver.collect()

    with pytest.raises(ConnectionRefusedError):
        connection.reconnect()
    connection.reconnect()

    assert driver.tried == [dead, (dead + 1) % 3]
    assert connection.is_connected


def test_wait_on_a_closed_socket_raises_and_reconnect_consumes_again(
    listen,
):
    """A lost connection raises an error, and its queues are consumed again after reconnecting."""
    connection, driver = listen(True)
    connection.wait(0)
    driver.far_end.shutdown(socket.SHUT_RDWR)

    with pytest.raises(ConnectionResetError):
        connection.wait(1)
    assert not connection.is_connected
    connection.reconnect()
    connection.wait(0)

    assert [one for one in driver.consumed if one != 'heartbeat'] == [('consume', 'topic', 1)] * 2


def test_reconnect_after_a_failed_acknowledgement_consumes_again(listen):
    """A connection that is lost outside of `wait` consumes again after reconnecting."""
    connection, driver = listen(True)
    connection.wait(0)
    lost = driver.sock
    driver.connected = False  # as py-amqp leaves a connection on which a write failed

    connection.reconnect()

    assert [one for one in driver.consumed if one != 'heartbeat'] == [('consume', 'topic', 1)] * 2
    assert lost.fileno() == -1, 'closed'


def test_wait_on_a_silent_connection_drops_it_without_waiting_for_its_peer(listen):
    """The end of TLS, which py-amqp waits for, does not delay the loss of a silent connection."""
    connection, driver = listen(True)
    connection.wait(0)
    driver.sock.settimeout(12)

    def fail():
        raise ConnectionError('Too many heartbeats missed')

    driver._heartbeat_check = fail
    with pytest.raises(ConnectionError):
        connection.wait(0)

    assert driver.dropped_with_timeout == 0


def test_reconnect_to_a_host_that_refuses_consumers_tries_the_next_host_later(listen):
    """A host that refuses consumers counts as a failed attempt, which a pause follows."""
    connection, driver = listen(True, True)
    driver.refuses_consumers = True

    with pytest.raises(ConnectionError):
        connection.reconnect()
    assert not connection.is_connected
    driver.refuses_consumers = False
    connection.reconnect()

    assert driver.tried == [0, 1]
    assert driver.consumed == [('consume', 'topic', 1)]


def test_consumer_of_a_topic_gets_messages_of_oslo_messaging_only(listen):
    """Each consumer drops messages whose content type is not that of oslo.messaging."""
    connection, driver = listen(True)
    taken, channel = [], SimpleNamespace(basic_reject=lambda tag, requeue: None)
    connection.add_consumer('exchange', 'topic.host', taken.append)
    messages = [
        SimpleNamespace(properties={'content_type': kind}, channel=channel, delivery_tag=1)
        for kind in ('application/json', 'text/plain')
    ]

    _, consumer = driver._consumers
    for message in messages:
        consumer._callback(message)

    assert taken == messages[:1]


def test_wait_lends_the_connection_while_it_waits_for_input(listen):
    """Another thread can acknowledge a request while the polling thread sleeps."""
    connection, _ = listen(True)
    lent = []

    def borrow():
        with connection.in_use:
            lent.append(True)
        connection.wake()

    borrower = threading.Thread(target=borrow)
    borrower.start()
    connection.wait(60)
    borrower.join()

    assert lent
    assert connection.in_use.locked(), 'the polling thread has the connection again'


def test_wait_ends_early_when_woken_or_when_input_arrives(listen):
    """Neither acknowledgements nor deliveries wait for the timeout."""
    connection, driver = listen(True)
    connection.wait(0)
    began = time.monotonic()

    connection.wake()
    connection.wait(60)
    driver.far_end.send(b'frame')
    connection.wait(60)

    assert time.monotonic() - began < 30


def test_wait_binds_the_queues_again_after_each_period(listen):
    """The deletion of the exchange, which also deletes the bindings, is noticed."""
    connection, driver = listen(True)
    for _ in range(50):
        connection.wait(0)

    assert driver.consumed.count(('bind', 'topic')) > 3


def test_cancelled_consumers_stay_cancelled_after_an_error(listen, caplog):
    """A lost connection has no consumers to cancel, gets none later, and logs nothing of it."""
    connection, driver = listen(True)
    driver.collect()

    connection.cancel_consumers()
    connection.reconnect()
    connection.wait(0)

    assert [one for one in driver.consumed if one != 'heartbeat'] == []
    assert caplog.messages == []


def test_cancel_that_fails_is_logged_and_the_stop_goes_on(listen, caplog):
    """A connection that breaks while the consumers are cancelled does not prevent a stop."""
    connection, driver = listen(True)
    driver.channel = None

    connection.cancel_consumers()

    assert caplog.messages == [
        "Failed to cancel a consumer: 'NoneType' object has no attribute 'basic_cancel'"
    ]
