"""The server that acknowledges after the reply: its bookkeeping, and what it relies on in oslo.messaging."""

import functools
import inspect
import threading
import weakref

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging import server as messaging_server
from oslo_messaging._drivers import amqp, amqpdriver, base, common, impl_rabbit
from oslo_messaging.rpc import dispatcher as rpc_dispatcher
from oslo_messaging.rpc import server as rpc_server

from placement_worker.cloud.inventory import Inventory
from placement_worker.liveness import Pulse
from placement_worker.policies.registry import Registry
from placement_worker.rpc.endpoints import Endpoints
from placement_worker.rpc.late_ack import REMEMBERED, LateAckListener, LateAckServer, pulse
from placement_worker.rpc.parking import RETRIED, Diversion
from placement_worker.rpc.server import AccessPolicy, ContextSerializer, ExposedEndpoints


class Driver:
    prefetch_size = 8


class Consumer:
    def __init__(self):
        self.cancelled = []

    def cancel(self, tag):
        self.cancelled.append(tag)


class Connection:
    """A broker that hands out what is put on it."""

    def __init__(self):
        self.consumer = Consumer()
        self._consumers = {self.consumer: 1}
        self.waiting = []
        self.idle = lambda: None

    def consume(self, timeout):
        if not self.waiting:
            self.idle()
            raise common.Timeout
        self.waiting.pop(0)()


class Raw:
    def __init__(self, channel, redelivered):
        self.channel = channel
        self.delivery_info = {'redelivered': redelivered}
        self.headers = {}


class Delivery(dict):
    """As the driver's RabbitMessage."""

    def __init__(self, unique_id, channel='channel-1', redelivered=False, broken=False):
        super().__init__({'method': 'm', '_unique_id': unique_id} if unique_id is not None else {'method': 'm'})
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

    class Enough(Exception):
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


def test_a_settled_request_holds_its_message_no_longer_though_threads_remember_it(listener, connection):
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


def test_one_that_comes_again_on_a_new_connection_while_in_hand_is_settled_there_and_runs_once(listener, connection):
    first, again = Delivery('u1', broken=True), Delivery('u1', channel='channel-2', redelivered=True)
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
            LateAckServer, diversion=diversion, forward=lambda *_: forwarded.set(), putting_aside=lock
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
    putting, poll = handle(given_up, Diversion(3, 'suspects', parks=False))
    assert forwarded.wait(10)
    meeting, _ = handle(Delivery('u1'), Diversion(1, 'parked', parks=True))
    meeting.join(0.2)

    poll()
    putting.join()
    meeting.join()

    assert said == ['acknowledged', 'handled']


class Transport:
    """Of RabbitMQ, so that a server acknowledges late; it is not connected."""

    conf = cfg.CONF

    def _require_driver_features(self, **features):
        pass


@pytest.fixture
def handle(connection, listener):
    """Have a worker's server handle a message; gives the delivery, the request, and what was replied."""
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
    assert listener.in_work.oldest() is None
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
    ('method', 'heard', 'heartbeats'), [('oslo_rpc_server_ping', 'pong', 2), ('nothing', 'NoSuchMethod', None)]
)
def test_with_rpc_ping_enabled_a_ping_is_answered_and_an_unknown_method_refused(
    pings, handle, method, heard, heartbeats
):
    delivery, request, replies = handle({'method': method, 'args': {}})

    assert delivery.settled == ['acknowledged']
    assert heard in repr(replies)
    assert request.client_timeout == heartbeats


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

    assert connection.consumer.cancelled == [1]
    assert connection._consumers == {}, 'a connection that is made anew must not consume again'
    assert (begun.settled, polled.settled, arrived.settled) == ([], ['given back'], ['given back'])
    assert not second.begin(), 'the pool gets to it later, and it is somebody elses then'
    first.finish()
    assert listener.poll() == []
    assert begun.settled == ['acknowledged']


def test_one_that_could_not_be_given_back_and_comes_again_is_not_taken_for_finished(listener, connection):
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
    assert listener.in_work.oldest() is None

    first.begin()
    began = listener.in_work.oldest()
    second.begin()
    assert listener.in_work.oldest() == began
    first.finish()
    assert listener.in_work.oldest() == began + 1, 'its reply is out, though it is not acknowledged yet'
    second.finish()
    assert listener.in_work.oldest() is None


def test_one_that_was_given_back_is_not_in_work(listener):
    deliver(listener, Delivery('u1'))
    (request,) = listener.poll()
    listener.stop()
    listener.poll()

    assert not request.begin()
    assert listener.in_work.oldest() is None


class Heard:
    def __init__(self):
        self.words = []

    def begun(self):
        self.words.append('begun')

    def ended(self):
        self.words.append('ended')

    def redelivered(self):
        self.words.append('redelivered')


def test_an_observer_hears_of_work_and_of_what_comes_again_and_not_of_what_only_waits(connection):
    heard = Heard()
    listener = LateAckListener(Driver(), connection, traffic=heard)
    deliver(listener, Delivery('u1', redelivered=True), Delivery('u2'), Delivery('u3'))
    (first,), (second,), (third,) = listener.poll(), listener.poll(), listener.poll()
    assert heard.words == ['redelivered']

    first.begin()
    second.begin()
    first.finish()
    second.leave()
    assert third.give_back()

    assert heard.words == ['redelivered', 'begun', 'begun', 'ended', 'ended']


def test_the_time_of_the_last_poll_is_known(connection):
    clock = Clock()
    listener = LateAckListener(Driver(), connection, clock)
    before = listener.polled_at

    turn(listener, connection)

    assert listener.polled_at > before


class Server:
    def __init__(self, listener):
        self.listener = listener


def test_a_server_that_does_not_listen_has_no_pulse_and_the_stock_one_has_polled_just_now(listener):
    class Stock:
        prefetch_size = 8

    assert pulse(Server(None)) is None
    stock = pulse(Server(base.PollStyleListenerAdapter(Stock(), 1, None)))
    assert stock.begun_at is None
    assert stock.polled_at > listener.polled_at
    assert pulse(Server(base.PollStyleListenerAdapter(listener, 1, None))) == Pulse(listener.polled_at, None)


PARAMETERS = {
    amqpdriver.AMQPIncomingMessage.__init__: (
        'self listener ctxt message unique_id msg_id reply_q client_timeout obsolete_reply_queues '
        'message_operations_handler'
    ),
    amqpdriver.AMQPIncomingMessage.reply: 'self reply failure',
    base.PollStyleListenerAdapter.__init__: 'self poll_style_listener batch_size batch_timeout',
    base.PollStyleListener.poll: 'self timeout batch_size batch_timeout',
    base.PollStyleListener.__init__: 'self prefetch_size',
    amqpdriver.AMQPDriverBase._get_connection: 'self purpose retry',
    amqpdriver.AMQPDriverBase._get_exchange: 'self target',
    impl_rabbit.Connection.declare_topic_consumer: 'self exchange_name topic callback queue_name',
    impl_rabbit.Connection.consume: 'self timeout',
    impl_rabbit.Connection.close: 'self',
    impl_rabbit.Consumer.cancel: 'self tag',
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
        (rpc_server.RPCServer._process_incoming, ['incoming[0]', 'message.acknowledge()', 'message.reply(res)']),
        (rpc_server.RPCServer.__init__, ['self._target = target']),
        (messaging_server.MessageHandlingServer.__init__, ['self.listener = None']),
        (messaging_server.MessageHandlingServer.start, ['self.listener = self._create_listener()']),
        (base.PollStyleListenerAdapter.__init__, ['self._poll_style_listener = poll_style_listener']),
        (amqpdriver.AMQPIncomingMessage.reply, ['self.listener.driver', 'self.orig_msg_id']),
        (base.PollStyleListenerAdapter.stop, ['_poll_style_listener.stop()', '_listen_thread.join()']),
        (base.PollStyleListenerAdapter._runner, ['while self._started', 'if not incoming']),
        (impl_rabbit.RabbitMessage.__init__, ['self._raw_message = raw_message']),
        (impl_rabbit.Connection.declare_consumer, ['self._consumers[consumer] = tag']),
        (impl_rabbit.Connection.__init__, ["'confirm_publish': True"]),
        (impl_rabbit.Connection.consume, ['rpc_common.Timeout()', 'self._consumers.items()']),
        (impl_rabbit.Consumer._callback, ['self.callback(RabbitMessage(message))', 'message.reject()']),
        (amqpdriver.AMQPDriverBase.listen, ['declare_topic_consumer', "'{}.{}'.format(target.topic"]),
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
