"""The queue topology that the worker declares, compares and checks."""

import contextlib

import pytest
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed

from placement_worker.client.transport import load_transport_url
from placement_worker.errors import BrokerRefused, BrokerUnreachable, QueueMismatch
from placement_worker.messaging import topology
from tests.config_files import default_options


class Channel:
    """A channel of a broker; `failures` has an exception per operation and name."""

    def __init__(self, failures, declared):
        self._failures = failures
        self._declared = declared
        self.is_open = True

    def close(self):
        self.is_open = False

    def _run(self, operation, name):
        if (operation, name) in self._failures:
            raise self._failures[operation, name]

    def exchange_declare(self, name, kind, passive=False, arguments=None, **flags):
        if arguments:
            raise PreconditionFailed('invalid argument')
        self._run('find' if passive else 'declare', name)

    def queue_declare(self, name, passive=False, arguments=None, **flags):
        if 'x-dead-letter-exchange' in (arguments or ()):
            raise PreconditionFailed('invalid argument')
        self._run('find' if passive else 'declare', name)
        if not passive:
            self._declared[name] = arguments

    def queue_bind(self, queue, exchange, routing_key):
        self._run('bind', queue)

    def queue_unbind(self, queue, exchange, routing_key, arguments):
        self._run('unbind', queue)

    def basic_consume(self, queue, arguments):
        self._run('consume', queue)
        raise PreconditionFailed('invalid argument')

    def basic_publish_confirm(self, message, exchange, routing_key):
        self._run('publish', exchange)


class Connection:
    """A connection that remembers its channels."""

    def __init__(self, failures, declared):
        self._failures = failures
        self._declared = declared
        self.channels = []

    def channel(self):
        self.channels.append(Channel(self._failures, self._declared))
        return self.channels[-1]


@pytest.fixture
def conf():
    conf = default_options()
    conf.set_override('topic', 't', group='worker')
    return conf


@pytest.fixture
def target(conf):
    return load_transport_url(conf, 'rabbit://u:p@h/')


@pytest.fixture
def failures():
    return {}


@pytest.fixture
def declared(monkeypatch, failures):
    """Replace the connection to the broker; return the declared queues with their arguments."""
    declared = {}
    connection = Connection(failures, declared)
    monkeypatch.setattr(topology, 'open_connection', lambda *_: contextlib.nullcontext(connection))
    return declared


def test_declare_gives_the_parking_lot_alone_no_delivery_limit(conf, target, declared):
    """Requests in the parking lot can be listed any number of times."""
    topology.declare(conf, target, ['t', 't-parked'])

    assert declared['t'] == {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
    assert declared['t-parked'] == {'x-queue-type': 'quorum', 'x-delivery-limit': 10**9}


def test_declare_of_a_queue_with_other_arguments_names_the_command_that_deletes_it(
    conf, target, declared, failures
):
    """The error about a mismatch ends with the command that repairs it."""
    failures['declare', 't'] = PreconditionFailed('inequivalent arg')

    with pytest.raises(QueueMismatch) as raised:
        topology.declare(conf, target, ['t'])

    assert str(raised.value).startswith('Queue t exists on the broker with other options than ')
    assert str(raised.value).endswith('start the worker again: rabbitmqctl -p / delete_queue t')


@pytest.mark.parametrize(
    ('operation', 'name', 'resource', 'permission'),
    [
        ('declare', 't', 'queue', 'configure'),
        ('bind', 't', 'queue', 'write'),
        ('bind', 't', 'exchange', 'read'),
        ('consume', 't', 'queue', 'read'),
        ('publish', '', 'exchange', 'write'),
    ],
)
def test_declare_without_a_permission_names_it(
    operation, name, resource, permission, conf, target, declared, failures
):
    """The error about a missing permission names the permission, which the broker does not."""
    failures[operation, name] = AccessRefused(f"access to {resource} 'x' refused")

    with pytest.raises(BrokerRefused, match=f'^The {permission} permission is missing'):
        topology.declare(conf, target, ['t'])


@pytest.mark.parametrize('operation', ['declare', 'bind', None])
def test_topology_leaves_no_channel_open(operation, conf, target, failures):
    """A declaration that is refused again and again does not use up the channels."""
    failures[operation, 't'] = AccessRefused("access to queue 't' refused")
    connection = Connection(failures, {})
    described = topology.Topology(conf, target)

    described.declare_exchange(connection)
    with contextlib.suppress(BrokerRefused):
        described.declare_queue(connection, 't')
    with contextlib.suppress(BrokerRefused):
        described.bind_queue(connection, 't')

    assert [channel.is_open for channel in connection.channels] == [False] * 3


def test_declare_on_a_lost_connection_raises_broker_unreachable(conf, target, declared, failures):
    """A broker that stops responding is reported as unreachable, so that the start is retried."""
    failures['declare', 't'] = TimeoutError()

    with pytest.raises(BrokerUnreachable, match=r'stopped responding: TimeoutError; .*_alarms"$'):
        topology.declare(conf, target, ['t'])


def test_compare_lists_missing_and_mismatched_queues_without_creating_any(
    conf, target, declared, failures
):
    """A comparison reports all differences at once and creates nothing that is missing."""
    failures['find', 't1'] = NotFound('no queue')
    failures['declare', 't2'] = PreconditionFailed('inequivalent arg')

    found = topology.compare(conf, target, ['t1', 't2', 't3'])

    assert found.missing == ['queue t1']
    assert len(found.mismatches) == 1
    assert 't1' not in declared


@pytest.mark.parametrize('operation', [('unbind', 't'), ('consume', 't'), ('publish', '')])
def test_compare_without_a_permission_names_it(operation, conf, target, declared, failures):
    """The check before a first start finds what would prevent it."""
    failures['find', 't'] = NotFound('no queue')
    failures[operation] = AccessRefused("access to queue 'x' refused")

    with pytest.raises(BrokerRefused, match='permission is missing on the broker'):
        topology.compare(conf, target, ['t'])


def test_compare_with_another_driver_finds_no_difference(conf):
    """Drivers other than rabbit have no topology to compare."""
    assert topology.compare(conf, load_transport_url(conf, 'fake://'), ['t']) == ([], [])
