"""Replies and their retries: dropped replies, redelivered requests, and waiting threads."""

import contextlib
import json
import math
import re
import threading
import time

import pytest
from amqp.exceptions import AccessRefused, MessageNacked, NotFound, PreconditionFailed

from placement_worker.errors import ReplyTooLarge
from placement_worker.late_ack.request import Redeliver, Reply
from placement_worker.messaging import reply_sender
from placement_worker.messaging.reply_sender import ReplySender, cast_message

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
    return Reply(name, key, cast_message('m'), 'e')


@pytest.fixture
def create(monkeypatch, stopping):
    """Create a sender whose channels are those of a publisher; the bounds can be set."""

    def creating(publisher, **bounds):
        monkeypatch.setattr(reply_sender, '_Channel', publisher)
        monkeypatch.setattr(reply_sender, 'ROUND_S', 0.05)
        bounds = {'timeout_s': 0.3, 'away_s': 0.6, **bounds}
        return ReplySender(lambda **_: None, stopping, **bounds)

    return creating


@pytest.fixture
def stopping():
    return threading.Event()


@pytest.fixture
def send(create):
    """Send a reply through a publisher, and wait for its end; the bounds can be set."""

    def sending(publisher, left_s=math.inf, **bounds):
        replies = create(publisher, **bounds)
        replies.send(outgoing(), left_s)
        while replies._refused:
            time.sleep(0.01)

    return sending


def test_send_to_a_destination_that_accepts_later_delivers_the_reply(send, caplog):
    """A reply that is refused, or meets an absent broker, is sent again until it is accepted."""
    publisher = Publisher(REFUSED, AWAY, NotFound('no exchange'), False, None)

    send(publisher, timeout_s=30, away_s=30)

    assert publisher.attempts == 5
    assert 'Dropped' not in caplog.text


LONG = {'timeout_s': 60, 'away_s': 60}


@pytest.mark.parametrize(
    ('outcome', 'bounds', 'at_least_s', 'cause'),
    [
        (REFUSED, {}, 0.3, 'the queue rejected the message'),
        (False, {}, 0.3, 'no queue is bound'),
        (REFUSED, {**LONG, 'left_s': 1}, 1, 'the queue rejected the message'),
        (AWAY, {**LONG, 'left_s': 1}, 1, 'gone'),
        (AccessRefused('not permitted'), LONG, 0, 'not permitted'),
    ],
)
def test_reply_that_is_refused_expires_or_is_not_permitted_is_dropped_and_logged(
    send, caplog, outcome, bounds, at_least_s, cause
):
    """A reply is dropped at the bound of its destination or request, or if it is forbidden."""
    publisher, began = Publisher(outcome), time.monotonic()

    send(publisher, **bounds)

    assert time.monotonic() - began >= at_least_s
    assert (publisher.attempts == 1) == (at_least_s == 0)
    assert re.search(r'Dropped the reply after \d+\.\d s: ', caplog.text)
    assert caplog.text.rstrip().endswith(cause)


def test_send_of_a_reply_that_is_too_large_raises_at_once(send):
    """The error names both sizes, as the broker does."""
    sizes = 'message size 20 is larger than configured max size 10'
    publisher = Publisher(PreconditionFailed(f'PRECONDITION_FAILED - {sizes}'))

    with pytest.raises(ReplyTooLarge, match=f'^The broker refused the reply: .* {sizes}$'):
        send(publisher, timeout_s=60, away_s=60)

    assert publisher.attempts == 1


@pytest.mark.parametrize(
    ('outcome', 'bounds', 'stops_after_s'),
    [(AWAY, {}, None), (REFUSED, LONG, 0), (AWAY, LONG, 0.2)],
    ids=['away', 'refused at a stop', 'away at a stop'],
)
def test_send_without_a_broker_or_at_a_stop_leaves_the_reply_pending(
    send, stopping, caplog, outcome, bounds, stops_after_s
):
    """A reply without a broker is never dropped, and a stop leaves it to another worker."""
    if stops_after_s == 0:
        stopping.set()
    elif stops_after_s:
        threading.Timer(stops_after_s, stopping.set).start()
    began = time.monotonic()

    with pytest.raises(Redeliver):
        send(Publisher(outcome), **bounds)

    assert time.monotonic() - began < 30
    assert 'Dropped' not in caplog.text


@pytest.mark.parametrize('outcomes', [[LOST, None], [LOST]])
def test_send_on_a_lost_connection_while_the_process_stops_is_retried_once(
    send, stopping, outcomes
):
    """A connection that an outage closed costs a stopping process no reply, and no time."""
    stopping.set()
    publisher = Publisher(*outcomes)

    with contextlib.nullcontext() if None in outcomes else pytest.raises(Redeliver):
        send(publisher)

    assert publisher.attempts == 2


def test_destination_that_refuses_has_one_attempt_per_round(create, monkeypatch, caplog):
    """A full queue costs one attempt per round, also at a stop, which drops its replies."""
    publisher = Publisher(REFUSED)
    replies = create(publisher, timeout_s=60)
    monkeypatch.setattr(reply_sender, 'ROUND_S', 60)
    began = time.monotonic()
    for number in range(20):
        replies.send(outgoing(str(number), 'full'))
    assert time.monotonic() - began < 30, 'a refused reply holds up no thread'
    publisher.keys.clear()
    replies.close()

    assert len(publisher.keys) <= 2
    assert sum('Dropped' in text for text in caplog.messages) == 20


def test_refused_replies_beyond_the_limit_are_dropped(create, monkeypatch, caplog):
    """The memory of refused replies is bounded."""
    monkeypatch.setattr(reply_sender, 'REFUSED_BYTES', len(outgoing().message.body) + 1)
    replies = create(Publisher(REFUSED), timeout_s=60)
    for name in ('a', 'b'):
        replies.send(outgoing(name))

    text = 'the queue rejected the message; too many replies wait to be retried'
    assert f'Dropped b after 0.0 s: {text}' in caplog.text
    replies.close()


@pytest.mark.parametrize(
    ('outcomes', 'attempts'), [([REFUSED, *[LOST] * 9, None], 11), ([REFUSED, AccessRefused()], 2)]
)
def test_refused_reply_in_an_outage_waits_as_others_and_a_lasting_error_ends_it(
    send, outcomes, attempts
):
    """The bound of a refusal does not count while the broker is away."""
    publisher = Publisher(*outcomes)

    send(publisher, timeout_s=0.1, away_s=30)

    assert publisher.attempts == attempts


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_heartbeat_that_cannot_be_sent_is_tried_once(create, outcome):
    """A heartbeat occupies no thread for long."""
    publisher = Publisher(outcome)

    with pytest.raises((reply_sender.Refused, TimeoutError)):
        create(publisher).send(Reply('a heartbeat', 'reply_1', cast_message('m'), is_last=False))

    assert publisher.attempts == 1


def test_channel_of_a_nack_is_replaced_and_others_are_used_again(create):
    """RabbitMQ 3.10 nacks each message of a channel that is older than the queue's leader."""
    publisher = Publisher(None, None, REFUSED, None)
    replies = create(publisher)
    for _ in range(3):
        replies.send(outgoing())
    while replies._refused or publisher.attempts < 4:
        time.sleep(0.01)

    assert (publisher.attempts, publisher.channels) == (4, 2)


def test_cast_of_a_method_is_an_envelope_of_oslo_messaging():
    """A reply is a cast as any server of oslo.messaging reads it."""
    message = cast_message('policy_checked', request_id='r1', reply={'a': 1})

    envelope = json.loads(message.body)
    cast = json.loads(envelope['oslo.message'])
    assert envelope['oslo.version'] == '2.0'
    assert len(cast.pop('_unique_id')) == 32
    assert cast == {'method': 'policy_checked', 'args': {'request_id': 'r1', 'reply': {'a': 1}}}
