"""Declare the exchange and the queues as the worker needs them, and check its permissions.

When oslo.messaging finds an exchange that was declared with other arguments, it falls back to
queues that do not survive a restart of the broker, and logs that at INFO. Where it lacks a
permission, it retries without a bound.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from amqp import Message, exceptions
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.client import transport
from placement_worker.errors import BrokerRefused, BrokerUnreachable, QueueMismatch

# The delivery limit of the parking lot, where each listing is a delivery. RabbitMQ 4 has a default
# limit, and older releases have no value for an unlimited queue.
UNLIMITED = {'x-delivery-limit': 10**9}
ALARM_HINT = (
    '; it may block publishers while it is short of memory or disk: run "rabbitmq-diagnostics '
    'check_local_alarms"'
)
EMPTY_FIRST = 'Retry or drop the parked requests in it first: placement-policy parked list. '


class Differences(NamedTuple):
    missing: list[str]
    mismatches: list[str]


def declare(
    conf: cfg.ConfigOpts, target: Any, queues: Collection[str], parking_lot: str
) -> dict[str, int]:
    """Declare the exchange and queues, bind them, and check the permissions to use them.

    :param parking_lot: the queue that has no delivery limit.
    :returns: the number of consumers by queue.
    :raises QueueMismatch: an exchange or a queue exists with other arguments.
    :raises BrokerRefused: a permission is missing.
    """
    consumers = {}
    if target.transport.startswith('rabbit'):
        with _connected(conf, target) as connection:
            topology = Topology(conf, target, connection, parking_lot)
            topology.check_permissions(queues)
            topology.declare_exchange()
            for queue in queues:
                consumers[queue] = topology.declare_queue(queue)
                with _channel(connection) as channel:
                    channel.queue_bind(queue, topology.exchange, queue)
    return consumers


def compare(
    conf: cfg.ConfigOpts, target: Any, queues: Collection[str], parking_lot: str
) -> Differences:
    """Return what `declare` would create or reject, without creating anything; errors are alike."""
    differences = Differences([], [])
    if target.transport.startswith('rabbit'):
        with _connected(conf, target) as connection:
            topology = Topology(conf, target, connection, parking_lot)
            topology.check_permissions(queues)
            with _recorded(differences, f'exchange {topology.exchange}'):
                connection.channel().exchange_declare(topology.exchange, 'topic', passive=True)
                topology.declare_exchange()
            for queue in queues:
                with _recorded(differences, f'queue {queue}'):
                    connection.channel().queue_declare(queue, passive=True)
                    topology.declare_queue(queue)
    return differences


@contextlib.contextmanager
def needed(**permissions: str) -> Iterator[None]:
    """Raise BrokerRefused for AccessRefused, and name the permission that the block lacks.

    :param permissions: the permissions that the block needs, by `queue` and `exchange`.
    """
    try:
        yield
    except exceptions.AccessRefused as exc:
        missing = [
            permission
            for kind, permission in {**permissions, 'topic': 'topic'}.items()
            if f'access to {kind} ' in exc.reply_text
        ]
        page = 'the page "Security of the bus and of the cloud" of the manual has '
        remedy = (
            'a worker needs none, so "rabbitmqctl clear_topic_permissions" removes the refusal; '
            f'{page}those of engines and operators'
            if 'topic' in missing
            else f'{page}the rabbitmqctl command that grants it'
        )
        raise BrokerRefused(
            f'The {" or ".join(missing or permissions.values())} permission is missing on the '
            f'broker: {exc.reply_text}; {remedy}'
        ) from exc


@contextlib.contextmanager
def _recorded(differences: Differences, name: str) -> Iterator[None]:
    try:
        yield
    except exceptions.NotFound:
        differences.missing.append(name)
    except QueueMismatch as exc:
        differences.mismatches.append(str(exc))


@contextlib.contextmanager
def _connected(conf: cfg.ConfigOpts, target: Any) -> Iterator[Connection]:
    with transport.open_connection(conf, target) as connection:
        try:
            yield connection
        except (OSError, exceptions.RecoverableConnectionError) as exc:
            cause = str(exc) or type(exc).__name__
            hint = ALARM_HINT if isinstance(exc, TimeoutError) else ''
            raise BrokerUnreachable(f'The broker stopped responding: {cause}{hint}') from exc


class Topology:
    """The exchange and the queues as oslo.messaging declares them.

    Each operation uses a channel of its own, since an error closes its channel.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, target: Any, connection: Connection, parking_lot: str
    ) -> None:
        self.exchange = transport.control_exchange(conf)
        self._connection = connection
        self._vhost = target.virtual_host or '/'
        self._parking_lot = parking_lot
        self._flags, self._arguments = transport.queue_options(conf, target)

    def declare_exchange(self) -> None:
        command = (  # rabbitmqctl has no subcommand for it
            f'rabbitmqctl eval \'rabbit_exchange:delete(rabbit_misc:r(<<"{self._vhost}">>, '
            f'exchange, <<"{self.exchange}">>), false, <<"operator">>).\''
        )
        with self._channel(f'Exchange {self.exchange}', command) as channel:
            channel.exchange_declare(self.exchange, 'topic', **self._flags)

    def declare_queue(self, queue: str) -> int:
        """Declare a queue, and return the number of its consumers."""
        limit, first = (UNLIMITED, EMPTY_FIRST) if queue == self._parking_lot else ({}, '')
        arguments = self._arguments and self._arguments | limit
        command = f'rabbitmqctl -p {self._vhost} delete_queue {queue}'
        with self._channel(f'Queue {queue}', command, first) as channel:
            declared = channel.queue_declare(queue, arguments=arguments, **self._flags)
            return int(declared.consumer_count)

    def check_permissions(self, queues: Collection[str]) -> None:
        """Check the permissions to declare, bind, consume and reply, and change nothing.

        RabbitMQ checks the permission before the arguments, and before it looks for the resource.
        An argument of the wrong type therefore keeps it from declaring or consuming anything. A
        binding that does not exist is removed, and the message of the check has no queue.

        :source: `handle_method` and `binding_action` in rabbit_channel.erl of RabbitMQ 3.10 to 4.1.
        """
        unknown = f'unroutable-{uuid.uuid4().hex}'
        check = self._check_permission
        wrong = {'alternate-exchange': 0}
        check(
            {'exchange': 'configure'}, 'exchange_declare', self.exchange, 'topic', arguments=wrong
        )
        for queue in queues:
            wrong = {'x-dead-letter-exchange': 0}
            check({'queue': 'configure'}, 'queue_declare', queue, durable=True, arguments=wrong)
            bound = queue, self.exchange, queue
            both = {'queue': 'write', 'exchange': 'read'}
            check(both, 'queue_unbind', *bound, arguments={unknown: ''})
            wrong_priority = {'x-priority': 'no number'}
            check({'queue': 'read'}, 'basic_consume', queue, arguments=wrong_priority)
        default = {'exchange': '', 'routing_key': unknown}
        check({'exchange': 'write'}, 'basic_publish_confirm', Message(), **default)

    def _check_permission(
        self, permissions: dict[str, str], operation: str, *names: object, **options: object
    ) -> None:
        with (
            needed(**permissions),
            contextlib.suppress(exceptions.PreconditionFailed, exceptions.NotFound),
            _channel(self._connection) as channel,
        ):
            getattr(channel, operation)(*names, **options)

    @contextlib.contextmanager
    def _channel(self, name: str, command: str, first: str = '') -> Iterator[Any]:
        try:
            with _channel(self._connection) as channel:
                yield channel
        except exceptions.PreconditionFailed as exc:
            raise QueueMismatch(
                f'{name} exists on the broker with other options than this worker needs: {exc}. '
                f'{first}When it is not in use, delete it and start the worker again: {command}'
            ) from exc


@contextlib.contextmanager
def _channel(connection: Connection) -> Iterator[Any]:
    """Open a channel for a block, and close it unless the connection is lost.

    py-amqp opens a channel again that the broker closes because of an error. Closing it ends a
    consumer that an older broker created in spite of its argument.
    """
    channel = connection.channel()
    try:
        yield channel
    except exceptions.ChannelError:
        channel.close()
        raise
    channel.close()
