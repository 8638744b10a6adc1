"""Replies and their retries: dropped replies, redelivered requests, and waiting threads."""

import json
import math
import threading
import time

import pytest
from amqp.exceptions import AccessRefused, MessageNacked, NotFound

from placement_worker.late_ack import Redeliver, Reply
from placement_worker.messaging import reply_sender
from placement_worker.messaging.reply_sender import (
    NotConfirmed,
    Outgoing,
    ReplySender,
    cast_message,
)

REFUSED, AWAY, LOST = MessageNacked(), TimeoutError('gone'), ConnectionResetError('reset')


class Publisher:
    """Connects to a channel that raises what it is given, and the last one from then on."""

    def __init__(self, *outcomes):
        self._outcomes = list(outcomes)
        self.attempts = self.channels = 0
        self.keys = []

    def __call__(self, _):
        self.channels += 1
        return self

    def publish(self, reply, stopping):
        self.attempts += 1
        self.keys.append(reply.routing_key)
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome is not False

    def close(self):
        pass


def outgoing(name='the reply', key='t'):
    return Outgoing(name, cast_message('m'), 'e', key)


@pytest.fixture
def create(monkeypatch, stopping):
    """Create a sender whose channels are those of a publisher; the bounds can be set."""

    def creating(publisher, **bounds):
        monkeypatch.setattr(reply_sender, 'Channel', publisher)
        bounds = {'slots': 4, 'timeout_s': 0.3, 'away_s': 0.6, **bounds}
        return ReplySender(lambda **_: None, stopping, **bounds)

    return creating


@pytest.fixture
def stopping():
    return threading.Event()


@pytest.fixture
def send(create):
    """Send a reply through a publisher; the bounds can be set."""

    def sending(publisher, left_s=math.inf, **bounds):
        create(publisher, **bounds).send(outgoing(), left_s)

    return sending


def test_send_to_a_destination_that_accepts_later_delivers_the_reply(send, caplog):
    """A reply that is refused, or meets an absent broker, is sent again until it is accepted."""
    publisher = Publisher(REFUSED, AWAY, NotFound('no exchange'), False, None)

    send(publisher, timeout_s=30, away_s=30)

    assert publisher.attempts == 5
    assert 'Dropped' not in caplog.text


def test_send_to_a_destination_that_refuses_gives_up_at_the_bound_and_logs_it(send, caplog):
    """A reply is dropped, not left, when its destination refuses it for too long."""
    began = time.monotonic()

    send(Publisher(REFUSED))

    assert time.monotonic() - began >= 0.3
    assert 'Dropped the reply after 0.' in caplog.text
    assert caplog.text.rstrip().endswith('the queue rejected the message')


def test_send_to_a_destination_that_refuses_for_good_has_one_attempt(send, caplog):
    """A reply that the broker does not permit is not retried."""
    publisher = Publisher(AccessRefused('not permitted'))

    send(publisher, timeout_s=60)

    assert publisher.attempts == 1
    assert 'not permitted' in caplog.text


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_send_of_a_reply_whose_request_expires_gives_up(send, caplog, outcome):
    """The reply to an expired request is dropped, whichever the cause of the delay."""
    send(Publisher(outcome), left_s=0.2, timeout_s=60, away_s=60)

    assert 'Dropped the reply after 0.' in caplog.text


def test_send_to_a_broker_that_stays_away_leaves_the_reply_pending(send, caplog):
    """A request whose reply met no broker is never dropped before it expires."""
    with pytest.raises(Redeliver):
        send(Publisher(AWAY))

    assert 'Dropped' not in caplog.text


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_send_while_the_process_stops_leaves_the_reply_pending(send, stopping, outcome):
    """A stop ends every wait, and leaves the request to another worker."""
    threading.Timer(0.2, stopping.set).start()
    began = time.monotonic()

    with pytest.raises(Redeliver):
        send(Publisher(outcome), timeout_s=60, away_s=60)

    assert time.monotonic() - began < 30


def test_send_on_a_lost_connection_while_the_process_stops_is_retried(send, stopping):
    """A connection that an outage closed costs a stopping process no reply."""
    stopping.set()
    publisher = Publisher(LOST, None)

    send(publisher)

    assert publisher.attempts == 2


def test_send_on_connections_that_are_all_lost_while_the_process_stops_ends(send, stopping):
    """A stopping process retries once, and leaves the request to another worker."""
    stopping.set()
    publisher = Publisher(LOST)

    with pytest.raises(Redeliver):
        send(publisher)

    assert publisher.attempts == 2


def test_send_beyond_the_slots_defers_the_reply_and_the_slot_is_free_again(create, caplog):
    """At most `slots` threads wait for destinations that refuse; other replies are not lost."""
    publisher = Publisher(REFUSED)
    replies = create(publisher, slots=1, timeout_s=0.5, away_s=60)
    waiting = threading.Thread(target=replies.send, args=(outgoing('the first'),))
    waiting.start()
    while publisher.attempts < 2:
        time.sleep(0.01)

    began = time.monotonic()
    replies.send(outgoing('the second'))
    took = time.monotonic() - began
    logged = caplog.text
    waiting.join()
    before = publisher.attempts
    replies.send(outgoing('the third'))
    replies.close()

    assert took < 0.3
    assert 'the second' not in logged
    assert publisher.attempts > before + 1
    assert 'Dropped the second: the queue rejected the message' in caplog.text


@pytest.fixture
def deferred(create, monkeypatch):
    """Return a function that defers replies, and the publisher that the thread uses."""
    monkeypatch.setattr(reply_sender, 'WAIT_MAX_S', 0.1)

    def deferring(publisher, *replies, timeout_s=60):
        sender = create(publisher, slots=1, timeout_s=timeout_s)
        sender._slots.acquire()
        for reply in replies:
            sender.send(reply)
        return sender

    return deferring


def test_deferred_replies_are_sent_when_their_queue_accepts(deferred, caplog):
    """Replies that a queue rejects during a failover reach their caller."""
    publisher = Publisher(REFUSED, REFUSED, None)
    sender = deferred(publisher, outgoing('a'), outgoing('b'))
    deadline = time.monotonic() + 10
    while sender._deferred or publisher.attempts < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sender.close()

    assert 'Dropped' not in caplog.text


def test_destination_that_refuses_has_one_attempt_per_round(deferred, stopping):
    """A full queue costs one attempt per round, and other destinations get their replies."""
    publisher = Publisher(REFUSED)
    sender = deferred(publisher, *(outgoing(str(number), 'full') for number in range(20)))
    publisher.keys.clear()
    sender.close()

    assert len(publisher.keys) <= 2


def test_deferred_replies_beyond_the_limit_are_dropped(deferred, monkeypatch, caplog):
    """The memory of deferred replies is bounded."""
    monkeypatch.setattr(reply_sender, 'DEFERRED_BYTES', len(outgoing().message.body) + 1)

    deferred(Publisher(REFUSED), outgoing('a'), outgoing('b')).close()

    assert 'Dropped b after 0.0 s: the queue rejected the message' in caplog.text


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_heartbeat_that_cannot_be_sent_is_tried_once(create, outcome):
    """A heartbeat occupies no thread for long."""
    publisher = Publisher(outcome)

    with pytest.raises(NotConfirmed):
        create(publisher).send_call_reply(
            Reply('a heartbeat', 'reply_1', cast_message('m'), is_last=False)
        )

    assert publisher.attempts == 1


def test_channel_of_a_nack_is_replaced_and_others_are_used_again(create):
    """RabbitMQ 3.10 nacks each message of a channel that is older than the queue's leader."""
    publisher = Publisher(None, None, REFUSED, None)
    replies = create(publisher)
    for _ in range(3):
        replies.send(outgoing())

    assert (publisher.attempts, publisher.channels) == (4, 2)


def test_cast_of_a_method_is_an_envelope_of_oslo_messaging():
    """A reply is a cast as any server of oslo.messaging reads it."""
    message = cast_message('policy_checked', request_id='r1', reply={'a': 1})

    envelope = json.loads(message.body)
    cast = json.loads(envelope['oslo.message'])
    assert envelope['oslo.version'] == '2.0'
    assert len(cast.pop('_unique_id')) == 32
    assert cast == {'method': 'policy_checked', 'args': {'request_id': 'r1', 'reply': {'a': 1}}}
