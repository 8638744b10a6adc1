"""Poison messages: moves to the isolation queue and to the parking lot."""

import contextlib
import logging
import threading
from types import SimpleNamespace

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.rpc.dispatcher import RPCDispatcher

from placement_worker.late_ack import poison
from placement_worker.late_ack.listener import LateAckListener
from placement_worker.late_ack.parking import DeathLimit
from placement_worker.late_ack.poison import PoisonMessages
from placement_worker.late_ack.request import Hooks
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging.rpc_server import ContextSerializer
from tests.unit.late_ack.fakes import TARGET, Connection, Delivery, Driver, Transport, deliver, turn


class Endpoint:
    target = oslo_messaging.Target()

    def __init__(self, log):
        self._log = log

    def m(self, context):
        self._log.append('handled')


class Crashes:
    """Every redelivered request was in flight at one death."""

    def __init__(self):
        self.moving = threading.Lock()

    def handling(self, request, **_):
        return contextlib.nullcontext()

    def deaths(self, request):
        return 1


@pytest.fixture
def log():
    return []


def begin(connection, delivery, messages, endpoints=(), **hooks):
    """Return a thread in which a server handles a delivery, the listener and the request."""
    listener = LateAckListener(Driver(), connection, hooks=Hooks(**hooks))
    methods = RPCDispatcher(endpoints, ContextSerializer())
    server = LateAckServer(Transport(), TARGET, methods, poison=messages)
    deliver(listener, delivery)
    (request,) = incoming = listener.poll()
    return threading.Thread(target=server._process_incoming, args=(incoming,)), listener, request


def above_limit():
    delivery = Delivery('u1', redelivered=True)
    delivery._raw_message.headers['x-delivery-count'] = 4
    return delivery


def test_isolated_request_waits_until_moves_of_its_process_are_acknowledged(log):
    """A process handles a moved request only after the broker knows that it was moved."""
    crashes, moved, delivery = Crashes(), threading.Event(), above_limit()
    delivery.acknowledge = lambda: log.append('acknowledged')

    def handle(delivery, limit):
        connection = Connection()
        messages = PoisonMessages(limit, lambda *_: moved.set(), ValueError, crashes)
        thread, listener, _ = begin(connection, delivery, messages, [Endpoint(log)])
        thread.start()
        return thread, lambda: turn(listener, connection)

    moving, poll = handle(delivery, DeathLimit(1, 'isolation', parks=False))
    assert moved.wait(10)
    isolated, _ = handle(Delivery('u1'), DeathLimit(1, 'parked', parks=True))
    isolated.join(0.2)
    while moving.is_alive():
        poll()
        moving.join(0.01)
    isolated.join()

    assert log == ['acknowledged', 'handled']


def test_request_that_waits_for_its_turn_is_not_in_flight_and_returns_at_a_stop(connection, log):
    """A wait for an isolated request makes no worker seem stuck, and no stop wait for its turn."""
    waits, may_begin = threading.Event(), threading.Event()

    class Busy(Crashes):
        @contextlib.contextmanager
        def handling(self, request, **_):
            waits.set()
            assert may_begin.wait(10)
            yield

    limit, delivery = DeathLimit(2, 'isolation', parks=False), Delivery('u1')
    messages = PoisonMessages(limit, lambda *_: None, ValueError, Busy())
    thread, listener, _ = begin(
        connection, delivery, messages, [Endpoint(log)], on_event=lambda event, _: log.append(event)
    )
    thread.start()
    assert waits.wait(10)
    assert listener.in_flight.oldest() is None
    listener.stop()
    listener.poll()
    may_begin.set()
    thread.join()

    assert (delivery.settled, log) == (['given back'], [])


@pytest.mark.parametrize(
    ('redelivered', 'count', 'deaths', 'exceeds'),
    [(False, 99, 9, False), (True, 0, 1, False), (True, 0, 2, True), (True, 51, 0, True)],
)
def test_limit_counts_deaths_of_requests_that_the_broker_redelivered(
    connection, redelivered, count, deaths, exceeds
):
    """A publisher's count isolates no fresh request; deaths count without the broker's count."""
    delivery = Delivery('u1', redelivered=redelivered)
    delivery._raw_message.headers['x-delivery-count'] = count
    listener = LateAckListener(Driver(), connection)
    deliver(listener, delivery)
    (request,) = listener.poll()
    table = SimpleNamespace(deaths=lambda _: deaths)
    limit = DeathLimit(2, 'isolation', parks=False)

    messages = PoisonMessages(limit, lambda *_: None, ValueError, table)

    assert messages.exceeds_limit(request) is exceeds


@pytest.fixture
def divert(connection, monkeypatch):
    """Let a server move a request above its limit; return the delivery of the request."""
    monkeypatch.setattr(poison, 'MOVE_RETRY_S', 0.01)

    def diverting(forward, reply):
        cfg.CONF([], default_config_files=[])
        delivery, limit = above_limit(), DeathLimit(1, 'parked', parks=True)
        messages = PoisonMessages(limit, forward, ValueError, Crashes())
        processing, listener, request = begin(
            connection, delivery, messages, describe=lambda message: f'{message["method"]}: '
        )
        request.reply = reply
        processing.start()
        while processing.is_alive():
            turn(listener, connection)
            processing.join(0.01)
        turn(listener, connection)
        return delivery

    return diverting


def test_request_that_cannot_be_moved_is_requeued_after_a_pause(divert, caplog):
    """A failure to park a request loses nothing, and does not use up its deliveries at once."""
    replies = []

    def forward(*_):
        raise OSError('away')

    delivery = divert(forward, lambda **reply: replies.append(reply))

    assert (delivery.settled, replies) == (['requeued'], [])
    assert 'Failed to move request u1; retrying in 0 s' in caplog.messages


def test_parked_request_without_a_reachable_caller_is_parked_once(divert):
    """A request in the parking lot is acknowledged even if the reply to its caller fails."""
    moved = []

    def reply(**_):
        raise ValueError('cannot be serialized')

    delivery = divert(lambda *message: moved.append(message), reply)

    assert (delivery.settled, len(moved)) == (['acknowledged'], 1)


def test_lines_about_a_poison_message_name_its_method(divert, caplog):
    """The lines of a redelivered and of a moved request name what an operator searches for."""
    caplog.set_level(logging.INFO)

    divert(lambda *_: 'p1', lambda **_: None)

    assert caplog.messages[-3:] == [
        'm: Request u1 was redelivered',
        'm: Request u1 was redelivered 4 times, and in flight at 1 deaths of processes; '
        'moving it to parked',
        'Request u1 is parked with the ID p1',
    ]
