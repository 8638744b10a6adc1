"""What is parked stays parked, however often somebody looks at it."""

from contextlib import closing

import kombu
import pytest
from oslo_config import cfg

from placement_worker import config
from placement_worker.client.connection import connect, transport_url
from placement_worker.contract.topics import PARKING_SUFFIX
from placement_worker.errors import QueueMismatch
from placement_worker.messaging import parking, topology
from tests.functional.conftest import amqp

LOOKS = 110  # more than the broker's limit on the other queues


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    config.register(conf)
    config.set_defaults()
    conf([], default_config_files=[])
    return conf


@pytest.fixture
def declare(conf, broker_url):
    """Have a worker make its queues."""
    target = transport_url(conf, broker_url)
    connect(conf, target).cleanup()

    def declare(queue):
        conf.set_override('topic', queue.removesuffix(PARKING_SUFFIX), group='worker')
        topology.declare(conf, target, [queue])

    return declare


def look(url, queue):
    """As `placement-policy parked list` does."""
    with amqp(url) as connection:
        return [one.body for one in parking.parked_requests(connection, queue, 10)]


def publish(url, queue):
    with (
        closing(kombu.Connection(url.replace('rabbit://', 'amqp://'))) as connection,
        connection.Producer() as one,
    ):
        one.publish(b'request', exchange='', routing_key=queue, delivery_mode=2)


def test_a_parked_request_is_still_there_after_more_looks_than_the_broker_lets_other_queues_have(
    declare, broker_url
):
    declare('test-looked-at-parked')
    publish(broker_url, 'test-looked-at-parked')

    seen = [look(broker_url, 'test-looked-at-parked') for _ in range(LOOKS)]

    assert [bodies for bodies in seen if bodies != [b'request']] == []


def test_a_parked_queue_with_the_limit_of_old_is_told_of_with_what_to_do_before_it_is_deleted(
    declare, broker_url
):
    queue = 'test-of-old-parked'
    with amqp(broker_url) as connection:
        limited = {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
        connection.channel().queue_declare(
            queue, durable=True, auto_delete=False, arguments=limited
        )

    with pytest.raises(QueueMismatch, match='x-delivery-limit') as told:
        declare(queue)

    assert 'Retry or drop the parked requests in it first: placement-policy parked list' in str(
        told.value
    )
    assert str(told.value).endswith(f'rabbitmqctl -p / delete_queue {queue}')
