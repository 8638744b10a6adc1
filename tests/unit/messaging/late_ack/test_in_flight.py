"""The requests in flight, and their events."""

from types import SimpleNamespace

import pytest

from placement_worker.messaging.late_ack.poll_listener import LateAckListener
from tests.unit.messaging.late_ack.fakes import Clock, Delivery, Driver, deliver


def test_oldest_ignores_waiting_and_finished_requests(connection):
    """The oldest request in flight is the first that was begun and has not ended."""
    listener = LateAckListener(Driver(), connection, Clock())
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


def test_begin_of_a_requeued_request_puts_nothing_in_flight(listener):
    """A request that was requeued at a stop does not count as in flight."""
    deliver(listener, Delivery('u1'))
    (request,) = listener.poll()
    listener.stop()
    listener.poll()

    assert not request.begin()
    assert listener.in_flight.oldest() is None


class RecordedEvents:
    def __init__(self):
        self.names = []

    def handle(self, event):
        assert event.topic == 't'
        self.names.append(type(event).__name__)


def test_events_report_begin_end_and_redelivery_but_not_waiting(connection):
    """Listeners receive the events of requests with their topic."""
    recorded = RecordedEvents()
    listener = LateAckListener(Driver(), connection, events=recorded, topic='t')
    deliver(listener, Delivery('u1', redelivered=True), Delivery('u2'), Delivery('u3'))
    (first,), (second,), (third,) = listener.poll(), listener.poll(), listener.poll()
    assert recorded.names == ['MessageRedelivered']

    first.begin()
    second.begin()
    first.finish()
    second.requeue()
    assert third.requeue_unless_begun()

    assert recorded.names == [
        'MessageRedelivered',
        'MessageTaken',
        'MessageTaken',
        'MessageSettled',
        'MessageSettled',
    ]


@pytest.fixture
def begun(connection):
    """Return a function that begins requests of a topic; the clock stands still at 100."""
    connection.now = 100.0
    listener = LateAckListener(Driver(), connection, lambda: connection.now, topic='t')

    def begin(*ids):
        for one in ids:
            delivery = Delivery(one)
            delivery['args'] = {'request': '{"cluster": {"id": "c1"}}'}
            delivery['_context_request_id'] = f'req-{one}'
            deliver(listener, delivery)
            (request,) = listener.poll()
            request.begin()
        return listener.in_flight, request

    return begin


def test_request_that_hangs_is_logged_once_with_its_cluster(begun, connection, caplog):
    """An operator learns which request occupies a thread, without a line every few seconds."""
    in_flight, _ = begun('u1')

    for now in (160, 161, 200):
        connection.now = now
        in_flight.log_longer_than(60)

    assert caplog.messages == [
        "Cluster 'c1': m has been in flight for 61 s (request req-u1, topic t)"
    ]
    assert caplog.records[0].levelname == 'WARNING'


def test_described_requests_are_those_in_flight(begun, connection):
    """A report lists the requests that threads handle, also those that are not late."""
    in_flight, last = begun('u1', 'u2')
    last.finish()
    connection.now = 107

    assert in_flight.described() == [
        "Cluster 'c1': m has been in flight for 7 s (request req-u1, topic t)"
    ]


def test_description_of_a_hostile_request_is_one_line(connection):
    """Neither the method nor the id of a request can forge a line."""
    in_flight = LateAckListener(Driver(), connection, topic='t').in_flight
    in_flight.add(SimpleNamespace(key=1, message={'method': 'a\nb'}, ctxt={'request_id': ['x']}))

    (line,) = in_flight.described()

    assert line == 'a\\nb has been in flight for 0 s (request unknown, topic t)'
