"""The queue of replies: its names, its declaration and the errors of the broker."""

import pytest
from amqp.exceptions import AccessRefused, PreconditionFailed

from placement_worker import errors
from placement_worker.client.reply_queue import ReplyQueue, check_names


class Connection:
    """A connection of kombu, with its connection and its channel of py-amqp."""

    def __init__(self, failure=None):
        self.connection = self.sock = self
        self.failure = failure
        self.declared = []
        self.is_dropped = self.is_closed = False
        self.inbound = []
        self.timeout = None

    def channel(self):
        return self

    def exchange_declare(self, name, kind, **flags):
        self.declared.append((name, kind, flags))

    def queue_declare(self, name, **flags):
        if self.failure:
            raise self.failure
        self.declared.append((name, flags))

    def queue_bind(self, *names):
        self.declared.append(names)

    def basic_qos(self, *limits):
        self.declared.append(limits)

    def basic_consume(self, name, callback):
        self.declared.append(name)
        self.callback = callback

    def drain_events(self, timeout):
        if not self.inbound:
            raise TimeoutError
        self.callback(self.inbound.pop())

    def heartbeat_tick(self):
        self.declared.append('heartbeat')

    def settimeout(self, seconds):
        self.timeout = seconds

    def close(self):
        self.is_closed = True

    def collect(self):
        self.is_dropped = True


def test_open_declares_a_durable_exchange_and_a_quorum_queue():
    """Replies survive a restart of the broker, and deliveries are counted one by one."""
    connection = Connection()

    ReplyQueue(lambda: connection, 'engine', 'replies')

    durable = {'durable': True, 'auto_delete': False}
    arguments = {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
    assert connection.declared == [
        ('engine', 'topic', durable),
        ('replies', {**durable, 'arguments': arguments}),
        ('replies', 'engine', 'replies'),
        (0, 1, False),
        'replies',
    ]


@pytest.mark.parametrize(
    ('failure', 'kind', 'text'),
    [
        (PreconditionFailed('other type'), errors.QueueMismatch, 'Use other names, or delete it'),
        (AccessRefused('no'), errors.BrokerRefused, 'the page "Security of the bus" of the manual'),
        (OSError('gone'), OSError, 'gone'),
    ],
)
def test_open_that_fails_closes_the_connection_and_names_the_remedy(failure, kind, text):
    """A declaration that the broker refuses is an error with a remedy, and leaks no connection."""
    connection = Connection(failure)

    with pytest.raises(kind, match=text):
        ReplyQueue(lambda: connection, 'engine', 'replies')

    assert connection.is_dropped


def test_receive_returns_each_message_once_and_sends_heartbeats():
    """A wait that ends without a message keeps the connection alive."""
    connection = Connection()
    queue = ReplyQueue(lambda: connection, 'engine', 'replies')
    connection.inbound.append('message')

    assert queue.receive(0) == 'message'
    assert queue.receive(0) is None
    assert connection.declared[-2:] == ['heartbeat', 'heartbeat']


def test_close_waits_for_the_broker_for_a_bounded_time():
    """A broker that does not respond does not delay the stop of an engine."""
    connection = Connection()

    ReplyQueue(lambda: connection, 'engine', 'replies').close()

    assert connection.is_closed
    assert connection.timeout == 2


@pytest.mark.parametrize(
    ('exchange', 'topic'),
    [
        ('', 'replies'),
        ('amq.topic', 'replies'),
        ('placement_worker', 'replies'),
        ('engine', 'placement-worker'),
        ('engine', 'placement-worker-slow'),
        ('engine', 'placement-worker-parked'),
        ('engine', 'placement-worker-suspects'),
        ('engine', ''),
        ('engine', '#'),
        ('engine\n', 'replies'),
    ],
)
def test_names_of_the_broker_and_of_workers_are_refused(exchange, topic):
    """A receiver takes no requests away from workers, and waits at no place that is refused."""
    with pytest.raises(errors.InvalidRequest):
        check_names(
            exchange, topic, 'placement_worker', ['placement-worker', 'placement-worker-slow']
        )


def test_names_that_begin_as_those_of_workers_are_allowed():
    """An engine may name its topic after the workers' topic."""
    check_names('engine', 'placement-worker-replies', 'placement_worker', ['placement-worker'])
