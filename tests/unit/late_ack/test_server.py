"""The server: malformed requests, pings, pending replies and heartbeats."""

import json
import threading
from types import SimpleNamespace

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_context import context
from oslo_messaging._drivers import base, common
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from placement_worker.late_ack.request import Redeliver
from placement_worker.late_ack.server import (
    CONFIRM_S,
    NO_ENVELOPE,
    LateAckServer,
    driver_of,
    heartbeat,
    limit_confirmation_wait,
)
from placement_worker.messaging.rpc_server import AccessPolicy, ContextSerializer
from tests.unit.late_ack.fakes import (
    CALL,
    TARGET,
    Delivery,
    Driver,
    Endpoint,
    Sent,
    Transport,
    deliver,
    turn,
)


@pytest.fixture
def handle(connection, listener):
    """Let a server handle a message; return the delivery, the request and the replies."""
    others = set(threading.enumerate())
    cfg.CONF([], default_config_files=[])
    dispatcher = rpc_dispatcher.RPCDispatcher([Endpoint()], ContextSerializer(), AccessPolicy)
    server = LateAckServer(Transport(), TARGET, dispatcher)

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

    yield handled
    for thread in set(threading.enumerate()) - others:
        thread.join(10)  # it would log in another test that its heartbeats end


@pytest.mark.parametrize('version', [1.0, '1', 'one', [], None])
def test_request_with_a_malformed_version_gets_an_error_and_no_heartbeats(
    handle, listener, version
):
    """A request whose version is malformed gets a reply, is acknowledged, and leaves no thread."""
    delivery, request, replies = handle({'method': 'policy_check', 'version': version})

    assert delivery.settled == ['acknowledged']
    assert listener.in_flight.oldest() is None
    assert len(replies) == 1
    with pytest.raises(RuntimeError, match='The call has ended'):  # it ends the heartbeats
        request.heartbeat()


@pytest.mark.parametrize('wrong', [{'version': '9.0'}, {'method': 'nothing'}])
def test_log_of_a_request_without_a_method_has_its_own_request_id(handle, wrong, caplog):
    """The log never names an earlier request of the thread as the origin of an error."""
    ids, named = [], {'method': 'get_capabilities', 'args': {'request': '{}'}}

    with caplog.filtering(lambda _: ids.append(context.get_current().request_id) or True):
        handle({**named, '_context_request_id': 'req-first'})
        handle({**named, **wrong, '_unique_id': 'u2', '_context_request_id': 'req-second'})

    assert [record.levelname for record in caplog.records] == ['ERROR']
    assert ids == ['req-second']


@pytest.fixture
def pings():
    """Set rpc_ping_enabled, which the dispatcher reads from the configuration of the process."""
    rpc_dispatcher.RPCDispatcher([], None)  # registers the option
    cfg.CONF.set_override('rpc_ping_enabled', True)
    yield
    cfg.CONF.clear_override('rpc_ping_enabled')


@pytest.mark.parametrize(
    ('method', 'expected'), [('oslo_rpc_server_ping', 'pong'), ('nothing', 'NoSuchMethod')]
)
def test_rpc_ping_enabled_answers_pings_and_refuses_unknown_methods(
    pings, handle, method, expected
):
    """The pings of oslo.messaging work, and no other method is exposed with them."""
    delivery, _, replies = handle({'method': method, 'args': {}})

    assert delivery.settled == ['acknowledged']
    assert expected in repr(replies)


@pytest.mark.parametrize(('counted', 'settled'), [(False, 'given back'), (True, 'requeued')])
def test_request_that_must_be_redelivered_returns_to_its_queue_and_is_not_remembered(
    answer, counted, settled
):
    """A request whose reply could not be sent is delivered and handled again.

    RabbitMQ 4.3 does not count a delivery that is given back with a nack as a crash.
    """
    delivery, listener = answer(Sent(Redeliver('away', counted=counted)), CALL)

    assert delivery.settled == [settled]
    assert listener._finished == {}


def test_heartbeat_without_a_listener_is_none(listener):
    """A server has no heartbeat before it listens; the stock server counts as idle."""

    assert heartbeat(SimpleNamespace(listener=None)) is None
    stock = heartbeat(SimpleNamespace(listener=base.PollStyleListenerAdapter(Driver(), 1, None)))
    assert stock[0] > listener.polled_at
    assert stock[1:] == (None, None)
    own = heartbeat(SimpleNamespace(listener=base.PollStyleListenerAdapter(listener, 1, None)))
    assert own == (listener.polled_at, None, None)


@pytest.mark.parametrize('queue', ['amq.gen-x7', 'amq.rabbitmq.reply-to.g1h2', 'reply_1'])
def test_request_with_an_amqp_reply_to_alone_is_refused_and_its_sender_gets_the_error(
    answer, caplog, queue
):
    """A request that can get no reply is not handled; its sender and the log get the cause."""
    replies = Sent()

    delivery, _ = answer(replies, {'method': 'm'}, reply_to=queue, correlation_id='c1')

    assert (delivery._raw_message.is_rejected, replies.replies) == (True, [])
    ((sent_to, message),) = replies.messages
    assert sent_to == queue
    assert message.properties['correlation_id'] == 'c1'
    assert json.loads(message.body) == {'error': {'type': 'InvalidRequest', 'message': NO_ENVELOPE}}
    assert caplog.messages[-1:] == [
        f"Refused a message for a reply to queue '{queue}': {NO_ENVELOPE}"
    ]


@pytest.mark.parametrize('failure', [OSError('missing'), Redeliver('away')])
def test_refused_request_whose_sender_is_gone_is_dropped(answer, caplog, failure):
    """An error that cannot be sent is logged, and the request is dropped."""
    delivery, _ = answer(Sent(failure), {'method': 'm'}, reply_to='amq.gen-x7')

    assert delivery._raw_message.is_rejected
    assert f"Failed to report the refusal to queue 'amq.gen-x7': {failure}" in caplog.messages


@pytest.mark.parametrize(
    ('message', 'queue', 'is_handled'),
    [(CALL, 'amq.gen-x7', True), ({'method': 'm'}, 'notifications.info', False)],
)
def test_amqp_reply_to_of_a_call_or_to_a_queue_with_a_chosen_name_is_ignored(
    answer, message, queue, is_handled
):
    """Calls are handled, and no sender makes the worker write to a queue of a chosen name."""
    replies = Sent()

    delivery, _ = answer(replies, message, reply_to=queue)

    assert (bool(replies.replies), replies.messages) == (is_handled, [])
    assert delivery._raw_message.is_rejected is not is_handled


def test_blocked_connection_waits_for_its_confirmation_and_the_next_one_has_a_limit_again():
    """An alarm of the broker causes no copies, and a connection after it is not taken as blocked.

    A call on it would wait without a bound if its node were cut off.
    """
    cfg.CONF([], default_config_files=[])
    transport = oslo_messaging.get_rpc_transport(cfg.CONF, url='kombu+memory://')
    limit_confirmation_wait(transport)
    with driver_of(transport)._get_connection(common.PURPOSE_SEND) as connection:
        connection._on_connection_blocked('low on memory')
        connection._limit_wait(CONFIRM_S + 1)
        connection.ensure_connection()

        with pytest.raises(TimeoutError, match='no confirmation'):
            connection._limit_wait(CONFIRM_S + 1)
    transport.cleanup()
