"""The queue of replies to calls: its declaration, lost connections and acknowledgements."""

import itertools
import json
import queue
import threading
import time

import pytest
from amqp.exceptions import AccessRefused, PreconditionFailed

from placement_worker import errors
from placement_worker.client import call_replies
from placement_worker.client.call_replies import CallReplies
from tests.waiting import wait_for

OPTIONS = {'rabbit_transient_quorum_queue': 'true', 'rabbit_transient_queues_ttl': '60'}
ENOUGH_S = 30


class Connection:
    """A connection of kombu with that of py-amqp, its channel, and what arrives on it."""

    hostname, port, connected = 'h', 1, True

    def __init__(self, refusal=None):
        self.connection = self
        self.refusal = refusal
        self.arriving = queue.SimpleQueue()
        self.tags = itertools.count(1)
        self.acknowledged = []
        self.heartbeats = 0
        self.is_closed = False
        self.is_open = True

    def channel(self):
        return self

    def queue_declare(self, name, **options):
        if self.refusal:
            raise self.refusal
        self.declared = options

    def basic_consume(self, name, callback):
        self.callback = callback

    def basic_ack(self, tag, multiple):
        self.acknowledged.append((tag, multiple))

    def heartbeat_tick(self):
        self.heartbeats += 1

    @property
    def sock(self):
        return self

    def settimeout(self, seconds):
        pass

    def close(self):
        self.is_closed = True

    def collect(self):
        self.is_open = False

    def drain_events(self, timeout):
        try:
            arrived = self.arriving.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(arrived, Exception):
            raise arrived
        self.callback(Message(arrived, self, next(self.tags)))

    def reply(self, call_id, **fields):
        message = json.dumps({'_msg_id': call_id, 'ending': True, **fields})
        self.arriving.put(json.dumps({'oslo.version': '2.0', 'oslo.message': message}))


class Message:
    """A message of py-amqp."""

    def __init__(self, body, channel, tag):
        self.body, self.channel, self.delivery_tag = body, channel, tag


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr(call_replies, 'RECONNECT_S', 0.001)
    monkeypatch.setattr(call_replies, 'TICK_S', 0.01)


def replies_on(*connections, **options):
    """Return open replies; each attempt to connect takes the next connection, or raises it."""
    waiting = list(connections)

    def connect(**_):
        found = waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    replies = CallReplies(connect, {**OPTIONS, **options})
    replies.open(time.monotonic() + ENOUGH_S)
    return replies


def test_connection_that_is_lost_is_replaced_and_the_call_gets_its_reply(caplog):
    """A failover while a call waits costs it time alone, even if a host is still away."""
    caplog.set_level('INFO')
    first, second = Connection(), Connection()
    replies = replies_on(first, errors.BrokerUnreachable('away'), second)
    with replies.expected('c1') as waiting:
        first.arriving.put(ConnectionResetError('reset'))
        second.reply('c1', result='late')

        assert waiting.get(timeout=ENOUGH_S).result == 'late'
    replies.close()

    assert not first.is_open
    assert [record.getMessage() for record in caplog.records] == [
        'Lost the connection for the replies to calls: reset',
        'Cannot receive the replies to calls: away',
        'Receiving the replies to calls again',
    ]


@pytest.mark.parametrize(
    'body',
    [
        b'{"oslo.message": "\xff"}',
        json.dumps({'oslo.message': '{"_msg_id": "c1", "result": ' + '[' * 5000}),
        'no reply',
        AttributeError('kombu on a lost connection'),
    ],
    ids=['no UTF-8', 'nested', 'no JSON', 'lost'],
)
def test_message_or_error_of_any_kind_does_not_end_the_replies(body):
    """A hostile reply costs the callers of this process nothing."""
    first, second = Connection(), Connection()
    replies = replies_on(first, second)
    first.arriving.put(body)
    with replies.expected('c1') as waiting:
        (second if isinstance(body, Exception) else first).reply('c1', result='done')

        assert waiting.get(timeout=ENOUGH_S).result == 'done'
    replies.close()


def test_open_beside_a_slow_open_ends_in_time():
    """Calls that begin together do not wait for a dead broker one after the other."""
    began, released = threading.Event(), threading.Event()

    def connect(**_):
        began.set()
        released.wait(ENOUGH_S)
        return Connection()

    replies = CallReplies(connect, OPTIONS)
    first = threading.Thread(target=replies.open, args=(time.monotonic() + ENOUGH_S,))
    first.start()
    began.wait(ENOUGH_S)
    with pytest.raises(errors.BrokerUnreachable, match='did not respond to an earlier call'):
        replies.open(time.monotonic() + 0.01)
    released.set()
    first.join(ENOUGH_S)
    replies.close()


def test_messages_of_a_lost_connection_are_not_acknowledged_on_the_next_one(monkeypatch):
    """Tags belong to their connection; the broker would close the next one for an unknown tag."""
    first, second = Connection(), Connection()
    replies = replies_on(first, second)
    with replies.expected('c1') as one:
        first.reply('c1')
        one.get(timeout=ENOUGH_S)
    monkeypatch.setattr(call_replies, 'BEAT_S', 0.01)
    first.arriving.put(ConnectionResetError('reset'))
    wait_for(lambda: second.heartbeats >= 2)
    with replies.expected('c2') as other:
        second.reply('c2')
        other.get(timeout=ENOUGH_S)
        wait_for(lambda: second.acknowledged == [(1, True)])
    replies.close()

    assert first.acknowledged == []


def test_replies_are_acknowledged_together_and_the_last_ones_at_the_end():
    """Most replies cost no message of their own, and none stays in the queue of a closed client."""
    connection, count = Connection(), call_replies.UNACKNOWLEDGED + 1
    replies = replies_on(connection)
    for number in range(count):
        with replies.expected(f'c{number}') as waiting:
            connection.reply(f'c{number}')
            waiting.get(timeout=ENOUGH_S)
    replies.close()

    assert connection.acknowledged == [(count - 1, True), (count, True)]
    assert connection.is_closed
    assert not connection.is_open


def test_reply_is_acknowledged_soon_although_no_other_one_follows(monkeypatch):
    """A reply does not stay in the queue until many have arrived."""
    monkeypatch.setattr(call_replies, 'BEAT_S', 0.01)
    connection = Connection()
    replies = replies_on(connection)
    connection.reply('of a call that has timed out')

    wait_for(lambda: connection.acknowledged == [(1, True)])
    replies.close()


def test_call_after_the_end_does_not_wait():
    """A call that begins while another thread closes the client ends at once."""
    replies = replies_on(Connection())
    replies.close()

    with replies.expected('c1') as waiting:
        assert waiting.get(timeout=ENOUGH_S) is None


@pytest.mark.parametrize(
    ('options', 'declared'),
    [
        ({}, (True, {'x-queue-type': 'quorum', 'x-expires': 60_000})),
        ({'rabbit_transient_queues_ttl': 0}, (True, {'x-queue-type': 'quorum'})),
        ({'rabbit_transient_quorum_queue': False}, (False, {'x-expires': 60_000})),
    ],
)
def test_queue_has_the_arguments_of_the_configuration(options, declared):
    """The queue is that of oslo.messaging's own client with the same options."""
    connection = Connection()
    replies_on(connection, **options).close()

    assert (connection.declared['durable'], connection.declared['arguments']) == declared


@pytest.mark.parametrize(
    ('refusal', 'kind'),
    [
        (AccessRefused('no'), errors.BrokerRefused),
        (PreconditionFailed('other'), errors.BrokerRefused),
        (OSError('gone'), errors.BrokerUnreachable),
    ],
)
def test_queue_that_cannot_be_declared_raises_the_cause_and_leaves_no_connection(refusal, kind):
    """The first call fails at once, and the next one tries again."""
    connection, other = Connection(refusal), Connection()
    connections = [connection, other]
    replies = CallReplies(lambda **_: connections.pop(0), OPTIONS)

    with pytest.raises(kind, match='could not be delivered: h:1: '):
        replies.open(time.monotonic() + ENOUGH_S)
    replies.open(time.monotonic() + ENOUGH_S)
    replies.close()

    assert not connection.is_open
    assert not other.is_open
