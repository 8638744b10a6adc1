"""Fixtures of the late acknowledging server."""

import pytest
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from placement_worker.late_ack.listener import LateAckListener
from placement_worker.late_ack.request import Hooks
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging.rpc_server import AccessPolicy, ContextSerializer
from tests.unit.late_ack.fakes import (
    TARGET,
    Connection,
    Delivery,
    Driver,
    Endpoint,
    Transport,
    deliver,
    turn,
)


@pytest.fixture
def connection():
    return Connection()


@pytest.fixture
def listener(connection):
    return LateAckListener(Driver(), connection)


@pytest.fixture
def answer(connection):
    """Let a server receive a message; return the delivery and the listener."""
    cfg.CONF([], default_config_files=[])
    dispatcher = rpc_dispatcher.RPCDispatcher([Endpoint()], ContextSerializer(), AccessPolicy)

    def answering(replies, message, **properties):
        listener = LateAckListener(Driver(), connection, hooks=Hooks(send_reply=replies))
        server = LateAckServer(Transport(), TARGET, dispatcher, send_reply=replies)
        delivery = Delivery(None)
        delivery.update(message)
        delivery._raw_message.properties = properties
        deliver(listener, delivery)
        server._process_incoming(listener.poll())
        turn(listener, connection)
        assert listener.in_flight.oldest() is None
        return delivery, listener

    return answering
