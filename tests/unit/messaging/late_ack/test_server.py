"""The server: malformed requests, pings, pending replies and heartbeats."""

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_context import context
from oslo_messaging._drivers import base
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.health.heartbeats import Heartbeat
from placement_worker.messaging.late_ack import LateAckServer, heartbeat
from placement_worker.messaging.reply_sender import ReplyPending
from placement_worker.messaging.rpc_server import AccessPolicy, ContextSerializer, ExposedEndpoints
from placement_worker.policies.registry import Registry
from tests.unit.messaging.late_ack.fakes import (
    CALL,
    Delivery,
    Sent,
    Server,
    Transport,
    deliver,
    turn,
)


@pytest.fixture
def handle(connection, listener):
    """Let a server handle a message; return the delivery, the request and the replies."""
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
def test_request_with_a_malformed_version_gets_an_error_and_no_heartbeats(
    handle, listener, version
):
    """A request whose version is malformed gets a reply and is acknowledged."""
    delivery, request, replies = handle({'method': 'policy_check', 'version': version})

    assert delivery.settled == ['acknowledged']
    assert listener.in_flight.oldest() is None
    assert request.client_timeout is None
    assert len(replies) == 1


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
    ('method', 'expected', 'heartbeats'),
    [('oslo_rpc_server_ping', 'pong', 2), ('nothing', 'NoSuchMethod', None)],
)
def test_rpc_ping_enabled_answers_pings_and_refuses_unknown_methods(
    pings, handle, method, expected, heartbeats
):
    """The pings of oslo.messaging work, and no other method is exposed with them."""
    delivery, request, replies = handle({'method': method, 'args': {}})

    assert delivery.settled == ['acknowledged']
    assert expected in repr(replies)
    assert request.client_timeout == heartbeats


def test_request_with_a_pending_reply_is_requeued_and_not_remembered(answer):
    """A request whose reply could not be sent is delivered and handled again."""
    delivery, listener = answer(Sent(ReplyPending('away')), CALL)

    assert delivery.settled == ['requeued']
    assert listener._finished == {}
    assert listener.in_flight.oldest() is None


def test_heartbeat_without_a_listener_is_none(listener):
    """A server has no heartbeat before it listens; the stock server counts as idle."""

    class Stock:
        prefetch_size = 8

    assert heartbeat(Server(None)) is None
    stock = heartbeat(Server(base.PollStyleListenerAdapter(Stock(), 1, None)))
    assert stock.begun_at is None
    assert stock.polled_at > listener.polled_at
    assert heartbeat(Server(base.PollStyleListenerAdapter(listener, 1, None))) == Heartbeat(
        listener.polled_at, None, None
    )
