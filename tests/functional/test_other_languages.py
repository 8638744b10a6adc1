"""Clients without oslo.messaging: refusals of messages that can get no reply."""

import json
from contextlib import closing

import amqp
import pytest

from placement_worker.contract.rpc import EXCHANGE
from tests.malformed_requests import GOOD
from tests.waiting import wait_for

TEXT = {'content_type': 'application/json', 'content_encoding': 'utf-8'}


@pytest.fixture(scope='module')
def worker(start_worker):
    return start_worker()


def test_message_with_an_amqp_reply_to_alone_is_refused_and_its_sender_gets_the_cause(
    worker, channel
):
    """A message whose reply oslo.messaging would lose is refused with the cause."""
    queue = channel.queue_declare('', exclusive=True).queue
    asked = json.dumps({'method': 'policy_check', 'args': {'request': GOOD}})
    message = amqp.Message(asked, reply_to=queue, correlation_id='c1', **TEXT)

    channel.basic_publish(message, exchange=EXCHANGE, routing_key=worker.topic)

    wait_for(lambda: channel.queue_declare(queue, passive=True).message_count == 1)
    reply = channel.basic_get(queue, no_ack=True)
    assert (reply.properties['correlation_id'], reply.properties['priority']) == ('c1', 0)
    assert json.loads(reply.body)['error']['type'] == 'InvalidRequest'
    log = worker.log.read_text()
    assert f"Refused a message for a reply to queue '{queue}'" in log
    assert '_msg_id and _reply_q' in log
    assert 'policy_check' not in log.partition('Refused a message')[2]


@pytest.mark.parametrize('properties', [{}, {'content_type': 'text/plain'}], ids=['none', 'text'])
def test_message_of_another_content_type_is_dropped_with_a_warning(
    start_worker, channel, properties
):
    """The log names the property that a message lacks, and the worker handles the next call."""
    worker = start_worker()

    channel.basic_publish(
        amqp.Message('{}', **properties), exchange=EXCHANGE, routing_key=worker.topic
    )

    wait_for(lambda: 'Dropped a message: expected content_type' in worker.log.read_text())
    with closing(worker.client()) as client:
        client.get_capabilities()
    assert 'Failed to process message' not in worker.log.read_text()
