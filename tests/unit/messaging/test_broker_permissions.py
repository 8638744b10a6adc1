"""The checks of permissions, on a channel that refuses what a test names."""

import pytest
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed

from placement_worker.errors import BrokerRefused
from placement_worker.messaging import topology


class Broker:
    """A connection and its channel; an operation raises the error that a test sets for it."""

    def __init__(self, **failures):
        self._failures = failures
        self.routing_keys = []
        self.asked = []
        self.is_open = True

    def channel(self):
        return self

    def close(self):
        self.is_open = False

    def exchange_declare(self, exchange, kind, auto_delete, arguments):
        self._ask('exchange_declare', exchange, PreconditionFailed('argument'))

    def queue_declare(self, queue, durable, auto_delete, arguments):
        self._ask('queue_declare', queue, PreconditionFailed('argument'))

    def queue_unbind(self, queue, exchange, routing_key, arguments):
        self._ask('queue_unbind', queue, NotFound('no queue'))

    def _ask(self, operation, name, failure):
        self.asked.append((operation, name))
        raise self._failures.get(operation, failure)

    def basic_consume(self, queue, arguments):
        if 'consume' in self._failures:
            raise self._failures['consume']

    def basic_publish_confirm(self, message, exchange, routing_key):
        self.routing_keys.append((exchange, routing_key))
        if 'publish' in self._failures:
            raise self._failures['publish']


@pytest.mark.parametrize(
    ('resource', 'permission'),
    [('queue', 'write'), ('exchange', 'read'), ('topic', 'topic'), ('vhost', 'write or read')],
)
def test_needed_with_a_refused_resource_names_its_permission(resource, permission):
    """An operation on two resources names the permission of the one that was refused."""
    refusal = AccessRefused(f"access to {resource} 'x' refused")

    with (
        pytest.raises(BrokerRefused) as raised,
        topology.needed(queue='write', exchange='read'),
    ):
        raise refusal

    assert str(raised.value).startswith(f'The {permission} permission is missing on the broker: ')
    assert raised.value.__cause__ is refusal


def test_needed_with_a_refused_topic_names_the_command_that_removes_the_refusal():
    """The manual grants workers no topic permissions, and RabbitMQ then allows every topic."""
    with pytest.raises(BrokerRefused) as raised, topology.needed(queue='write'):
        raise AccessRefused("access to topic 'x' refused")

    assert 'a worker needs none, so "rabbitmqctl clear_topic_permissions" ' in str(raised.value)


def test_needed_with_another_error_raises_it_unchanged():
    """A queue that is missing is not reported as a missing permission."""
    with pytest.raises(NotFound), topology.needed(queue='write'):
        raise NotFound('no queue')


def test_check_declare_on_an_empty_broker_tries_each_operation_on_each_queue():
    """The permissions of a first installation are checked before anything exists."""
    broker = Broker(consume=NotFound('no queue'))

    topology.check_declare(broker, 'e', ['t1', 't2'])

    assert broker.asked == [
        ('exchange_declare', 'e'),
        ('queue_declare', 't1'),
        ('queue_unbind', 't1'),
        ('queue_declare', 't2'),
        ('queue_unbind', 't2'),
    ]


@pytest.mark.parametrize(
    ('operation', 'resource', 'permission'),
    [
        ('exchange_declare', 'exchange', 'configure'),
        ('queue_declare', 'queue', 'configure'),
        ('queue_unbind', 'queue', 'write'),
        ('queue_unbind', 'exchange', 'read'),
        ('consume', 'queue', 'read'),
    ],
)
def test_check_declare_without_a_permission_names_it(operation, resource, permission):
    """Each permission that the start of a worker needs is named before the start."""
    broker = Broker(**{operation: AccessRefused(f"access to {resource} 'x' refused")})

    with pytest.raises(BrokerRefused, match=f'^The {permission} permission is missing'):
        topology.check_declare(broker, 'e', ['t'])


def test_check_consume_with_a_refused_argument_passes():
    """The permission exists if the broker refuses nothing but the argument."""
    topology.check_consume(Broker(consume=PreconditionFailed('argument')), 't')


def test_check_consume_with_an_accepted_argument_ends_the_consumer():
    """A broker that accepts the argument delivers no request to the check."""
    broker = Broker()

    topology.check_consume(broker, 't')

    assert not broker.is_open


def test_check_consume_without_the_permission_names_it():
    """A worker that must not consume reports the permission before it serves."""
    broker = Broker(consume=AccessRefused("access to queue 't' refused"))

    with pytest.raises(BrokerRefused, match=r'^The read permission'):
        topology.check_consume(broker, 't')


def test_check_reply_publishes_to_a_queue_that_does_not_exist():
    """The check sends nothing to the reply queue of a caller, and each one uses another name."""
    broker = Broker()

    topology.check_reply(broker)
    topology.check_reply(broker)

    assert len(set(broker.routing_keys)) == 2
    assert all(
        exchange == '' and key.startswith('unroutable-') for exchange, key in broker.routing_keys
    )


def test_check_reply_without_the_permission_names_it():
    """A worker that cannot reply to calls reports that before it serves."""
    broker = Broker(publish=AccessRefused("access to exchange '' refused"))

    with pytest.raises(BrokerRefused, match=r'^The write permission'):
        topology.check_reply(broker)
