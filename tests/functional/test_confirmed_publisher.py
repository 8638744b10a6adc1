"""One publication on a real RabbitMQ: what counts as refused, and what as a broker that is away."""

import functools
import threading
import uuid

import pytest
from amqp import Message
from oslo_config import cfg

from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.client.transport import load_transport_url, open_connection
from tests.functional.conftest import amqp
from tests.waiting import wait_for


class Broker:
    """A publisher on a broker, and what it opened."""

    def __init__(self, url):
        self.url = url
        self.opened = 0
        self.stopping = threading.Event()
        self.publisher = ConfirmedPublisher(self._open, self.stopping)
        self._target = load_transport_url(cfg.CONF, url)

    def _open(self, **more):
        self.opened += 1
        return open_connection(cfg.CONF, self._target, **more)

    def publish(self, exchange, routing_key):
        self.publisher.publish(
            Message('{}', content_type='application/json'), exchange, routing_key
        )


@pytest.fixture
def broker(broker_url):
    broker = Broker(broker_url)
    yield broker
    broker.publisher.close()


@pytest.fixture
def killable(own_broker):
    broker = Broker(own_broker.url)
    yield broker
    broker.publisher.close()


@pytest.fixture
def queue(request):
    """Make a queue on the broker of the test, and return its name and a count of its messages."""
    broker = request.getfixturevalue('killable' if 'killable' in request.fixturenames else 'broker')
    name = f'test-publisher-{uuid.uuid4().hex}'
    with amqp(broker.url) as connection:
        connection.default_channel.queue_declare(name, durable=True, auto_delete=False)
        yield name, functools.partial(count, broker.url, name)


def count(url, queue):
    with amqp(url) as connection:
        return connection.default_channel.queue_declare(queue, passive=True).message_count


def test_publish_to_a_queue_is_confirmed_and_keeps_the_connection(broker, queue):
    """Messages one after the other share a connection."""
    name, waiting = queue
    for _ in range(3):
        broker.publish('', name)

    wait_for(lambda: waiting() == 3)
    assert broker.opened == 1


def test_publish_to_a_full_queue_is_refused_and_the_next_one_arrives(broker, queue):
    """A rejected message costs no connection, and is not mistaken for the next one."""
    name, waiting = queue
    with amqp(broker.url) as connection:
        full = connection.default_channel.queue_declare(
            '', exclusive=True, arguments={'x-max-length': 1, 'x-overflow': 'reject-publish'}
        ).queue
        broker.publish('', full)
        with pytest.raises(DestinationRefused, match='rejected') as refused:
            broker.publish('', full)
        broker.publish('', name)

    assert not refused.value.for_good
    wait_for(lambda: waiting() == 1)
    assert broker.opened == 1


def test_publish_without_a_queue_is_refused_and_the_next_one_arrives(broker, queue):
    """A returned message costs no connection, and is not mistaken for the next one."""
    name, waiting = queue
    with pytest.raises(DestinationRefused, match='no queue is bound') as refused:
        broker.publish('', f'unroutable-{uuid.uuid4().hex}')
    broker.publish('', name)

    assert not refused.value.for_good
    wait_for(lambda: waiting() == 1)
    assert broker.opened == 1


def test_publish_to_a_missing_exchange_is_refused_and_may_succeed_later(broker):
    """An exchange that is missing may be declared later, by its owner alone."""
    with pytest.raises(DestinationRefused, match='no exchange') as refused:
        broker.publish(f'missing-{uuid.uuid4().hex}', 'x')

    assert not refused.value.for_good


def test_publish_without_the_permission_is_refused_for_good(broker):
    """A missing permission, as for an internal exchange, is not retried."""
    with pytest.raises(DestinationRefused, match='ACCESS_REFUSED') as refused:
        broker.publish('amq.rabbitmq.trace', 'x')

    assert refused.value.for_good


def test_publish_after_the_connections_were_closed_fails_once(killable, queue, own_broker):
    """Lost connections cost one attempt, however many there were."""
    name, waiting = queue
    threads = [threading.Thread(target=killable.publish, args=('', name)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own_broker.control('close_all_connections', 'test')

    with pytest.raises(BrokerUnavailable):
        killable.publish('', name)
    killable.publish('', name)

    wait_for(lambda: waiting() == 5)


def test_publish_to_a_frozen_broker_ends_when_the_process_stops(killable, queue, own_broker):
    """A broker that confirms nothing holds no thread of a process that stops."""
    name, _ = queue
    killable.publish('', name)
    with own_broker.frozen():
        threading.Timer(2, killable.stopping.set).start()
        with pytest.raises(BrokerUnavailable, match='before the stop'):
            killable.publish('', name)


def test_publish_without_a_broker_finds_it_away(killable, own_broker):
    """A broker that is not there is away, and not a destination that refuses."""
    own_broker.kill()
    try:
        with pytest.raises(BrokerUnavailable, match='No broker responded'):
            killable.publish('', 'x')
    finally:
        own_broker.start()
