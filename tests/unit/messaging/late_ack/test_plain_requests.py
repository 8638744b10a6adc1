"""Requests whose senders expect a reply at AMQP's `reply_to`."""

import json

import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.messaging.late_ack import LateAckServer, plain_requests
from placement_worker.messaging.late_ack.poll_listener import LateAckListener
from placement_worker.messaging.rpc_server import ContextSerializer
from tests.unit.messaging.late_ack.fakes import (
    CALL,
    Delivery,
    Driver,
    Sent,
    Transport,
    deliver,
    turn,
)


class Dispatcher:
    """Record the requests that are handled."""

    def __init__(self):
        self.handled = []
        self.endpoints = []
        self.serializer = ContextSerializer()

    def dispatch(self, request):
        self.handled.append(request)


@pytest.fixture
def receive(connection):
    """Let a server receive a message; return whether it was rejected and whether it was handled."""
    cfg.CONF([], default_config_files=[])

    def receiving(message, replies, **properties):
        listener = LateAckListener(Driver(), connection, replies=replies)
        dispatcher = Dispatcher()
        server = LateAckServer(
            Transport(), oslo_messaging.Target(topic='t', server='s'), dispatcher, replies=replies
        )
        delivery = Delivery(None)
        delivery.update(message)
        raw = delivery._raw_message
        raw.properties = properties
        deliver(listener, delivery)
        server._process_incoming(listener.poll())
        turn(listener, connection)
        assert listener.in_flight.oldest() is None
        return raw.is_rejected, bool(dispatcher.handled)

    return receiving


@pytest.mark.parametrize('queue', ['amq.gen-x7', 'amq.rabbitmq.reply-to.g1h2', 'reply_1'])
def test_request_with_an_amqp_reply_to_alone_is_refused_and_its_sender_gets_the_error(
    receive, caplog, queue
):
    """A request that can get no reply is not handled; its sender and the log get the cause."""
    replies = Sent()

    is_rejected, is_handled = receive({'method': 'm'}, replies, reply_to=queue, correlation_id='c1')

    assert (is_rejected, is_handled) == (True, False)
    ((exchange, routing_key, message),) = replies.messages
    assert (exchange, routing_key) == ('', queue)
    assert message.properties['correlation_id'] == 'c1'
    assert json.loads(message.body) == {
        'error': {'type': 'InvalidRequest', 'message': plain_requests.CAUSE}
    }
    assert caplog.messages[-1:] == [
        f"Refused a message for a reply to queue '{queue}': {plain_requests.CAUSE}"
    ]


@pytest.mark.parametrize('queue', ['placement-worker-parked', 'notifications.info', 'bystander'])
def test_refused_request_writes_no_error_to_a_queue_with_a_chosen_name(receive, queue):
    """A sender cannot make the worker write to a queue of workers or of notifications."""
    replies = Sent()

    is_rejected, is_handled = receive({'method': 'm'}, replies, reply_to=queue)

    assert (is_rejected, is_handled) == (True, False)
    assert replies.messages == []


@pytest.mark.parametrize('failure', [DestinationRefused('missing'), BrokerUnavailable('away')])
def test_refused_request_whose_sender_is_gone_is_dropped(receive, caplog, failure):
    """An error that cannot be sent is logged, and the request is dropped."""
    is_rejected, _ = receive({'method': 'm'}, Sent(failure), reply_to='amq.gen-x7')

    assert is_rejected
    assert f"Failed to report the refusal to queue 'amq.gen-x7': {failure}" in caplog.messages


def test_call_with_an_amqp_reply_to_is_handled(receive):
    """A call in oslo.messaging's envelope may have the AMQP property, which is ignored."""
    is_rejected, is_handled = receive(CALL, Sent(), reply_to='amq.gen-x7')

    assert (is_rejected, is_handled) == (False, True)
