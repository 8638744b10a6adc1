"""The requests in flight, and their events."""

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
