"""Replies that are retried in the background."""

import threading
import time

import pytest
from amqp import Message

from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.messaging import deferred_replies
from placement_worker.messaging.deferred_replies import DeferredReplies, DeferredReply


class Publisher:
    """Publishes, except to the destinations that refuse."""

    def __init__(self):
        self.refusing = {}
        self.attempts, self.sent = [], []
        self.lost, self.was_lost = 0, True

    def publish(self, message, exchange, routing_key):
        self.attempts.append(routing_key)
        if self.lost:
            self.lost -= 1
            raise BrokerUnavailable('reset', was_lost=self.was_lost)
        if routing_key in self.refusing:
            raise self.refusing[routing_key]
        self.sent.append(message.body)


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(deferred_replies, 'RETRY_S', 0.02)


@pytest.fixture
def publisher():
    return Publisher()


@pytest.fixture
def deferred(publisher):
    replies = DeferredReplies(publisher)
    yield replies
    replies.close()


def reply(body, routing_key='t', left_s=60.0):
    return DeferredReply(
        f'reply {body}', Message(body), 'e', routing_key, time.monotonic() + left_s
    )


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_kept_replies_of_a_destination_that_accepts_later_are_sent_in_order(publisher, deferred):
    """Replies that a queue rejects during a failover reach their caller."""
    publisher.refusing['t'] = DestinationRefused('the queue rejected the message')
    for body in 'abc':
        assert deferred.keep(reply(body))
    wait_for(lambda: len(publisher.attempts) >= 2)

    publisher.refusing.clear()

    wait_for(lambda: publisher.sent == ['a', 'b', 'c'])


def test_destination_that_refuses_has_one_attempt_per_round_and_delays_no_other(
    publisher, deferred
):
    """A full queue costs one attempt per round, and other destinations get their replies."""
    publisher.refusing['full'] = DestinationRefused('full')
    for number in range(50):
        deferred.keep(reply(f'{number}', 'full'))
    deferred.keep(reply('other', 'free'))

    wait_for(lambda: publisher.sent == ['other'])

    assert publisher.attempts[: publisher.attempts.index('free')].count('full') <= 2


def test_reply_that_is_refused_past_its_deadline_is_dropped_and_logged(publisher, deferred, caplog):
    """A reply is dropped, not kept, when its destination refuses it for too long."""
    publisher.refusing['t'] = DestinationRefused('full')

    deferred.keep(reply('late', left_s=0.05))

    wait_for(lambda: 'Dropped reply late: full' in caplog.text)


def test_replies_during_an_unavailable_broker_are_kept_with_one_attempt_per_round(
    publisher, deferred
):
    """A missing broker delays the kept replies, and loses none."""
    publisher.refusing.update(dict.fromkeys('ab', BrokerUnavailable('gone')))
    deferred.keep(reply('1', 'a'))
    deferred.keep(reply('2', 'b'))
    wait_for(lambda: len(publisher.attempts) >= 3)

    assert 'b' not in publisher.attempts
    publisher.refusing.clear()

    wait_for(lambda: publisher.sent == ['1', '2'])


def test_keep_beyond_the_limit_of_bytes_returns_false(publisher, deferred, monkeypatch):
    """Kept replies occupy a bounded amount of memory."""
    monkeypatch.setattr(deferred_replies, 'BYTES_MAX', 10)
    publisher.refusing['t'] = DestinationRefused('full')

    assert deferred.keep(reply('x' * 8))
    assert not deferred.keep(reply('x' * 8))


def test_close_makes_a_last_attempt_and_logs_lost_replies(publisher, caplog):
    """A stop sends the kept replies that their destinations accept, and names the others."""
    replies, hold = DeferredReplies(publisher), threading.Event()
    publisher.refusing.update(a=DestinationRefused('full'), b=DestinationRefused('full'))
    replies.keep(reply('1', 'a'))
    replies.keep(reply('2', 'b'))
    wait_for(lambda: publisher.attempts)
    del publisher.refusing['a']
    hold.wait(0.001)

    replies.close()

    assert publisher.sent == ['1']
    assert 'Dropped reply 2: full' in caplog.text
    assert not replies.keep(reply('3'))


@pytest.mark.parametrize(
    ('lost', 'was_lost', 'attempts', 'sent'),
    [(1, True, 2, ['1']), (2, True, 2, []), (1, False, 1, [])],
    ids=['lost', 'lost twice', 'timed out'],
)
def test_close_replaces_a_lost_connection_once(
    publisher, caplog, monkeypatch, lost, was_lost, attempts, sent
):
    """A stop after an outage sends the kept replies, and repeats no attempt that timed out."""
    monkeypatch.setattr(deferred_replies, 'RETRY_S', 600)  # no round precedes the last one
    replies = DeferredReplies(publisher)
    publisher.lost, publisher.was_lost = lost, was_lost
    replies.keep(reply('1'))

    replies.close()

    assert (len(publisher.attempts), publisher.sent) == (attempts, sent)
    assert ('Dropped reply 1: reset' in caplog.text) == (not sent)


def test_kept_reply_with_an_unexpected_error_is_dropped_and_others_are_sent(
    publisher, deferred, caplog
):
    """An error that no broker causes loses one reply, which is logged, and stops no other one."""
    publisher.refusing['odd'] = AttributeError('odd')

    assert deferred.keep(reply(b'1', 'odd'))
    wait_for(lambda: "Dropped reply b'1'" in caplog.text)
    assert deferred.keep(reply(b'2'))
    wait_for(lambda: publisher.sent == [b'2'])
