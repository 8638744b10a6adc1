"""The receiver of replies: settlement, retries, reconnection and stops."""

import queue
import threading
import time

import pytest

from placement_worker.client import reply_receiver
from placement_worker.client.reply_receiver import DELIVERIES, ReplyReceiver
from placement_worker.contract.model import CheckReply
from placement_worker.errors import BrokerUnreachable
from tests.unit.client.test_cast_reply import REPLY, body


class Message:
    """A message as py-amqp delivers it."""

    def __init__(self, name, delivery_count=0, redelivered=False):
        self.name = name
        self.body = body(REPLY, _unique_id=name)
        self.headers = {'x-delivery-count': delivery_count} if delivery_count else None
        self.delivery_info = {'redelivered': redelivered or bool(delivery_count)}


class Queue:
    """A reply queue with prepared messages; an exception in place of a message is raised."""

    def __init__(self):
        self.messages = queue.SimpleQueue()
        self.settled = queue.SimpleQueue()
        self.failures = queue.SimpleQueue()
        self.ended = []

    def receive(self, timeout_s):
        try:
            message = self.messages.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(message, Exception):
            raise message
        return message

    def keep_alive(self, timeout_s):
        if not self.failures.empty():
            raise self.failures.get()

    def acknowledge(self, message):
        self.settled.put(('acknowledged', message.name))

    def requeue(self, message):
        self.settled.put(('requeued', message.name))

    def reject(self, message):
        self.settled.put(('rejected', message.name))

    def close(self):
        self.ended.append('closed')

    def drop(self):
        self.ended.append('dropped')


@pytest.fixture
def reply_queue():
    return Queue()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(reply_receiver, 'TICK_S', 0.01)
    monkeypatch.setattr(reply_receiver, 'RETRY_S', 0.01)
    monkeypatch.setattr(reply_receiver, 'RECONNECT_S', 0.01)


@pytest.fixture
def receive(reply_queue):
    """Start a receiver with a callback and prepared messages; it stops with the test."""
    receivers = []

    def receiving(callback, *messages, open_queue=lambda: reply_queue):
        for message in messages:
            reply_queue.messages.put(message)
        receivers.append(ReplyReceiver(open_queue, 'replies', callback))
        return receivers[-1]

    yield receiving
    for receiver in receivers:
        receiver.stop()


def settled(reply_queue):
    return reply_queue.settled.get(timeout=30)


def test_message_is_acknowledged_after_its_callback(reply_queue, receive):
    """A reply stays with the broker until the callback has returned."""
    entered, end, received = threading.Event(), threading.Event(), []

    def callback(request_id, reply):
        received.append((request_id, type(reply)))
        entered.set()
        assert end.wait(30)

    receive(callback, Message('u1'))
    assert entered.wait(30)
    assert reply_queue.settled.empty()
    end.set()

    assert settled(reply_queue) == ('acknowledged', 'u1')
    assert received == [('r1', CheckReply)]


@pytest.mark.parametrize('failure', [ValueError('no'), SystemExit(1)])
def test_reply_whose_callback_raises_is_requeued_and_logged(reply_queue, receive, failure, caplog):
    """A failing callback gets its reply again, and the log has the cause; the receiver goes on."""

    def callback(_, __):
        raise failure

    receive(callback, Message('u1'), Message('u2'))

    assert [settled(reply_queue), settled(reply_queue)] == [('requeued', 'u1'), ('requeued', 'u2')]
    assert (
        "The callback failed for the reply to request 'r1' (delivery 1 of 10); "
        'requeueing it in 0.01 s' in caplog.messages
    )
    assert caplog.records[0].exc_info[1] is failure


def test_pause_before_a_retry_grows_with_the_deliveries(reply_queue, receive, caplog):
    """A callback that keeps failing is not called in a hot loop."""

    def callback(_, __):
        raise ValueError

    receive(callback, Message('u1', delivery_count=3))

    assert settled(reply_queue) == ('requeued', 'u1')
    assert 'requeueing it in 0.08 s' in caplog.text


def test_reply_whose_callback_keeps_raising_is_dropped_and_logged(reply_queue, receive, caplog):
    """After the last delivery the reply is rejected, and the log names its request."""

    def callback(_, __):
        raise ValueError('no')

    receive(callback, Message('u1', delivery_count=DELIVERIES - 1))

    assert settled(reply_queue) == ('rejected', 'u1')
    assert "Dropped the reply to request 'r1' after 10 deliveries: no" in caplog.messages


def test_reply_that_kills_each_process_is_dropped_without_a_callback(reply_queue, receive, caplog):
    """A reply that crashes its receiver does not crash it without end."""
    received = []

    receive(lambda *reply: received.append(reply), Message('u1', delivery_count=DELIVERIES))

    assert settled(reply_queue) == ('rejected', 'u1')
    assert received == []
    assert 'the process ended during each callback' in caplog.text


def test_malformed_message_is_rejected_and_the_next_reply_received(reply_queue, receive, caplog):
    """A message that is no reply reaches no callback and stops nothing."""
    malformed, received = Message('u1'), []
    malformed.body = '{}'

    receive(lambda *reply: received.append(reply), malformed, Message('u2'))

    assert [settled(reply_queue), settled(reply_queue)] == [
        ('rejected', 'u1'),
        ('acknowledged', 'u2'),
    ]
    assert len(received) == 1
    assert 'Dropped a malformed reply on topic replies: ' in caplog.text


def test_reply_whose_acknowledgement_was_lost_has_no_second_callback(reply_queue, receive):
    """A redelivery of the reply that was handled last is acknowledged at once."""
    received = []

    receive(
        lambda *reply: received.append(reply), Message('u1'), Message('u1', 1), Message('u2', 1)
    )

    assert [settled(reply_queue) for _ in range(3)] == [
        ('acknowledged', 'u1'),
        ('acknowledged', 'u1'),
        ('acknowledged', 'u2'),
    ]
    assert len(received) == 2


def test_lost_connection_is_opened_again_until_it_succeeds(reply_queue, receive, caplog):
    """Replies are received again after an outage of any length."""
    outcomes = iter([reply_queue, BrokerUnreachable('away'), OSError('gone'), reply_queue])

    def open_queue():
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    receive(lambda *_: None, ConnectionError('reset'), Message('u1'), open_queue=open_queue)

    assert settled(reply_queue) == ('acknowledged', 'u1')
    assert reply_queue.ended == ['dropped']
    assert caplog.messages[:3] == [
        'Lost the connection for replies on topic replies: reset',
        'Cannot receive the replies on topic replies: away',
        'Cannot receive the replies on topic replies: gone',
    ]


def test_connection_lost_during_a_callback_waits_for_the_callback(reply_queue, receive):
    """A reply has no second callback while the first one runs, nor after it has returned."""
    running, most, end = [], [], threading.Event()

    def callback(*_):
        running.append(1)
        most.append(len(running))
        assert end.wait(30)
        running.pop()

    receive(callback, Message('u1'), Message('u1', 1))
    reply_queue.failures.put(ConnectionError('reset'))
    deadline = time.monotonic() + 30
    while not reply_queue.failures.empty():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert reply_queue.ended == []
    end.set()

    assert settled(reply_queue) == ('acknowledged', 'u1')
    assert (most, reply_queue.ended) == ([1], ['dropped'])


def test_stop_waits_for_the_callback_and_leaves_the_other_replies(reply_queue, receive):
    """After `stop` no callback runs, and the broker keeps what was not handled."""
    entered, ended = threading.Event(), []

    def callback(*_):
        entered.set()
        time.sleep(0.1)
        ended.append(1)

    receiver = receive(callback, Message('u1'), Message('u2'))
    assert entered.wait(30)
    receiver.stop()

    assert ended == [1]
    assert settled(reply_queue) == ('acknowledged', 'u1')
    assert reply_queue.settled.empty()
    assert reply_queue.ended == ['closed']


def test_stop_in_a_callback_ends_the_receiver_after_it(reply_queue, receive):
    """A callback may stop its own receiver."""
    receivers = queue.SimpleQueue()
    receiver = receive(lambda *_: receivers.get(timeout=30).stop(), Message('u1'), Message('u2'))
    receivers.put(receiver)
    receiver._thread.join(30)

    assert not receiver._thread.is_alive()
    assert settled(reply_queue) == ('acknowledged', 'u1')
    assert reply_queue.settled.empty()


def test_stop_during_an_outage_ends_the_attempts_to_connect(reply_queue, receive, monkeypatch):
    """An engine can stop while the broker is away."""
    monkeypatch.setattr(reply_receiver, 'RECONNECT_S', 600)
    receiver = receive(lambda *_: None, ConnectionError('reset'))

    with receiver:
        pass

    assert reply_queue.ended == ['dropped']


def test_receiver_that_cannot_connect_raises_at_once():
    """A wrong password or a missing broker is an error of `serve_replies` itself."""

    def open_queue():
        raise BrokerUnreachable('away')

    with pytest.raises(BrokerUnreachable):
        ReplyReceiver(open_queue, 'replies', lambda *_: None)
