"""The confirmations of messages that are published together."""

import collections
import socket
from types import SimpleNamespace

import pytest
from amqp import Message
from amqp.exceptions import RecoverableConnectionError

from placement_worker.client import sending_connection
from placement_worker.client.sending_connection import CONFIRM_S
from placement_worker.messaging import batch_connection
from placement_worker.messaging.batch_connection import BatchConnection, Publication


class Broker:
    """A connection of kombu, its channel, and what the broker does while a client waits."""

    def __init__(self, **options):
        self.options = options
        self.connection = SimpleNamespace(
            sock=SimpleNamespace(setsockopt=self._set, settimeout=self._bound)
        )
        self.events = collections.defaultdict(set)
        self.steps = collections.deque()
        self.done = []

    def _set(self, level, option, value):
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_CORK)
        self.done.append('collect' if value else 'send')

    def _bound(self, seconds):
        self.bound_s = seconds

    def channel(self):
        return self

    def confirm_select(self):
        self.done.append('confirm')

    def send_method(self, method, signature, arguments, message):
        self.done.append(message.body)

    def drain_events(self, timeout):
        step = self.steps.popleft()
        step()

    @property
    def connected(self):
        return True

    def collect(self):
        self.done.append('closed')

    def settle(self, event, tag, *, multiple=False):
        """Let the broker confirm or reject messages when the client waits."""
        self.steps.append(lambda: [call(tag, multiple) for call in self.events[f'basic_{event}']])

    def pass_time(self):
        """Let a wait of the client end without an event."""

        def step():
            raise TimeoutError

        self.steps.append(step)


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def connection(broker):
    def connect(**options):
        broker.options = options
        return broker

    return BatchConnection(connect)


def batch(*names):
    return [Publication(Message(name), 'exchange', 'key', name) for name in names]


def names(messages):
    return [one.name for one in messages]


def test_messages_are_written_together_before_the_first_confirmation(broker, connection):
    """The broker gets a batch in one packet, and confirms all of it at once."""
    broker.settle('ack', 2, multiple=True)
    messages = batch('a', 'b')

    connection.publish(messages)

    assert broker.done == ['confirm', 'collect', 'a', 'b', 'send']
    assert messages == []


def test_confirmations_in_another_order_belong_to_their_messages(broker, connection):
    """A queue that rejects one message of a batch leaves that one, whatever the order."""
    messages = batch('a', 'b', 'c')
    broker.settle('ack', 3)
    broker.settle('nack', 2)
    broker.settle('ack', 1)

    connection.publish(messages)

    assert names(messages) == ['b']


def test_confirmations_of_the_next_batch_are_counted_on(broker, connection):
    """The numbers of confirmations continue on a connection."""
    for tag, name in ((1, 'a'), (2, 'b')):
        broker.settle('ack', tag)
        messages = batch(name)
        connection.publish(messages)

        assert messages == []


def test_message_that_no_queue_takes_remains(broker, connection):
    """The broker returns such a message, and confirms it afterwards."""
    messages = [*batch('a'), Publication(Message('b'), 'exchange', 'other', 'b')]

    def give_back():
        for call in broker.events['basic_return']:
            call(None, 'exchange', 'other', None)

    broker.steps.append(give_back)
    broker.settle('ack', 2, multiple=True)
    connection.publish(messages)

    assert names(messages) == ['b']
    assert connection.unrouted == {'other'}
    broker.settle('ack', 3)
    connection.publish(batch('c'))
    assert connection.unrouted == set()


@pytest.mark.parametrize(
    ('announces', 'cause'), [(True, 'it blocks publishers while'), (False, 'timed out')]
)
def test_batch_that_the_broker_stops_reading_names_an_alarm(broker, connection, announces, cause):
    """A large batch fails with the cause, which the broker announces before it stops reading."""

    def write(*_):
        raise TimeoutError('timed out')

    def wait(methods, timeout):
        if announces:
            broker.options['on_blocked']('low on memory')
        raise TimeoutError

    broker.send_method, broker.wait = write, wait
    messages = batch('a')
    error = TimeoutError if announces else RecoverableConnectionError
    with pytest.raises(error, match=cause):
        connection.publish(messages)

    assert names(messages) == ['a']


def test_lost_connection_leaves_what_is_not_confirmed(broker, connection):
    """A message that was confirmed before the connection was lost is not sent again."""
    messages = batch('a', 'b')
    broker.settle('ack', 1)

    def lose():
        raise ConnectionResetError

    broker.steps.append(lose)
    with pytest.raises(ConnectionResetError):
        connection.publish(messages)

    assert names(messages) == ['b']


def test_missing_confirmation_ends_the_wait(broker, connection, monkeypatch):
    """The wait for a broker that confirms nothing, and does not say why, is bounded."""
    monkeypatch.setattr(batch_connection, 'CONFIRM_S', 0)
    broker.pass_time()

    with pytest.raises(TimeoutError, match='no confirmation within 0 s'):
        connection.publish(batch('a'))


def test_broker_that_blocks_the_connection_is_waited_for(broker, connection, monkeypatch, caplog):
    """A memory or disk alarm has no bound; the log says why notifications wait."""
    monkeypatch.setattr(batch_connection, 'CONFIRM_S', 0)
    messages = batch('a')
    broker.steps.append(lambda: broker.options['on_blocked']('low on memory'))
    broker.pass_time()
    broker.settle('ack', 1)

    connection.publish(messages)

    assert messages == []
    assert caplog.messages == [
        'The broker blocks a connection (memory or disk alarm): notifications wait until the alarm '
        'ends'
    ]


def test_wait_after_the_end_of_an_alarm_is_bounded_again(broker, connection, monkeypatch):
    """The time of an alarm does not count: a broker confirms its backlog afterwards."""
    now = 0.0

    def pass_time(seconds):
        nonlocal now
        now += seconds

    monkeypatch.setattr(sending_connection.time, 'monotonic', lambda: now)
    broker.steps.append(lambda: broker.options['on_blocked']('low on memory'))
    broker.steps.append(lambda: pass_time(CONFIRM_S + 1))
    broker.steps.append(broker.options['on_unblocked'])
    broker.pass_time()
    broker.steps.append(lambda: pass_time(CONFIRM_S + 1))
    broker.pass_time()

    with pytest.raises(TimeoutError):
        connection.publish(batch('a'))
    assert not broker.steps


def test_connection_without_a_channel_is_closed(broker):
    """A connection that cannot be used is not left open."""

    def fail():
        raise ConnectionResetError

    broker.confirm_select = fail
    with pytest.raises(ConnectionResetError):
        BatchConnection(lambda **_: broker)

    assert broker.done == ['closed']


def test_drop_bounds_the_last_message_of_tls(broker, connection):
    """A broker that is frozen does not hold up the next connection."""
    connection.drop()

    assert broker.done[-1] == 'closed'
    assert broker.bound_s < 1
