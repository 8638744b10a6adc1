"""Declare the exchange and the queues as the worker needs them, and check its permissions.

When oslo.messaging finds an exchange that was declared with other arguments, it falls back to
queues that do not survive a restart of the broker, and logs that at INFO. Where it lacks a
permission, it retries without a bound.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from amqp import Message
from amqp.exceptions import (
    AccessRefused,
    ChannelError,
    NotFound,
    PreconditionFailed,
    RecoverableConnectionError,
)
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.client.transport import (
    control_exchange,
    is_true,
    open_connection,
    queue_arguments,
)
from placement_worker.contract.rpc import PARKING_SUFFIX
from placement_worker.errors import BrokerRefused, BrokerUnreachable, QueueMismatch

UNLIMITED = {'x-delivery-limit': 10**9}
"""The delivery limit of the parking lot, where each listing is a delivery.

RabbitMQ 4 has a default limit, and older releases have no value for an unlimited queue.
"""
ALARM_HINT = (
    '; it may block publishers while it is short of memory or disk: run "rabbitmq-diagnostics '
    'check_local_alarms"'
)
EMPTY_FIRST = 'Retry or drop the parked requests in it first: placement-policy parked list. '


class Differences(NamedTuple):
    """The differences between the broker and the topology that the worker needs.

    `missing`: names of an exchange or queues. `mismatches`: messages, with the command that deletes
    the exchange or queue.
    """

    missing: list[str]
    mismatches: list[str]


def declare(conf: cfg.ConfigOpts, target: Any, queues: Collection[str]) -> None:
    """Declare the exchange and queues, bind them, and check the permissions to use them.

    :param target: a TransportURL of `load_transport_url`.
    :raises QueueMismatch: an exchange or a queue exists with other arguments; the text has the
        command that deletes it.
    :raises BrokerRefused: a permission is missing; the text names the permission and the resource.
    :raises BrokerUnreachable: no host responds, or the broker stops responding.
    """
    if not _is_rabbit(target):
        return
    with _connected(conf, target) as connection:
        topology = Topology(conf, target)
        topology.declare_exchange(connection)
        for queue in queues:
            topology.declare_queue(connection, queue)
            topology.bind_queue(connection, queue)
            check_consume(connection, queue)
        check_reply(connection)


def declare_queue(conf: cfg.ConfigOpts, target: Any, connection: Connection, queue: str) -> None:
    """Declare one queue of a worker on an open connection.

    :param target: as for `declare`.
    :raises QueueMismatch: the queue exists with other arguments.
    """
    Topology(conf, target).declare_queue(connection, queue)


def consumer_count(conf: cfg.ConfigOpts, target: Any, queue: str) -> int:
    """Return the number of consumers of an existing queue; 0 for drivers other than rabbit."""
    if not _is_rabbit(target):
        return 0
    with _connected(conf, target) as connection:
        return int(connection.channel().queue_declare(queue, passive=True).consumer_count)


def compare(conf: cfg.ConfigOpts, target: Any, queues: Collection[str]) -> Differences:
    """Return what `declare` would create or reject, without creating anything.

    :param target: as for `declare`.
    :raises BrokerRefused: a permission is missing that `declare` or the worker needs.
    :raises BrokerUnreachable: no host responds, or the broker stops responding.
    """
    found = Differences([], [])
    if not _is_rabbit(target):
        return found
    with _connected(conf, target) as connection:
        topology = Topology(conf, target)
        check_declare(connection, topology.exchange, queues)
        check_reply(connection)
        with _recorded(found, f'exchange {topology.exchange}'):
            connection.channel().exchange_declare(topology.exchange, 'topic', passive=True)
            topology.declare_exchange(connection)
        for queue in queues:
            with _recorded(found, f'queue {queue}'):
                connection.channel().queue_declare(queue, passive=True)
                topology.declare_queue(connection, queue)
    return found


def _is_rabbit(target: Any) -> bool:
    return bool(target.transport.startswith('rabbit'))


@contextlib.contextmanager
def _recorded(found: Differences, name: str) -> Iterator[None]:
    try:
        yield
    except NotFound:
        found.missing.append(name)
    except QueueMismatch as exc:
        found.mismatches.append(str(exc))


@contextlib.contextmanager
def _connected(conf: cfg.ConfigOpts, target: Any) -> Iterator[Connection]:
    with open_connection(conf, target) as connection:
        try:
            yield connection
        except (OSError, RecoverableConnectionError) as exc:
            cause = str(exc) or type(exc).__name__
            hint = ALARM_HINT if isinstance(exc, TimeoutError) else ''
            raise BrokerUnreachable(f'The broker stopped responding: {cause}{hint}') from exc


class Topology:
    """The exchange and the queues as oslo.messaging declares them.

    Each declaration uses a channel of its own, since an error closes its channel.
    """

    def __init__(self, conf: cfg.ConfigOpts, target: Any) -> None:
        """Read the options of the configuration and of the URL's query.

        :param target: as for `declare`.
        """
        options = {**conf.oslo_messaging_rabbit, **target.query}
        is_quorum = is_true(options['rabbit_quorum_queue'])
        self.exchange = control_exchange(conf)
        self._vhost = target.virtual_host or '/'
        self._parking_lot = conf.worker.topic + PARKING_SUFFIX
        self._arguments = queue_arguments(conf, target) if is_quorum else {}
        self._flags = {
            'durable': is_quorum or is_true(options['amqp_durable_queues']),
            'auto_delete': is_true(options['amqp_auto_delete']),
        }

    def declare_exchange(self, connection: Connection) -> None:
        """Declare the exchange.

        :raises QueueMismatch: the exchange exists with other arguments.
        """
        try:
            with needed(exchange='configure'), _channel(connection) as channel:
                channel.exchange_declare(self.exchange, 'topic', **self._flags)
        except PreconditionFailed as exc:
            command = _delete_exchange(self._vhost, self.exchange)
            raise _mismatch(f'Exchange {self.exchange}', exc, command) from exc

    def declare_queue(self, connection: Connection, queue: str) -> None:
        """Declare a queue.

        :raises QueueMismatch: the queue exists with other arguments.
        """
        is_parking_lot = queue == self._parking_lot
        limit = UNLIMITED if is_parking_lot and self._arguments else {}
        try:
            with needed(queue='configure'), _channel(connection) as channel:
                channel.queue_declare(queue, arguments={**self._arguments, **limit}, **self._flags)
        except PreconditionFailed as exc:
            command = f'rabbitmqctl -p {self._vhost} delete_queue {queue}'
            first = EMPTY_FIRST if is_parking_lot else ''
            raise _mismatch(f'Queue {queue}', exc, command, first) from exc

    def bind_queue(self, connection: Connection, queue: str) -> None:
        """Bind a queue to the exchange, with its name as the routing key.

        :raises BrokerRefused: a permission is missing.
        """
        with (
            needed(queue='write', exchange='read'),
            _channel(connection) as channel,
        ):
            channel.queue_bind(queue, self.exchange, queue)


@contextlib.contextmanager
def _channel(connection: Connection) -> Iterator[Any]:
    """Open a channel for a block, and close it unless the connection is lost.

    py-amqp opens a channel again that the broker closes because of an error.
    """
    channel = connection.channel()
    try:
        yield channel
    except ChannelError:
        channel.close()
        raise
    channel.close()


def _delete_exchange(vhost: str, exchange: str) -> str:
    """Return the shell command that deletes an exchange; rabbitmqctl has no subcommand for it."""
    return (
        'rabbitmqctl eval \'rabbit_exchange:delete(rabbit_misc:r(<<"'
        + vhost
        + '">>, exchange, <<"'
        + exchange
        + '">>), false, <<"operator">>).\''
    )


def _mismatch(name: str, exc: PreconditionFailed, command: str, first: str = '') -> QueueMismatch:
    return QueueMismatch(
        f'{name} exists on the broker with other options than this worker needs: {exc}. {first}'
        f'When it is not in use, delete it and start the worker again: {command}'
    )


@contextlib.contextmanager
def needed(**permissions: str) -> Iterator[None]:
    """Name the missing permission if the broker refuses the operation of the block.

    The error of the broker names only the resource.

    :param permissions: the permission that the operation needs, by the kind of resource: `queue`,
        `exchange`.
    :raises BrokerRefused: in place of AccessRefused.
    """
    try:
        yield
    except AccessRefused as exc:
        by_kind = {**permissions, 'topic': 'topic'}
        missing = [
            permission
            for kind, permission in by_kind.items()
            if f'access to {kind} ' in exc.reply_text
        ]
        page = 'the page "Security of the bus" of the manual has '
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


def check_declare(connection: Connection, exchange: str, queues: Collection[str]) -> None:
    """Check the permissions to declare, bind and consume, and change nothing.

    RabbitMQ checks the permission before the arguments, and before it looks for the resource. An
    argument of the wrong type therefore keeps it from declaring anything, and a binding that does
    not exist is removed.

    :raises BrokerRefused: a permission is missing.
    :source: `handle_method` and `binding_action` in rabbit_channel.erl of RabbitMQ 3.10 to 4.1.
    """
    with needed(exchange='configure'), contextlib.suppress(PreconditionFailed):
        connection.channel().exchange_declare(
            exchange, 'topic', auto_delete=False, arguments={'alternate-exchange': 0}
        )
    for queue in queues:
        with needed(queue='configure'), contextlib.suppress(PreconditionFailed):
            connection.channel().queue_declare(
                queue, durable=True, auto_delete=False, arguments={'x-dead-letter-exchange': 0}
            )
        with needed(queue='write', exchange='read'), contextlib.suppress(NotFound):
            unbound = {'placement-worker': uuid.uuid4().hex}
            connection.channel().queue_unbind(queue, exchange, queue, arguments=unbound)
        with contextlib.suppress(NotFound):
            check_consume(connection, queue)


def check_consume(connection: Connection, queue: str) -> None:
    """Check the permission to consume, with a consumer that the broker cannot create.

    Its invalid argument keeps the broker from delivering requests. The broker refuses it for the
    missing permission first, otherwise for the argument. If a broker accepts the argument, closing
    the channel ends the consumer.

    :raises BrokerRefused: the permission is missing.
    """
    channel = connection.channel()
    with needed(queue='read'), contextlib.suppress(PreconditionFailed):
        channel.basic_consume(queue, arguments={'x-priority': 'no number'})
        channel.close()


def check_reply(connection: Connection) -> None:
    """Check the permission to reply to calls, with an unroutable message to the default exchange.

    :raises BrokerRefused: the permission is missing.
    """
    with needed(exchange='write'):
        connection.channel().basic_publish_confirm(
            Message(), exchange='', routing_key=f'unroutable-{uuid.uuid4().hex}'
        )
