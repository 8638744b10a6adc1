"""The server that acknowledges after the reply: its bookkeeping, and what it relies on in
oslo.messaging.
"""

import functools
import inspect
import json
import logging
import socket
import threading
import time
import weakref

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging import server as messaging_server
from oslo_messaging._drivers import amqp, amqpdriver, base, common, impl_rabbit
from oslo_messaging.rpc import dispatcher as rpc_dispatcher
from oslo_messaging.rpc import server as rpc_server

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import QueueMismatch
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.health.heartbeats import Heartbeat
from placement_worker.messaging.late_ack import LateAckServer, heartbeat, poison
from placement_worker.messaging.late_ack import listener as late_ack_listener
from placement_worker.messaging.late_ack.connection import ListenConnection
from placement_worker.messaging.late_ack.listener import REMEMBERED, LateAckListener
from placement_worker.messaging.parking import RETRIED, DeliveryLimit
from placement_worker.messaging.replies import ReplyPending
from placement_worker.messaging.server import AccessPolicy, ContextSerializer, ExposedEndpoints
from placement_worker.policies.registry import Registry


class Driver:
    prefetch_size = 8


class Connection:
    """A ListenConnection whose broker delivers what is put on it, and refuses so many
    reconnections.
    """

    host = 'broker:5672'

    def __init__(self):
        self.waiting = []
        self.idle = lambda: None
        self.is_connected = True
        self.has_consumers = True
        self.refusals = 0
        self.attempts = 0
        self.wakes = 0

    def wait(self, timeout_s):
        if self.waiting:
            self.waiting.pop(0)()
        else:
            self.idle()

    def lose(self):
        self.is_connected = False
        raise ConnectionError('gone')

    def reconnect(self):
        self.attempts += 1
        if self.attempts <= self.refusals:
            raise ConnectionRefusedError('refused')
        self.is_connected = True

    def cancel_consumers(self):
        self.has_consumers = False

    def wake(self):
        self.wakes += 1


class Raw:
    def __init__(self, channel, redelivered):
        self.channel = channel
        self.delivery_info = {'redelivered': redelivered}
        self.headers = {}


class Delivery(dict):
    """As the driver's RabbitMessage."""

    def __init__(self, unique_id, channel='channel-1', redelivered=False, broken=False):
        super().__init__(
            {'method': 'm', '_unique_id': unique_id} if unique_id is not None else {'method': 'm'}
        )
        self._raw_message = Raw(channel, redelivered)
        self.settled = []
        self.broken = broken

    def acknowledge(self):
        self._settle('acknowledged')

    def requeue(self):
        self._settle('given back')

    def _settle(self, how):
        if self.broken:
            raise ConnectionError('gone')
        self.settled.append(how)


@pytest.fixture
def connection():
    return Connection()


@pytest.fixture
def listener(connection):
    return LateAckListener(Driver(), connection)


def deliver(listener, *deliveries):
    for delivery in deliveries:
        listener(delivery)


def turn(listener, connection):
    """Let the polling thread go round once, without anything arriving."""

    class Enough(BaseException):
        pass

    def stop():
        raise Enough

    connection.idle = stop
    with pytest.raises(Enough):
        listener.poll()


def test_a_request_is_acknowledged_when_it_is_finished_and_not_before(listener, connection):
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


def test_a_settled_request_holds_its_message_no_longer_though_threads_remember_it(
    listener, connection
):
    delivery = Delivery('u1')
    message = weakref.ref(delivery)
    deliver(listener, delivery)
    (request,) = listener.poll()
    request.begin()
    del delivery

    request.finish()
    assert message() is not None
    turn(listener, connection)

    assert message() is None


def test_one_that_comes_again_on_a_new_connection_while_in_hand_is_settled_there_and_runs_once(
    listener, connection
):
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


def test_one_that_comes_again_after_its_acknowledgement_was_lost_is_dropped(listener, connection):
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
    first, second = Delivery('u1'), Delivery('u1')

    deliver(listener, first, second)

    assert len(listener.poll()) == 1
    assert (first.settled, second.settled) == ([], ['acknowledged'])
    turn(listener, connection)


def test_one_that_was_parked_and_is_retried_is_not_taken_for_finished(listener, connection):
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


class Endpoint:
    """Says when it is asked."""

    target = oslo_messaging.Target()

    def __init__(self, said):
        self._said = said

    def m(self, context):
        self._said.append('handled')


def test_a_process_meets_what_it_put_aside_only_after_the_broker_was_told():
    said, lock, forwarded = [], threading.Lock(), threading.Event()
    transport = oslo_messaging.get_rpc_transport(cfg.CONF, 'fake:')

    def handle(delivery, diversion):
        """In a thread, as the server of a queue does; gives the listener that took it."""
        target = oslo_messaging.Target(topic='t', server='s')
        made = functools.partial(
            LateAckServer,
            delivery_limit=diversion,
            move=lambda *_: forwarded.set(),
            isolation=lock,
        )
        server = oslo_messaging.get_rpc_server(transport, target, [Endpoint(said)], server_cls=made)
        connection = Connection()
        listener = LateAckListener(Driver(), connection)
        deliver(listener, delivery)
        thread = threading.Thread(target=server._process_incoming, args=(listener.poll(),))
        thread.start()
        return thread, lambda: turn(listener, connection)

    given_up = Delivery('u1', redelivered=True)
    given_up._raw_message.headers['x-delivery-count'] = 4
    given_up.acknowledge = lambda: said.append('acknowledged')
    putting, poll = handle(given_up, DeliveryLimit(3, 'suspects', parks=False))
    assert forwarded.wait(10)
    meeting, _ = handle(Delivery('u1'), DeliveryLimit(1, 'parked', parks=True))
    meeting.join(0.2)

    poll()
    putting.join()
    meeting.join()

    assert said == ['acknowledged', 'handled']


@pytest.fixture
def put_aside(connection, listener, monkeypatch):
    """Have a server move a request of too many deliveries; return its delivery, and what its caller
    was sent.
    """
    monkeypatch.setattr(poison, 'MOVE_RETRY_S', 0.01)

    def put(forward, reply):
        cfg.CONF([], default_config_files=[])
        diversion = DeliveryLimit(3, 'parked', parks=True)
        made = functools.partial(LateAckServer, delivery_limit=diversion, move=forward)
        server = made(Transport(), oslo_messaging.Target(topic='t', server='s'), None)
        delivery = Delivery('u1', redelivered=True)
        delivery._raw_message.headers['x-delivery-count'] = 4
        deliver(listener, delivery)
        (request,) = incoming = listener.poll()
        request.reply = reply
        processing = threading.Thread(target=server._process_incoming, args=(incoming,))
        processing.start()
        while processing.is_alive():
            turn(listener, connection)
            processing.join(0.01)
        turn(listener, connection)
        return delivery

    return put


def test_a_request_that_cannot_be_moved_is_given_back_after_a_pause(put_aside, caplog):
    """A failure to park a request loses nothing, and does not use up its deliveries in a moment."""
    replies = []

    def forward(*_):
        raise QueueMismatch('other arguments')

    delivery = put_aside(forward, lambda **reply: replies.append(reply))

    assert (delivery.settled, replies) == (['given back'], [])
    assert 'Failed to move request u1; retrying in 0 s' in caplog.messages


def test_a_parked_request_whose_caller_cannot_be_reached_is_parked_once(put_aside):
    """A request that is in the parking lot is acknowledged even if the reply to its caller
    fails.
    """
    forwarded = []

    def reply(**_):
        raise ValueError('cannot be serialized')

    delivery = put_aside(lambda *message: forwarded.append(message), reply)

    assert (delivery.settled, len(forwarded)) == (['acknowledged'], 1)


class Transport:
    """Of RabbitMQ, so that a server acknowledges late; it is not connected."""

    conf = cfg.CONF

    def _require_driver_features(self, **features):
        pass


@pytest.fixture
def handle(connection, listener):
    """Have a worker's server handle a message; gives the delivery, the request, and what was
    replied.
    """
    cfg.CONF([], default_config_files=[])
    dispatcher = rpc_dispatcher.RPCDispatcher(
        [ExposedEndpoints(Endpoints(Inventory(), Registry([])))], ContextSerializer(), AccessPolicy
    )
    server = LateAckServer(Transport(), oslo_messaging.Target(topic='t', server='s'), dispatcher)

    def handled(message):
        delivery, replies = Delivery('u1'), []
        delivery.update(message)
        deliver(listener, delivery)
        (request,) = incoming = listener.poll()
        request.client_timeout = 2
        request.reply = lambda *reply, **more: replies.append(reply or more['failure'])
        server._process_incoming(incoming)
        turn(listener, connection)
        return delivery, request, replies

    return handled


@pytest.mark.parametrize('version', [1.0, '1', 'one', [], None])
def test_a_request_whose_version_is_none_is_answered_and_acknowledged_and_gets_no_heartbeats(
    handle, listener, version
):
    delivery, request, replies = handle({'method': 'policy_check', 'version': version})

    assert delivery.settled == ['acknowledged']
    assert listener.in_flight.oldest() is None
    assert request.client_timeout is None
    assert len(replies) == 1


@pytest.fixture
def pings():
    """Rpc_ping_enabled, which the dispatcher looks for in the configuration of the process."""
    rpc_dispatcher.RPCDispatcher([], None)  # makes the option known
    cfg.CONF.set_override('rpc_ping_enabled', True)
    yield
    cfg.CONF.clear_override('rpc_ping_enabled')


@pytest.mark.parametrize(
    ('method', 'heard', 'heartbeats'),
    [('oslo_rpc_server_ping', 'pong', 2), ('nothing', 'NoSuchMethod', None)],
)
def test_with_rpc_ping_enabled_a_ping_is_answered_and_an_unknown_method_refused(
    pings, handle, method, heard, heartbeats
):
    delivery, request, replies = handle({'method': method, 'args': {}})

    assert delivery.settled == ['acknowledged']
    assert heard in repr(replies)
    assert request.client_timeout == heartbeats


class Sent:
    """Collects replies, or raises."""

    def __init__(self, raising=None):
        self.replies = []
        self._raising = raising

    def send(self, what, message, exchange, routing_key):
        if self._raising:
            raise self._raising
        self.replies.append(
            (exchange, routing_key, json.loads(json.loads(message.body)['oslo.message']))
        )


CALL = {
    'method': 'get_capabilities',
    'args': {'request': {}},
    '_msg_id': 'm1',
    '_reply_q': 'reply_1',
}


@pytest.fixture
def answer(connection):
    """Have a worker's server handle a call; gives the delivery and the listener."""
    cfg.CONF([], default_config_files=[])
    dispatcher = rpc_dispatcher.RPCDispatcher(
        [ExposedEndpoints(Endpoints(Inventory(), Registry([])))], ContextSerializer(), AccessPolicy
    )

    def answering(replies, call):
        listener = LateAckListener(Driver(), connection, replies=replies)
        server = LateAckServer(
            Transport(), oslo_messaging.Target(topic='t', server='s'), dispatcher, replies=replies
        )
        delivery = Delivery('u1')
        delivery.update(call)
        deliver(listener, delivery)
        server._process_incoming(listener.poll())
        turn(listener, connection)
        return delivery, listener

    return answering


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


def test_request_whose_reply_is_pending_is_given_back_and_not_remembered(answer):
    """A request whose reply did not go out is delivered again, and handled again then."""
    delivery, listener = answer(Sent(ReplyPending('away')), CALL)

    assert delivery.settled == ['given back']
    assert listener._finished == {}
    assert listener.in_flight.oldest() is None


@pytest.mark.parametrize('queue', ['placement-worker-parked', 'notifications.info', '', None, 7])
def test_reply_to_a_queue_that_is_no_reply_queue_is_dropped(answer, queue):
    """A caller cannot have the worker write to other queues by naming them as its reply queue."""
    replies = Sent()

    delivery, _ = answer(replies, {**CALL, '_reply_q': queue})

    assert replies.replies == []
    assert delivery.settled == ['acknowledged']


def test_requests_without_an_id_are_told_apart_all_the_same(listener):
    deliver(listener, Delivery(None), Delivery(None))

    assert listener.poll() != listener.poll()


def test_an_id_that_is_none_is_rejected_by_the_driver(listener):
    with pytest.raises(ValueError, match='unique id'):
        deliver(listener, Delivery(['u1']))


def test_only_so_many_finished_requests_are_remembered(listener, connection):
    for number in range(REMEMBERED + 10):
        deliver(listener, Delivery(f'u{number}'))
        (request,) = listener.poll()
        request.begin()
        request.finish()
    turn(listener, connection)

    assert len(listener._finished) == REMEMBERED
    assert f'u{REMEMBERED + 9}' in listener._finished


def test_at_a_stop_what_has_not_begun_is_given_back_and_the_rest_is_finished(listener, connection):
    begun, polled, arrived = Delivery('u1'), Delivery('u2'), Delivery('u3')
    deliver(listener, begun, polled, arrived)
    (first,), (second,) = listener.poll(), listener.poll()
    first.begin()

    listener.stop()
    turn(listener, connection)

    assert not connection.has_consumers
    assert (begun.settled, polled.settled, arrived.settled) == ([], ['given back'], ['given back'])
    assert not second.begin(), 'the pool gets to it later, and it is somebody elses then'
    first.finish()
    assert listener.poll() == []
    assert begun.settled == ['acknowledged']


def test_one_that_could_not_be_given_back_and_comes_again_is_not_taken_for_finished(
    listener, connection
):
    deliver(listener, Delivery('u1', broken=True))
    listener.stop()
    assert listener.poll() == []

    assert 'u1' not in listener._finished


class Clock:
    """Goes on by a second with each look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def test_the_oldest_request_in_work_is_known_and_those_that_wait_do_not_count(connection):
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


def test_one_that_was_given_back_is_not_in_work(listener):
    deliver(listener, Delivery('u1'))
    (request,) = listener.poll()
    listener.stop()
    listener.poll()

    assert not request.begin()
    assert listener.in_flight.oldest() is None


class Heard:
    def __init__(self):
        self.words = []

    def handle(self, event):
        assert event.topic == 't'
        self.words.append(type(event).__name__)


def test_events_of_requests_report_begin_end_and_redelivery_but_no_wait(connection):
    heard = Heard()
    listener = LateAckListener(Driver(), connection, events=heard, topic='t')
    deliver(listener, Delivery('u1', redelivered=True), Delivery('u2'), Delivery('u3'))
    (first,), (second,), (third,) = listener.poll(), listener.poll(), listener.poll()
    assert heard.words == ['RequestRedelivered']

    first.begin()
    second.begin()
    first.finish()
    second.requeue()
    assert third.requeue_unless_begun()

    assert heard.words == [
        'RequestRedelivered',
        'RequestBegun',
        'RequestBegun',
        'RequestEnded',
        'RequestEnded',
    ]


def test_the_time_of_the_last_poll_is_known(connection):
    clock = Clock()
    listener = LateAckListener(Driver(), connection, clock)
    before = listener.polled_at

    turn(listener, connection)

    assert listener.polled_at > before


@pytest.fixture
def hasty(monkeypatch):
    """Reconnecting without pauses."""
    monkeypatch.setattr(late_ack_listener, 'RECONNECT_PAUSE_S', 0)


def test_a_listener_that_lost_its_connection_reconnects_and_polls_between_attempts(
    connection, hasty, caplog
):
    """A lost connection is reported with host and cause, and every attempt to reconnect counts as a
    poll.
    """
    caplog.set_level(logging.INFO)
    listener = LateAckListener(Driver(), connection, Clock())
    connection.refusals, connection.waiting = 3, [connection.lose]

    turn(listener, connection)

    assert connection.attempts == 4
    assert listener.disconnected_at is None
    assert caplog.messages[0] == 'Lost the connection to the broker at broker:5672: gone'
    assert caplog.messages[-1].startswith('Reconnected to the broker at broker:5672 after ')


def test_a_listener_without_a_broker_reports_since_when_and_warns_now_and_then(
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


def test_a_stop_without_a_broker_waits_for_requests_in_flight_and_does_not_reconnect(
    listener, connection
):
    """Without a connection nothing can be settled, so a stop ends when the last request in flight
    has ended.
    """
    deliver(listener, Delivery('u1', broken=True))
    (request,) = listener.poll()
    request.begin()
    connection.is_connected = False

    listener.stop()
    threading.Timer(0.1, request.finish).start()

    assert listener.poll() == []
    assert connection.attempts == 0


def test_an_operation_and_a_stop_wake_the_polling_thread(listener, connection):
    """An acknowledgement does not wait for the next delivery."""
    listener.do(lambda: None)
    listener.stop()

    assert connection.wakes == 2


class DriverConnection:
    """A connection of the driver whose broker has so many hosts, of which some are dead."""

    def __init__(self, alive):
        self.alive, self.tried, self.consumed = alive, [], []
        self.max_retries = None
        self._consumers = {}
        self.transport_options = {}
        self.dropped_with_timeout = None
        self.connection = self.channel = self
        self.current, self.connected, self.refuses_consumers = 0, True, False
        self.sock, self.far_end = socket.socketpair()

    def __getattr__(self, name):
        return {'hostname': f'host-{self.current}', 'port': 5672}[name]

    def declare_topic_consumer(self, exchange_name, topic, callback):
        self._consumers[ListenedQueue(self, topic)] = len(self._consumers) + 1

    def ensure_connection(self):
        assert self.max_retries == 0, 'one attempt'
        self.tried.append(self.current)
        if not self.alive[self.current]:
            raise ConnectionRefusedError
        self.connected = True
        self.sock, self.far_end = socket.socketpair()

    def basic_cancel(self, tag, nowait):
        assert nowait, 'a broker that does not answer must not delay a stop'
        self.consumed.append(('cancel', tag))
        if not self.connected:
            raise ConnectionError('gone')

    def maybe_switch_next(self):
        self.current = (self.current + 1) % len(self.alive)

    def collect(self):
        if self.connected:
            self.dropped_with_timeout = self.sock.gettimeout()
        self.connected = False
        self.sock.close()
        self.far_end.close()

    def drain_events(self, timeout):
        if not self.sock.recv(100):
            raise ConnectionResetError('closed')

    def _heartbeat_supported_and_enabled(self):
        return True

    def _heartbeat_check(self):
        self.consumed.append('heartbeat')


class ListenedQueue:
    def __init__(self, connection, topic):
        self.connection, self.topic, self.queue = connection, topic, self

    def consume(self, connection, tag):
        if connection.refuses_consumers:
            raise ConnectionError('refused')
        connection.consumed.append(('consume', self.topic, tag))

    def queue_bind(self, nowait):
        assert nowait, 'a broker that does not answer must not stop the polling thread'
        self.connection.consumed.append(('bind', self.topic))


class Context:
    """Of the driver: what `_get_connection` gives."""

    def __init__(self, connection):
        self.connection = connection
        self.is_closed = False

    def close(self):
        self.is_closed = True


@pytest.fixture
def listen():
    """Make a ListenConnection over hosts that are alive or not; returns it and the driver's
    connection.
    """
    made = []

    def making(*alive):
        driver = DriverConnection(alive)
        connection = ListenConnection(Context(driver), Clock())
        connection.add_consumer('exchange', 'topic', None)
        made.append((connection, driver))
        return connection, driver

    yield making
    for connection, driver in made:
        connection.close()
        driver.collect()


@pytest.mark.parametrize('dead', [0, 1, 2])
def test_reconnecting_tries_one_host_at_a_time_and_every_host(listen, dead):
    """A dead host in any position delays reconnecting by one attempt."""
    connection, driver = listen(*(position != dead for position in range(3)))
    driver.current = dead
    driver.collect()

    with pytest.raises(ConnectionRefusedError):
        connection.reconnect()
    connection.reconnect()

    assert driver.tried == [dead, (dead + 1) % 3]
    assert connection.is_connected


def test_a_closed_socket_loses_the_connection_and_the_consumers_begin_again_after_reconnecting(
    listen,
):
    """An error is passed on, and after reconnecting the queues are consumed again."""
    connection, driver = listen(True)
    connection.wait(0)
    driver.far_end.shutdown(socket.SHUT_RDWR)

    with pytest.raises(ConnectionResetError):
        connection.wait(1)
    assert not connection.is_connected
    connection.reconnect()
    connection.wait(0)

    assert [one for one in driver.consumed if one != 'heartbeat'] == [('consume', 'topic', 1)] * 2


def test_reconnect_after_a_failed_acknowledgement_consumes_again(listen):
    """A connection that is lost while a request is settled, and not while waiting, is consumed
    after reconnecting.
    """
    connection, driver = listen(True)
    connection.wait(0)
    lost = driver.sock
    driver.connected = False  # as py-amqp leaves a connection on which a write failed

    connection.reconnect()

    assert [one for one in driver.consumed if one != 'heartbeat'] == [('consume', 'topic', 1)] * 2
    assert lost.fileno() == -1, 'closed'


def test_wait_on_a_silent_connection_drops_it_without_waiting_for_its_peer(listen):
    """The end of TLS, which py-amqp waits for with the timeout of the socket, does not delay the
    loss.
    """
    connection, driver = listen(True)
    connection.wait(0)
    driver.sock.settimeout(12)

    def fail():
        raise ConnectionError('Too many heartbeats missed')

    driver._heartbeat_check = fail
    with pytest.raises(ConnectionError):
        connection.wait(0)

    assert driver.dropped_with_timeout == 0


def test_reconnect_to_a_host_that_refuses_consumers_fails_and_tries_the_next_host(listen):
    """A host that accepts connections but no consumers counts as a failed attempt, which a pause
    follows.
    """
    connection, driver = listen(True, True)
    driver.refuses_consumers = True

    with pytest.raises(ConnectionError):
        connection.reconnect()
    assert not connection.is_connected
    driver.refuses_consumers = False
    connection.reconnect()

    assert driver.tried == [0, 1]
    assert driver.consumed == [('consume', 'topic', 1)]


def test_a_wait_ends_early_when_woken_or_when_input_arrives(listen):
    """Neither acknowledgements nor deliveries wait for the timeout."""
    connection, driver = listen(True)
    connection.wait(0)
    began = time.monotonic()

    connection.wake()
    connection.wait(60)
    driver.far_end.send(b'frame')
    connection.wait(60)

    assert time.monotonic() - began < 30


def test_queues_are_bound_again_and_again(listen):
    """A deleted exchange, which takes the bindings along without a notice, is noticed within the
    period.
    """
    connection, driver = listen(True)
    for _ in range(50):
        connection.wait(0)

    assert driver.consumed.count(('bind', 'topic')) > 3


def test_cancelled_consumers_stay_cancelled_after_an_error(listen):
    """A connection that is lost has no consumers to cancel, and gets none when it reconnects."""
    connection, driver = listen(True)
    driver.collect()

    connection.cancel_consumers()
    connection.reconnect()
    connection.wait(0)

    assert [one for one in driver.consumed if one != 'heartbeat'] == [('cancel', '1')]


class Server:
    def __init__(self, listener):
        self.listener = listener


def test_heartbeat_of_a_server_that_does_not_listen_is_none(listener):
    class Stock:
        prefetch_size = 8

    assert heartbeat(Server(None)) is None
    stock = heartbeat(Server(base.PollStyleListenerAdapter(Stock(), 1, None)))
    assert stock.begun_at is None
    assert stock.polled_at > listener.polled_at
    assert heartbeat(Server(base.PollStyleListenerAdapter(listener, 1, None))) == Heartbeat(
        listener.polled_at, None, None
    )


PARAMETERS = {
    amqpdriver.AMQPIncomingMessage.__init__: (
        'self listener ctxt message unique_id msg_id reply_q client_timeout obsolete_reply_queues '
        'message_operations_handler'
    ),
    amqpdriver.AMQPIncomingMessage.reply: 'self reply failure',
    amqpdriver.AMQPIncomingMessage.heartbeat: 'self',
    amqp._add_unique_id: 'msg',
    common.serialize_msg: 'raw_msg',
    common.serialize_remote_exception: 'failure_info',
    base.PollStyleListenerAdapter.__init__: 'self poll_style_listener batch_size batch_timeout',
    base.PollStyleListener.poll: 'self timeout batch_size batch_timeout',
    base.PollStyleListener.__init__: 'self prefetch_size',
    amqpdriver.AMQPDriverBase._get_connection: 'self purpose retry',
    amqpdriver.AMQPDriverBase._get_exchange: 'self target',
    impl_rabbit.Connection.declare_topic_consumer: 'self exchange_name topic callback queue_name',
    impl_rabbit.Connection.ensure_connection: 'self',
    impl_rabbit.Connection._heartbeat_check: 'self',
    impl_rabbit.Connection._heartbeat_supported_and_enabled: 'self',
    impl_rabbit.Connection.close: 'self',
    impl_rabbit.Consumer.consume: 'self conn tag',
    impl_rabbit.RabbitMessage.acknowledge: 'self',
    impl_rabbit.RabbitMessage.requeue: 'self',
    amqp.unpack_context: 'msg',
    rpc_server.RPCServer._create_listener: 'self',
    rpc_server.RPCServer._process_incoming: 'self incoming',
    rpc_server.RPCServer.__init__: 'self transport target dispatcher executor',
}


@pytest.mark.parametrize('function', PARAMETERS, ids=lambda function: function.__qualname__)
def test_what_is_private_in_oslo_messaging_is_as_we_use_it(function):
    assert ' '.join(inspect.signature(function).parameters) == PARAMETERS[function]


@pytest.mark.parametrize(
    ('where', 'words'),
    [
        (
            rpc_server.RPCServer._process_incoming,
            ['incoming[0]', 'message.acknowledge()', 'message.reply(res)'],
        ),
        (rpc_server.RPCServer.__init__, ['self._target = target']),
        (messaging_server.MessageHandlingServer.__init__, ['self.listener = None']),
        (messaging_server.MessageHandlingServer.start, ['self.listener = self._create_listener()']),
        (
            base.PollStyleListenerAdapter.__init__,
            ['self._poll_style_listener = poll_style_listener'],
        ),
        (amqpdriver.AMQPIncomingMessage.reply, ['self.listener.driver', 'self.orig_msg_id']),
        (
            amqpdriver.AMQPIncomingMessage._send_reply,
            [
                "'result': reply, 'failure': failure, 'ending': ending",
                "'_msg_id': self.msg_id",
                'self.reply_q',
            ],
        ),
        (
            base.PollStyleListenerAdapter.stop,
            ['_poll_style_listener.stop()', '_listen_thread.join()'],
        ),
        (base.PollStyleListenerAdapter._runner, ['while self._started', 'if not incoming']),
        (impl_rabbit.RabbitMessage.__init__, ['self._raw_message = raw_message']),
        (impl_rabbit.Connection.declare_consumer, ['self._consumers[consumer] = tag']),
        (impl_rabbit.Connection.__init__, ["'confirm_publish': True"]),
        (
            impl_rabbit.Connection.ensure_connection,
            ['max_retries=self.max_retries', '_set_current_channel(None)'],
        ),
        (
            impl_rabbit.Connection._set_current_channel,
            ['for consumer in self._consumers', 'consumer.declare(self)'],
        ),
        (impl_rabbit.Consumer.consume, ['consumer_tag=str(tag)']),
        (impl_rabbit.Consumer.declare, ['self.queue = kombu.entity.Queue(']),
        (common.ConnectionContext.__init__, ['self.connection = connection_pool.create(purpose)']),
        (
            impl_rabbit.Consumer._callback,
            ['self.callback(RabbitMessage(message))', 'message.reject()'],
        ),
        (
            amqpdriver.AMQPDriverBase.listen,
            ['declare_topic_consumer', "'{}.{}'.format(target.topic"],
        ),
    ],
    ids=lambda value: getattr(value, '__qualname__', ''),
)
def test_what_is_private_in_oslo_messaging_does_what_we_rely_on(where, words):
    source = inspect.getsource(where)

    assert [word for word in words if word not in source] == []


def test_the_names_that_we_use_are_there():
    assert amqp.UNIQUE_ID == '_unique_id'
    assert issubclass(impl_rabbit.RabbitDriver, amqpdriver.AMQPDriverBase)
    assert common.PURPOSE_LISTEN
    assert amqpdriver.ObsoleteReplyQueuesCache
