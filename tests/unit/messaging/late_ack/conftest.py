"""Fixtures of the late acknowledging server."""

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.messaging.late_ack import LateAckServer
from placement_worker.messaging.late_ack.poll_listener import LateAckListener
from placement_worker.messaging.rpc_server import AccessPolicy, ContextSerializer, ExposedEndpoints
from placement_worker.policies.registry import Registry
from tests.unit.messaging.late_ack.fakes import (
    Connection,
    Delivery,
    Driver,
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
