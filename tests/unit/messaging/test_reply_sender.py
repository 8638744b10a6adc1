"""Replies and their retries: dropped replies, redelivered requests, and waiting threads."""

import json
import math
import threading
import time

import pytest

from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.messaging.reply_sender import ReplyPending, ReplySender, cast_message

REFUSED, AWAY = DestinationRefused('full'), BrokerUnavailable('gone')
LOST = BrokerUnavailable('reset', was_lost=True)


class Publisher:
    """Raises what it is given, one by one, and the last one from then on."""

    def __init__(self, *outcomes):
        self._outcomes = list(outcomes)
        self.attempts = 0

    def publish(self, message, exchange, routing_key):
        self.attempts += 1
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if outcome is not None:
            raise outcome

    def close(self):
        pass


@pytest.fixture
def stopping():
    return threading.Event()


@pytest.fixture
def send(stopping):
    """Send a reply through a publisher; the bounds can be set."""

    def sending(publisher, left_s=math.inf, **bounds):
        replies = ReplySender(
            publisher, stopping, **{'slots': 4, 'timeout_s': 0.3, 'away_s': 0.6, **bounds}
        )
        replies.send('the reply', cast_message('m'), 'e', 't', left_s)

    return sending


def test_send_to_a_destination_that_accepts_later_delivers_the_reply(send, caplog):
    """A reply that is refused, or meets an absent broker, is sent again until it is accepted."""
    publisher = Publisher(REFUSED, AWAY, REFUSED, None)

    send(publisher)

    assert publisher.attempts == 4
    assert 'Dropped' not in caplog.text


def test_send_to_a_destination_that_refuses_gives_up_at_the_bound_and_logs_it(send, caplog):
    """A reply is dropped, not left, when its destination refuses it for too long."""
    began = time.monotonic()

    send(Publisher(REFUSED))

    assert time.monotonic() - began >= 0.3
    assert 'Dropped the reply after 0.' in caplog.text
    assert caplog.text.rstrip().endswith('full')


def test_send_to_a_destination_that_refuses_for_good_has_one_attempt(send, caplog):
    """A reply that the broker does not permit is not retried."""
    publisher = Publisher(DestinationRefused('403', for_good=True))

    send(publisher, timeout_s=60)

    assert publisher.attempts == 1
    assert 'Dropped the reply after 0.0 s: 403' in caplog.text


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_send_of_a_reply_whose_request_expires_gives_up(send, caplog, outcome):
    """The reply to an expired request is dropped, whichever the cause of the delay."""
    send(Publisher(outcome), left_s=0.2, timeout_s=60, away_s=60)

    assert 'Dropped the reply after 0.' in caplog.text


def test_send_to_a_broker_that_stays_away_leaves_the_reply_pending(send, caplog):
    """A request whose reply met no broker is never dropped before it expires."""
    with pytest.raises(ReplyPending):
        send(Publisher(AWAY))

    assert 'Dropped' not in caplog.text


@pytest.mark.parametrize('outcome', [REFUSED, AWAY])
def test_send_while_the_process_stops_leaves_the_reply_pending(send, stopping, outcome):
    """A stop ends every wait, and leaves the request to another worker."""
    threading.Timer(0.2, stopping.set).start()
    began = time.monotonic()

    with pytest.raises(ReplyPending):
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

    with pytest.raises(ReplyPending):
        send(publisher)

    assert publisher.attempts == 2


def test_send_beyond_the_slots_defers_the_reply_and_the_slot_is_free_again(stopping, caplog):
    """At most `slots` threads wait for destinations that refuse; other replies are not lost."""
    publisher = Publisher(REFUSED)
    replies = ReplySender(publisher, stopping, slots=1, timeout_s=0.5, away_s=60)
    waiting = threading.Thread(target=replies.send, args=('the first', cast_message('m'), 'e', 't'))
    waiting.start()
    while publisher.attempts < 2:
        time.sleep(0.01)

    began = time.monotonic()
    replies.send('the second', cast_message('m'), 'e', 't')
    took = time.monotonic() - began
    logged = caplog.text
    waiting.join()
    before = publisher.attempts
    replies.send('the third', cast_message('m'), 'e', 't')
    replies.close()

    assert took < 0.3
    assert 'the second' not in logged
    assert publisher.attempts > before + 1
    assert 'Dropped the second: full' in caplog.text


def test_cast_of_a_method_is_an_envelope_of_oslo_messaging():
    """A reply is a cast as any server of oslo.messaging reads it."""
    message = cast_message('policy_checked', request_id='r1', reply={'a': 1})

    envelope = json.loads(message.body)
    cast = json.loads(envelope['oslo.message'])
    assert envelope['oslo.version'] == '2.0'
    assert len(cast.pop('_unique_id')) == 32
    assert cast == {'method': 'policy_checked', 'args': {'request_id': 'r1', 'reply': {'a': 1}}}
