"""A request: its reply, its end, and the requests in flight."""

import json
import weakref
from types import SimpleNamespace

import pytest

from placement_worker.late_ack.listener import LateAckListener
from placement_worker.late_ack.request import Hooks
from tests.events import SteppingClock
from tests.unit.late_ack.fakes import CALL, Delivery, Driver, Sent, deliver, taken, turn


def test_settled_request_releases_its_message(listener, connection):
    """The message of a settled request uses no memory, although idle threads keep the request."""
    delivery = Delivery('u1')
    message = weakref.ref(delivery)
    request = taken(listener, delivery)
    del delivery

    assert message() is not None
    request.finish()
    turn(listener, connection)

    assert message() is None
    assert request.ctxt == {}


def test_reply_to_a_call_is_published_to_its_reply_queue_before_the_acknowledgement(answer):
    """The reply to a call has the form that a client of oslo.messaging expects."""
    replies = Sent()

    delivery, _ = answer(replies, CALL)

    ((queue, reply),) = replies.replies
    assert queue == 'reply_1'
    assert reply.pop('result')['policy_types'] == []
    assert reply.pop('_unique_id')
    assert reply == {'failure': None, 'ending': True, '_msg_id': 'm1'}
    assert delivery.settled == ['acknowledged']


def test_reply_that_cannot_be_sent_is_replaced_by_its_error(answer):
    """A caller does not wait for a reply that the broker refuses, e.g. because of its size."""
    sent = Sent()

    def send(reply):
        if not sent.attempts:
            sent.attempts += 1
            raise ValueError('too large')
        sent(reply)

    sent.attempts = 0
    delivery, _ = answer(send, CALL)

    ((queue, reply),) = sent.replies
    failure = json.loads(reply['failure'])
    assert (queue, reply['result'], reply['ending']) == ('reply_1', None, True)
    assert (failure['class'], failure['message']) == ('ValueError', 'too large')
    assert delivery.settled == ['acknowledged']


CAST = {key: value for key, value in CALL.items() if key not in ('_msg_id', '_reply_q')}


@pytest.mark.parametrize(
    ('message', 'is_call'),
    [
        *(({**CALL, '_reply_q': name}, True) for name in ('placement-worker-parked', '', None, 7)),
        (CAST, False),
    ],
)
def test_reply_to_a_cast_or_to_a_queue_other_than_a_reply_queue_is_dropped(
    answer, caplog, message, is_call
):
    """No caller makes the worker write to other queues; the log reports the attempt of a call."""
    replies = Sent()

    delivery, _ = answer(replies, message)

    assert (replies.replies, delivery.settled) == ([], ['acknowledged'])
    assert any('Dropped' in text for text in caplog.messages) == is_call


def test_oldest_ignores_waiting_and_finished_requests(connection):
    """The oldest request in flight is the first that was begun and has not ended."""
    listener = LateAckListener(Driver(), connection, monotonic=SteppingClock())
    deliver(listener, Delivery('u1'), Delivery('u2'), Delivery('u3'))
    (first,), (second,), _ = listener.poll(), listener.poll(), listener.poll()
    assert listener.in_flight.oldest() is None

    first.begin()
    began = listener.in_flight.oldest()
    second.begin()
    assert listener.in_flight.oldest() == began
    first.finish()
    assert listener.in_flight.oldest() == began + 1, (
        'its reply is out, though it is not acknowledged yet'
    )
    second.finish()
    assert listener.in_flight.oldest() is None


def test_events_report_begin_end_and_redelivery_but_not_waiting(connection):
    """Listeners receive the events of requests with their topic."""
    events = []
    hooks = Hooks(on_event=lambda *event: events.append(event))
    listener = LateAckListener(Driver(), connection, 't', hooks)
    deliver(listener, Delivery('u1', redelivered=True), Delivery('u2'), Delivery('u3'))
    (first,), (second,), (third,) = listener.poll(), listener.poll(), listener.poll()
    assert events == [('REDELIVERED', 't')]

    first.begin()
    second.begin()
    first.finish()
    second.give_back()
    assert third.give_back_unless_begun()

    states = ['REDELIVERED', 'TAKEN', 'TAKEN', 'SETTLED', 'SETTLED']
    assert [state for state, _ in events] == states


@pytest.fixture
def begun(connection):
    """Return a function that begins requests of a topic; the clock stands still at 100."""
    connection.now = 100.0
    hooks = Hooks(describe=lambda message: f'{message["args"]}: ')
    listener = LateAckListener(Driver(), connection, 't', hooks, monotonic=lambda: connection.now)

    def begin(*ids):
        for unique_id in ids:
            delivery = Delivery(unique_id)
            delivery['args'] = 'a cluster'
            delivery['_context_request_id'] = f'req-{unique_id}'
            request = taken(listener, delivery)
        return listener.in_flight, request

    return begin


def test_request_that_hangs_is_logged_once_with_its_cluster(begun, connection, caplog):
    """An operator learns which request occupies a thread; a report lists those in flight."""
    in_flight, last = begun('u1', 'u2')
    last.finish()

    for now in (160, 161, 200):
        connection.now = now
        in_flight.log_longer_than(60)

    line = 'a cluster: m has been in flight for {} s (request req-u1, topic t)'
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ('WARNING', line.format(61))
    ]
    assert in_flight.described() == [line.format(100)]


def test_description_of_a_hostile_request_is_one_line(connection):
    """Neither the method nor the id of a request can forge a line."""
    in_flight = LateAckListener(Driver(), connection, 't').in_flight
    in_flight.add(SimpleNamespace(key=1, message={'method': 'a\nb'}, ctxt={'request_id': ['x']}))

    (line,) = in_flight.described()

    assert line == 'a\\nb has been in flight for 0 s (request unknown, topic t)'
