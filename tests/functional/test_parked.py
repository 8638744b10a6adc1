"""The parking lot on a real broker: listings, and its delivery limit."""

import pytest
from amqp import Message

from placement_worker.client.transport import connect, transport_url
from placement_worker.config import options
from placement_worker.errors import QueueMismatch
from placement_worker.late_ack import parking
from placement_worker.messaging import topology
from tests.config_files import default_options
from tests.functional.conftest import amqp
from tests.waiting import wait_for

LISTINGS = 110  # more than the delivery limit of the other queues


@pytest.fixture
def declare(broker_url):
    options.set_defaults()
    conf = default_options()
    target = transport_url(conf, broker_url)
    connect(conf, target).cleanup()

    def declare(queue):
        topology.declare(conf, target, [queue], queue)

    return declare


def listing(url, queue):
    with amqp(url) as connection:
        return [parked.body for parked in parking.parked_requests(connection, queue, 10)]


def publish(url, queue):
    with amqp(url) as connection:
        message = Message(b'request', delivery_mode=2)
        connection.channel().basic_publish_confirm(message, exchange='', routing_key=queue)


def test_parked_request_stays_after_more_listings_than_the_delivery_limit(declare, broker_url):
    """Any number of listings leaves a parked request in the parking lot."""
    declare('test-listed-parked')
    publish(broker_url, 'test-listed-parked')

    for _ in range(LISTINGS):
        wait_for(lambda: listing(broker_url, 'test-listed-parked') == [b'request'])


def test_parking_lot_with_an_old_limit_is_reported_with_the_way_to_empty_it(declare, broker_url):
    """The error about an old parking lot says to empty it before it is deleted."""
    queue = 'test-of-old-parked'
    with amqp(broker_url) as connection:
        limited = {'arguments': {'x-queue-type': 'quorum', 'x-delivery-limit': 100}}
        connection.channel().queue_declare(queue, durable=True, auto_delete=False, **limited)

    with pytest.raises(QueueMismatch, match='x-delivery-limit') as raised:
        declare(queue)

    text = str(raised.value)
    assert 'Retry or drop the parked requests in it first: placement-policy parked list' in text
    assert text.endswith(f'rabbitmqctl -p / delete_queue {queue}')
