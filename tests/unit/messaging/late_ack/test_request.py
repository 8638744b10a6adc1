"""A request: its reply, and the end of its references."""

import weakref

import pytest

from tests.unit.messaging.late_ack.fakes import CALL, Delivery, Sent, deliver


def test_settled_request_releases_its_message(listener):
    """The message of a settled request uses no memory, although idle threads keep the request."""
    delivery = Delivery('u1')
    message = weakref.ref(delivery)
    deliver(listener, delivery)
    (request,) = listener.poll()
    request.begin()
    del delivery

    assert message() is not None
    request.finish()

    assert message() is None


def test_reply_to_a_call_is_published_to_its_reply_queue_before_the_acknowledgement(answer):
    """The reply to a call has the form that a client of oslo.messaging expects."""
    replies = Sent()

    delivery, _ = answer(replies, CALL)

    ((exchange, routing_key, reply),) = replies.replies
    assert (exchange, routing_key) == ('', 'reply_1')
    assert reply.pop('result')['policy_types'] == []
    assert reply.pop('_unique_id')
    assert reply == {'failure': None, 'ending': True, '_msg_id': 'm1'}
    assert delivery.settled == ['acknowledged']


@pytest.mark.parametrize('queue', ['placement-worker-parked', 'notifications.info', '', None, 7])
def test_reply_to_a_queue_other_than_a_reply_queue_is_dropped(answer, queue):
    """A caller cannot make the worker write to another queue by naming it as its reply queue."""
    replies = Sent()

    delivery, _ = answer(replies, {**CALL, '_reply_q': queue})

    assert replies.replies == []
    assert delivery.settled == ['acknowledged']


def test_cast_gets_no_reply_and_no_warning(answer, caplog):
    """A cast, whose sender waits for no reply, is not reported as a call without a reply queue."""
    replies = Sent()
    cast = {key: value for key, value in CALL.items() if key not in ('_msg_id', '_reply_q')}

    delivery, _ = answer(replies, cast)

    assert (replies.replies, delivery.settled) == ([], ['acknowledged'])
    assert not [text for text in caplog.messages if 'Dropped' in text]
