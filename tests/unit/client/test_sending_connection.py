"""A connection that publishes: a broker that blocks it, and one that does not confirm."""

import threading

import pytest
from amqp import Message, spec
from amqp.exceptions import MessageNacked

from placement_worker.client import confirmed_publisher, sending_connection
from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.publish_errors import (
    BrokerUnavailable,
    DestinationMissing,
    DestinationRefused,
    PublishersBlocked,
)


class Connection:
    """A connection of kombu and its channel.

    `confirmations`: what each wait for a confirmation finds: an error, or None for an ack.
    `is_blocked`: whether the next wait reads that the broker blocks the connection.
    `is_full`: whether the broker does not read.
    """

    connected = True
    is_full = False

    def __init__(self, confirmations, is_blocked=False):
        self.confirmations = confirmations
        self.is_blocked = is_blocked
        self.events = {'basic_return': set()}
        self.connection = self
        self.closed = 0

    def opened(self, *, left_s, on_blocked, on_unblocked, **_):
        self.left_s, self.on_blocked, self.on_unblocked = left_s, on_blocked, on_unblocked
        return self

    def channel(self):
        return self

    def confirm_select(self):
        pass

    def send_method(self, method, signature, arguments, message):
        if self.is_full:
            raise TimeoutError('timed out')

    def wait(self, methods, callback=None, timeout=None):
        if self.is_blocked:
            self.is_blocked = False
            self.on_blocked('memory')
        found = self.confirmations.pop(0) if len(self.confirmations) > 1 else self.confirmations[0]
        if found == 'nack':
            callback(spec.Basic.Nack)
        elif found == 'return':
            for returned in self.events['basic_return']:
                returned()
        elif found:
            raise found

    @property
    def sock(self):
        return self

    def settimeout(self, seconds):
        self.timeout_s = seconds

    def close(self):
        self.closed += 1

    def collect(self):
        self.closed += 1


@pytest.fixture(autouse=True)
def without_ticks(monkeypatch):
    monkeypatch.setattr(sending_connection, 'TICK_S', 0.001)


def publisher_on(*connections):
    waiting = list(connections)
    return ConfirmedPublisher(lambda **more: waiting.pop(0).opened(**more), threading.Event())


def publish(publisher, timeout_s):
    publisher.publish(Message(b'{}'), 'e', 't', timeout_s)


def test_publish_to_a_broker_that_blocks_ends_after_the_timeout_of_the_caller():
    """A caller waits for the end of an alarm, but not longer than it wants to."""
    publisher = publisher_on(Connection([TimeoutError()], is_blocked=True))

    with pytest.raises(PublishersBlocked, match='it blocks publishers while it is short of memory'):
        publish(publisher, 0.05)


def test_publish_after_a_message_that_is_still_blocked_fails_without_another_message():
    """The messages of callers that try again do not pile up at a broker without memory."""
    blocked = Connection([TimeoutError()], is_blocked=True)
    publisher = publisher_on(blocked)
    for _ in range(3):
        with pytest.raises(PublishersBlocked):
            publish(publisher, 0.05)

    blocked.confirmations = [None]
    blocked.is_blocked = False
    publish(publisher, 0.05)
    assert not blocked.closed


def test_publish_whose_timeout_ends_after_an_alarm_names_none(monkeypatch):
    """The error does not name an alarm that has ended."""
    connection = Connection([TimeoutError()], is_blocked=True)
    now = 0.0

    def wait(*_, **__):
        nonlocal now
        now += 40
        connection.on_unblocked()
        raise TimeoutError

    monkeypatch.setattr(sending_connection.time, 'monotonic', lambda: now)
    connection.wait = wait

    with pytest.raises(BrokerUnavailable, match='no confirmation within 30 s') as failed:
        publish(publisher_on(connection), 35)
    assert not isinstance(failed.value, PublishersBlocked)


def test_publish_after_the_end_of_an_alarm_waits_for_no_old_message():
    """A message that its queue never confirms does not keep later ones from other queues."""
    blocked = Connection([TimeoutError()], is_blocked=True)
    other = Connection([None])
    publisher = publisher_on(blocked, other)
    with pytest.raises(PublishersBlocked):
        publish(publisher, 0.05)

    blocked.on_unblocked()
    publish(publisher, 0.05)

    assert blocked.closed
    assert other.left_s == 0.05


def test_publish_after_a_blocked_connection_is_lost_uses_another_one():
    """A broker that was restarted during its alarm serves again."""
    blocked = Connection([TimeoutError()], is_blocked=True)
    other = Connection([None])
    publisher = publisher_on(blocked, other)
    with pytest.raises(PublishersBlocked):
        publish(publisher, 0.05)
    blocked.confirmations = [ConnectionResetError()]

    publish(publisher, 0.05)

    assert blocked.closed
    assert other.left_s == 0.05


def test_publish_without_a_confirmation_of_a_broker_that_does_not_block_loses_the_connection():
    """A connection that is dead without notice is not used again."""
    silent = Connection([TimeoutError()])
    with pytest.raises(BrokerUnavailable, match=r'no confirmation within 0\.05 s'):
        publish(publisher_on(silent), 0.05)

    assert silent.closed


@pytest.mark.parametrize(
    ('is_blocked', 'cause'),
    [(True, 'it blocks publishers while it is short of memory'), (False, 'timed out')],
)
def test_publish_of_a_message_that_the_broker_stops_reading_names_an_alarm(is_blocked, cause):
    """A large message fails with the cause; its connection, where half of it is, is not kept."""
    connection = Connection([TimeoutError()], is_blocked)
    connection.is_full = True
    other = Connection([None])
    publisher = publisher_on(connection, other)

    with pytest.raises(BrokerUnavailable, match=cause) as failed:
        publish(publisher, 60)
    assert connection.closed
    assert failed.value.was_lost == (not is_blocked)
    assert not isinstance(failed.value, PublishersBlocked)
    publish(publisher, 60)


@pytest.mark.parametrize(
    ('found', 'error'),
    [('return', DestinationMissing), (MessageNacked(), DestinationRefused)],
)
@pytest.mark.parametrize('is_late', [False, True])
def test_publish_that_no_queue_takes_is_refused_and_keeps_the_connection(found, error, is_late):
    """A refusal that arrives late is one, too."""
    late = 'nack' if isinstance(found, MessageNacked) else found
    connection = Connection([TimeoutError(), late, None] if is_late else [found, None])
    publisher = publisher_on(connection)

    with pytest.raises(error):
        publish(publisher, 5)
    publish(publisher, 5)

    assert not connection.closed


def test_close_during_a_publication_closes_its_connection_after_it():
    """A client that is closed while it publishes leaves no connection."""
    connection = Connection([None])
    publisher = publisher_on(connection)

    def close_meanwhile(*_):
        publisher.close()

    connection.send_method = close_meanwhile
    publish(publisher, 5)

    assert connection.closed


def test_connections_of_a_burst_are_closed_when_they_have_been_idle(monkeypatch):
    """A broker does not keep the connections of one busy minute for the life of an engine."""
    burst, used = Connection([None]), Connection([None])
    publisher = publisher_on(burst, used)

    def publish_meanwhile(*_):
        del burst.send_method
        publish(publisher, 5)  # needs the second connection

    burst.send_method = publish_meanwhile
    publish(publisher, 5)
    assert not burst.closed
    assert not used.closed
    monkeypatch.setattr(confirmed_publisher, 'IDLE_S', 0)
    publish(publisher, 5)

    assert used.closed
    assert not burst.closed


def test_close_closes_a_blocked_connection():
    """A client that is closed during an alarm leaves no connection."""
    blocked = Connection([TimeoutError()], is_blocked=True)
    publisher = publisher_on(blocked)
    with pytest.raises(PublishersBlocked):
        publish(publisher, 0.05)

    publisher.close()

    assert blocked.closed
