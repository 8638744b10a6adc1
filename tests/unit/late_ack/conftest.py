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
    """Let a server handle a call; return the delivery and the listener."""
    cfg.CONF([], default_config_files=[])
    dispatcher = rpc_dispatcher.RPCDispatcher([Endpoint()], ContextSerializer(), AccessPolicy)

    def answering(replies, call):
        listener = LateAckListener(Driver(), connection, hooks=Hooks(send_reply=replies))
        server = LateAckServer(Transport(), TARGET, dispatcher, send_reply=replies)
        delivery = Delivery('u1')
        delivery.update(call)
        deliver(listener, delivery)
        server._process_incoming(listener.poll())
        turn(listener, connection)
        return delivery, listener

    return answering
