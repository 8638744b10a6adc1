"""The queue topology that the worker declares and compares, and the permissions that it checks."""

import contextlib
from types import SimpleNamespace

import pytest
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed

from placement_worker.client.transport import load_transport_url
from placement_worker.errors import BrokerRefused, BrokerUnreachable
from placement_worker.messaging import topology
from tests.config_files import default_options

# The arguments by which a check keeps the broker from creating anything.
INVALID = ('alternate-exchange', 'x-dead-letter-exchange', 'x-priority')


class Broker:
    """A connection and its channels; `failures` has an exception per operation and name."""

    def __init__(self):
        self.failures, self.declared, self.asked = {}, {}, []
        self.opened = self.closed = 0

    def channel(self):
        self.opened += 1
        return self

    def close(self):
        self.closed += 1

    def _run(self, operation, name, arguments=None):
        is_check = any(key in INVALID for key in arguments or ())
        operation = f'check {operation}' if is_check else operation
        self.asked.append((operation, name))
        if (operation, name) in self.failures:
            raise self.failures[operation, name]
        if is_check:
            raise PreconditionFailed('invalid argument')

    def exchange_declare(self, name, kind, passive=False, arguments=None, **flags):
        self._run('find' if passive else 'declare', name, arguments)

    def queue_declare(self, name, passive=False, arguments=None, **flags):
        self._run('find' if passive else 'declare', name, arguments)
        if not passive:
            self.declared[name] = arguments
            return SimpleNamespace(consumer_count=len(self.declared))
        return None

    def queue_bind(self, queue, exchange, routing_key):
        self._run('bind', queue)

    def queue_unbind(self, queue, exchange, routing_key, arguments):
        self._run('unbind', queue)
        raise NotFound('no binding')

    def basic_consume(self, queue, arguments):
        self._run('consume', queue, arguments)

    def basic_publish_confirm(self, message, exchange, routing_key):
        assert exchange == ''
        self._run('publish', 'nowhere' if routing_key.startswith('unroutable-') else routing_key)


@pytest.fixture
def conf():
    return default_options()


@pytest.fixture
def target(conf):
    return load_transport_url(conf, 'rabbit://u:p@h/')


@pytest.fixture
def broker(monkeypatch):
    broker = Broker()
    monkeypatch.setattr(
        'placement_worker.client.transport.open_connection',
        lambda *_: contextlib.nullcontext(broker),
    )
    return broker


@pytest.mark.parametrize(
    ('resource', 'permission'),
    [('queue', 'write'), ('exchange', 'read'), ('topic', 'topic'), ('vhost', 'write or read')],
)
def test_needed_with_a_refused_resource_names_its_permission(resource, permission):
    """An operation on two resources names the permission of the one that was refused."""
    refusal = AccessRefused(f"access to {resource} 'x' refused")

    with pytest.raises(BrokerRefused) as raised, topology.needed(queue='write', exchange='read'):
        raise refusal

    assert str(raised.value).startswith(f'The {permission} permission is missing on the broker: ')
    is_topic = 'a worker needs none, so "rabbitmqctl clear_topic_permissions" ' in str(raised.value)
    assert is_topic == (resource == 'topic')
    assert raised.value.__cause__ is refusal


def quorum(delivery_limit):
    return {'x-queue-type': 'quorum', 'x-delivery-limit': delivery_limit}


@pytest.mark.parametrize(
    ('query', 'arguments', 'of_lot'),
    [
        ('', quorum(100), quorum(10**9)),
        # A classic queue with arguments of quorum queues would differ from that of the driver.
        ('?rabbit_quorum_queue=false', {}, {}),
    ],
)
def test_declare_gives_the_parking_lot_alone_no_delivery_limit(
    conf, broker, query, arguments, of_lot
):
    """Requests in the parking lot can be listed any number of times; no channel stays open."""
    target = load_transport_url(conf, f'rabbit://u:p@h/{query}')
    consumers = topology.declare(conf, target, ['t', 't-parked'], 't-parked')

    assert consumers == {'t': 1, 't-parked': 2}
    assert broker.declared == {'t': arguments, 't-parked': of_lot}
    assert [name for operation, name in broker.asked if operation == 'bind'] == ['t', 't-parked']
    assert broker.opened == broker.closed


@pytest.mark.parametrize('function', [topology.declare, topology.compare])
@pytest.mark.parametrize(
    ('operation', 'name', 'resource', 'permission'),
    [
        ('check declare', 'openstack', 'exchange', 'configure'),
        ('check declare', 't', 'queue', 'configure'),
        ('unbind', 't', 'queue', 'write'),
        ('unbind', 't', 'exchange', 'read'),
        ('check consume', 't', 'queue', 'read'),
        ('publish', 'nowhere', 'exchange', 'write'),
    ],
)
def test_missing_permission_is_named_before_anything_is_declared(
    function, operation, name, resource, permission, conf, target, broker
):
    """A start, and the check before a first start, find what the worker would lack."""
    conf.set_override('control_exchange', 'openstack')
    broker.failures[operation, name] = AccessRefused(f"access to {resource} 'x' refused")

    with pytest.raises(BrokerRefused, match=f'^The {permission} permission is missing'):
        function(conf, target, ['t'], 't-parked')

    assert broker.declared == {}
    assert broker.opened == broker.closed


def test_declare_on_a_lost_connection_raises_broker_unreachable(conf, target, broker):
    """A broker that stops responding is reported as unreachable, so that the start is retried."""
    broker.failures['declare', 't'] = TimeoutError()

    with pytest.raises(BrokerUnreachable, match=r'stopped responding: TimeoutError; .*_alarms"$'):
        topology.declare(conf, target, ['t'], 't-parked')


def test_compare_lists_missing_and_mismatched_queues_without_creating_any(conf, target, broker):
    """A comparison reports all differences at once and creates nothing that is missing."""
    broker.failures['find', 't1'] = NotFound('no queue')
    broker.failures['declare', 't2'] = PreconditionFailed('inequivalent arg')

    difference = topology.compare(conf, target, ['t1', 't2', 't3'], 't-parked')

    assert difference.missing == ['queue t1']
    assert len(difference.mismatches) == 1
    assert 't1' not in broker.declared
    assert 'bind' not in dict(broker.asked)


def test_another_driver_has_no_topology(conf):
    """Drivers other than rabbit have nothing to declare or compare."""
    target = load_transport_url(conf, 'fake://')

    assert topology.declare(conf, target, ['t'], 't-parked') == {}
    assert topology.compare(conf, target, ['t'], 't-parked') == ([], [])
