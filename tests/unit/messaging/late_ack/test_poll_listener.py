"""The listener: acknowledgements, duplicates, stops and reconnections."""

import logging
import threading

import pytest
from oslo_messaging._drivers import base

from placement_worker.messaging.late_ack import heartbeat, poll_listener
from placement_worker.messaging.late_ack.poll_listener import REMEMBERED, LateAckListener
from placement_worker.messaging.parking import RETRIED
from tests.unit.messaging.late_ack.fakes import (
    Clock,
    Delivery,
    Driver,
    Server,
    deliver,
    turn,
)


def test_request_is_acknowledged_when_it_is_finished_and_not_before(listener, connection):
    """A request in flight stays with the broker until it is finished."""
    delivery = Delivery('u1')
    deliver(listener, delivery)

    (request,) = listener.poll()
    request.acknowledge()  # as the stock server does before it begins
    assert request.begin()
    turn(listener, connection)
    assert delivery.settled == []
    request.finish()
    turn(listener, connection)

    assert delivery.settled == ['acknowledged']


def test_redelivery_of_a_request_in_flight_is_settled_instead_of_the_first_delivery(
    listener, connection
):
    """A request that is redelivered on a new connection runs once and is settled there."""
    first, again = (
        Delivery('u1', broken=True),
        Delivery('u1', channel='channel-2', redelivered=True),
    )
    deliver(listener, first)
    (request,) = listener.poll()
    request.begin()

    deliver(listener, again)
    request.finish()
    turn(listener, connection)

    assert (first.settled, again.settled) == ([], ['acknowledged'])


def test_redelivery_after_a_lost_acknowledgement_is_dropped(listener, connection):
    """A finished request is not handled again if its acknowledgement was lost."""
    deliver(listener, Delivery('u1', broken=True))
    (request,) = listener.poll()
    request.begin()
    request.finish()
    turn(listener, connection)

    again = Delivery('u1', channel='channel-2', redelivered=True)
    deliver(listener, again)

    assert again.settled == ['acknowledged']
    turn(listener, connection)


def test_the_same_request_published_twice_runs_once(listener, connection):
    """Two messages with the same unique id on one channel are one request."""
    first, second = Delivery('u1'), Delivery('u1')

    deliver(listener, first, second)

    assert len(listener.poll()) == 1
    assert (first.settled, second.settled) == ([], ['acknowledged'])
    turn(listener, connection)


def test_retried_request_with_the_id_of_a_finished_one_runs(listener, connection):
    """A request that an operator retries is not taken for the one that was parked."""
    deliver(listener, Delivery('u1'))
    (request,) = listener.poll()
    request.begin()
    request.finish()
    turn(listener, connection)

    retried = Delivery('u1')
    retried._raw_message.headers[RETRIED] = 'p1'
    deliver(listener, retried)

    assert len(listener.poll()) == 1
    assert retried.settled == []


def test_requests_without_an_id_are_distinct(listener):
    """Requests of clients that send no unique id are never duplicates."""
    deliver(listener, Delivery(None), Delivery(None))

    assert listener.poll() != listener.poll()


@pytest.mark.parametrize('unique_id', [['u1'], 'u' * 256])
def test_delivery_with_a_malformed_id_raises_value_error(listener, unique_id):
    """The driver rejects a message whose unique id is not a string or is too long."""
    with pytest.raises(ValueError, match='unique id'):
        deliver(listener, Delivery(unique_id))


def test_finished_requests_beyond_the_limit_are_forgotten_oldest_first(listener, connection):
    """The memory of finished requests is bounded."""
    for number in range(REMEMBERED + 10):
        deliver(listener, Delivery(f'u{number}'))
        (request,) = listener.poll()
        request.begin()
        request.finish()
    turn(listener, connection)

    assert len(listener._finished) == REMEMBERED
    assert f'u{REMEMBERED + 9}' in listener._finished


def test_stop_requeues_waiting_requests_and_waits_for_those_in_flight(listener, connection):
    """A stop loses no request: other workers get those that no thread has begun."""
    begun, polled, arrived = Delivery('u1'), Delivery('u2'), Delivery('u3')
    deliver(listener, begun, polled, arrived)
    (first,), (second,) = listener.poll(), listener.poll()
    first.begin()

    listener.stop()
    turn(listener, connection)

    assert not connection.has_consumers
    assert (begun.settled, polled.settled, arrived.settled) == ([], ['requeued'], ['requeued'])
    assert not second.begin(), 'the request belongs to another worker'
    first.finish()
    assert listener.poll() == []
    assert begun.settled == ['acknowledged']


def test_request_that_could_not_be_requeued_is_not_remembered_as_finished(listener, connection):
    """A request that was not handled here is handled when it is redelivered."""
    deliver(listener, Delivery('u1', broken=True))
    listener.stop()
    assert listener.poll() == []

    assert 'u1' not in listener._finished


def test_poll_updates_the_time_of_the_last_poll(connection):
    """The heartbeat of a listener that polls is recent."""
    clock = Clock()
    listener = LateAckListener(Driver(), connection, clock)
    before = listener.polled_at

    turn(listener, connection)

    assert listener.polled_at > before


@pytest.fixture
def hasty(monkeypatch):
    """Reconnect without pauses."""
    monkeypatch.setattr(poll_listener, 'RECONNECT_PAUSE_S', 0)


def test_listener_without_a_connection_reconnects_and_polls_between_attempts(
    connection, hasty, caplog
):
    """Each attempt to reconnect counts as a poll; the log has host, topic and cause of the loss."""
    caplog.set_level(logging.INFO)
    listener = LateAckListener(Driver(), connection, Clock(), topic='t')
    connection.refusals, connection.waiting = 3, [connection.lose]

    turn(listener, connection)

    assert connection.attempts == 4
    assert listener.disconnected_at is None
    assert caplog.messages[0] == 'Lost the connection to the broker at broker:5672 (topic t): gone'
    assert caplog.messages[-1].startswith(
        'Reconnected to the broker at broker:5672 (topic t) after '
    )


def test_listener_without_a_broker_reports_the_time_of_the_loss_and_warns(
    connection, hasty, caplog
):
    """The heartbeat of a server has the time of the loss until it is connected again."""
    clock = Clock()
    listener = LateAckListener(Driver(), connection, clock)
    connection.refusals, connection.waiting = 100, [connection.lose]
    heartbeats = []

    def reconnect(once=connection.reconnect):
        heartbeats.append(heartbeat(Server(base.PollStyleListenerAdapter(listener, 1, None))))
        once()

    connection.reconnect = reconnect
    turn(listener, connection)

    assert len({one.disconnected_at for one in heartbeats}) == 1
    assert heartbeats[0].disconnected_at is not None
    assert heartbeats[-1].polled_at > heartbeats[0].polled_at
    warnings = [
        message for message in caplog.messages if message.startswith('No broker connection for ')
    ]
    assert 3 < len(warnings) < 20


def test_stop_without_a_broker_waits_for_requests_in_flight_without_reconnecting(
    listener, connection
):
    """Without a connection a stop ends when the last request in flight has ended."""
    deliver(listener, Delivery('u1', broken=True))
    (request,) = listener.poll()
    request.begin()
    connection.is_connected = False

    listener.stop()
    threading.Timer(0.1, request.finish).start()

    assert listener.poll() == []
    assert connection.attempts == 0


def test_operation_while_the_connection_is_free_runs_in_the_calling_thread(listener, connection):
    """An acknowledgement does not wake a polling thread that waits for input."""
    ran_in = []

    listener.do(lambda: ran_in.append(threading.current_thread()))

    assert (ran_in, connection.wakes) == ([threading.current_thread()], 0)
    assert not connection.in_use.locked()


def test_operation_while_the_connection_is_used_wakes_the_polling_thread(listener, connection):
    """Two threads never use the connection at once, and no acknowledgement waits for a delivery."""
    ran = []

    with connection.in_use:
        listener.do(lambda: ran.append(1))
        assert (ran, connection.wakes) == ([], 1)
    turn(listener, connection)

    assert ran == [1]


@pytest.mark.parametrize('event', ['stop', 'loss'])
def test_operation_after_a_stop_or_a_loss_wakes_the_polling_thread(event, listener, connection):
    """The polling thread ends after the last request, and reconnects after a failed write."""
    if event == 'stop':
        listener.stop()
    wakes = connection.wakes

    def lose():
        connection.is_connected = event != 'loss'

    listener.do(lose)

    assert connection.wakes == wakes + 1


def test_stop_wakes_the_polling_thread(listener, connection):
    """A stop does not wait for the next delivery."""
    listener.stop()

    assert connection.wakes == 1
