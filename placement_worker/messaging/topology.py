"""Exchange and queues as the worker needs them: made before they are used, or a clear word on what
is in the way.

oslo.messaging falls back to queues that do not survive a restart of the broker when it finds an
exchange that is made so, and says that at INFO.
"""

import contextlib
import functools
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from amqp import Message
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed, RecoverableConnectionError
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.client.connection import (
    control_exchange,
    is_true,
    open_connection,
)
from placement_worker.errors import BrokerRefused, BrokerUnreachable, QueueMismatch
from placement_worker.messaging import parking

ARGUMENTS = {
    'rabbit_quorum_delivery_limit': 'x-delivery-limit',
    'rabbit_quorum_max_memory_length': 'x-max-in-memory-length',
    'rabbit_quorum_max_memory_bytes': 'x-max-in-memory-bytes',
}
"""Options of the rabbit driver that become arguments of a quorum queue, where they are not 0."""
UNLIMITED = {'x-delivery-limit': 10**9}
"""For parked requests, as each look at one is a delivery. RabbitMQ 4 has a limit of its own where
none is named, and older ones do not know its word for no limit."""
EMPTY_FIRST = 'Retry or drop what is parked in it first: placement-policy parked list. '


def declare(conf: cfg.ConfigOpts, target: Any, topics: Collection[str]) -> None:
    """Make the exchange and a queue for each topic, as oslo.messaging will ask for them, and see
    that we may use them.

    Where oslo.messaging lacks a permission, it tries again for ever.

    :param target: as of `load_transport_url`.
    :raises QueueMismatch: the broker has one that was made otherwise; the text has the command that
        deletes it.
    :raises BrokerRefused: a permission is missing; the text says which one, on what.
    :raises BrokerUnreachable: there is no broker to ask.
    """
    if not target.transport.startswith('rabbit'):
        return
    with _connected(conf, target) as connection:
        layout = _Layout(conf, target)
        layout.declare_exchange(connection)
        for topic in topics:
            channel = layout.declare_queue(connection, topic)
            with _permitted(queue='write', exchange='read'):
                channel.queue_bind(topic, layout.exchange, topic)
            _see_that_we_may_consume(connection, topic)
        _see_that_we_may_reply(connection)


def declare_queue(conf: cfg.ConfigOpts, target: Any, connection: Connection, queue: str) -> None:
    """Declare one queue of a worker on an open connection.

    :param target: as for `declare`.
    :raises QueueMismatch: the broker has the queue with other arguments.
    """
    _Layout(conf, target).declare_queue(connection, queue)


def consumers(conf: cfg.ConfigOpts, target: Any, queue: str) -> int:
    """How many consumers a queue has that is there; 0 where the driver does not tell."""
    if not target.transport.startswith('rabbit'):
        return 0
    with _connected(conf, target) as connection:
        return int(connection.channel().queue_declare(queue, passive=True).consumer_count)


class Findings(NamedTuple):
    """What a broker has of exchange and queues."""

    missing: list[str]
    mismatches: list[str]


def inspect(conf: cfg.ConfigOpts, target: Any, topics: Collection[str]) -> Findings:
    """See what `declare` would find, without making anything: what is there is declared again as it
    should be.

    :param target: as for `declare`.
    :returns: what is not there yet, and what was made otherwise, with the commands that delete it.
    :raises BrokerUnreachable: there is no broker to ask.
    """
    found = Findings([], [])
    if not target.transport.startswith('rabbit'):
        return found
    with _connected(conf, target) as connection:
        layout = _Layout(conf, target)
        parts: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = [
            (f'exchange {layout.exchange}', layout.find_exchange, layout.declare_exchange)
        ]
        parts += [
            (
                f'queue {topic}',
                functools.partial(layout.find_queue, topic=topic),
                functools.partial(layout.declare_queue, topic=topic),
            )
            for topic in topics
        ]
        for name, find, declare_again in parts:
            try:
                find(connection)
                declare_again(connection)
            except NotFound:
                found.missing.append(name)
            except QueueMismatch as exc:
                found.mismatches.append(str(exc))
    return found


@contextlib.contextmanager
def _connected(conf: cfg.ConfigOpts, target: Any) -> Iterator[Connection]:
    """Open a connection for a block.

    :raises BrokerUnreachable: no host answers, or the connection is lost, or the broker stops
        answering.
    """
    with open_connection(conf, target) as connection:
        try:
            yield connection
        except (OSError, RecoverableConnectionError) as exc:
            raise BrokerUnreachable(
                f'The broker stopped answering: {exc or type(exc).__name__}'
            ) from exc


class _Layout:
    """The exchange and the queues as oslo.messaging will ask for them; a channel each, as an error
    closes it.
    """

    def __init__(self, conf: cfg.ConfigOpts, target: Any) -> None:
        options = {**conf.oslo_messaging_rabbit, **target.query}
        quorum = is_true(options['rabbit_quorum_queue'])
        self.exchange, self._vhost = control_exchange(conf), target.virtual_host or '/'
        self._parked = conf.worker.topic + parking.PARKED
        self._arguments = _arguments(options) if quorum else {}
        self._lasting = {
            'durable': quorum or is_true(options['amqp_durable_queues']),
            'auto_delete': is_true(options['amqp_auto_delete']),
        }

    def find_exchange(self, connection: Connection) -> None:
        """Do nothing if it is there.

        :raises NotFound: it is not.
        """
        connection.channel().exchange_declare(self.exchange, 'topic', passive=True)

    def find_queue(self, connection: Connection, topic: str) -> None:
        """Do nothing if it is there.

        :raises NotFound: it is not.
        """
        connection.channel().queue_declare(topic, passive=True)

    def declare_exchange(self, connection: Connection) -> None:
        """Make it, or see that it is made so.

        :raises QueueMismatch: it is not.
        """
        try:
            with _permitted(exchange='configure'):
                connection.channel().exchange_declare(self.exchange, 'topic', **self._lasting)
        except PreconditionFailed as exc:
            raise _mismatch(
                f'Exchange {self.exchange}', exc, _delete_exchange(self._vhost, self.exchange)
            ) from exc

    def declare_queue(self, connection: Connection, topic: str) -> Any:
        """Make it, or see that it is made so; returns the channel.

        :raises QueueMismatch: it is not.
        """
        channel = connection.channel()
        parks = topic == self._parked
        arguments = (
            {**self._arguments, **UNLIMITED} if parks and self._arguments else self._arguments
        )
        try:
            with _permitted(queue='configure'):
                channel.queue_declare(topic, arguments=arguments, **self._lasting)
        except PreconditionFailed as exc:
            command = f'rabbitmqctl -p {self._vhost} delete_queue {topic}'
            raise _mismatch(f'Queue {topic}', exc, command, EMPTY_FIRST if parks else '') from exc
        return channel


def _see_that_we_may_consume(connection: Connection, queue: str) -> None:
    """Ask to consume in a way that is refused either way: for want of the permission, else for the
    argument.

    So no request is taken and given back. Should a broker accept it, closing the channel ends it.

    :raises BrokerRefused: the permission is missing.
    """
    channel = connection.channel()
    with _permitted(queue='read'), contextlib.suppress(PreconditionFailed):
        channel.basic_consume(queue, arguments={'x-priority': 'no number'})
        channel.close()


def _see_that_we_may_reply(connection: Connection) -> None:
    """Send a message to nobody through the default exchange, which replies to calls go through.

    :raises BrokerRefused: the permission is missing.
    """
    with _permitted(exchange='write'):
        connection.channel().basic_publish_confirm(
            Message(), exchange='', routing_key=f'nobody-{uuid.uuid4().hex}'
        )


@contextlib.contextmanager
def _permitted(**needed: str) -> Iterator[None]:
    """Say which permission is missing; the broker's error names the resource, but not what it wants
    to be granted.

    :param needed: the permission that the operation needs, by the kind of resource: `queue`,
        `exchange`.
    :raises BrokerRefused: in place of AccessRefused.
    """
    try:
        yield
    except AccessRefused as exc:
        missing = [
            permission
            for kind, permission in needed.items()
            if f'access to {kind} ' in exc.reply_text
        ]
        raise BrokerRefused(
            f'The {" or ".join(missing or needed.values())} permission is missing on the broker: {exc.reply_text}. '
            'doc/source/bus-security.rst has the command that grants all that is needed'
        ) from exc


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    limits = {argument: int(options[name]) for name, argument in ARGUMENTS.items()}
    return {
        'x-queue-type': 'quorum',
        **{argument: limit for argument, limit in limits.items() if limit},
    }


def _delete_exchange(vhost: str, exchange: str) -> str:
    """The command that deletes an exchange: rabbitmqctl has no word of its own for it."""
    return (
        'rabbitmqctl eval \'rabbit_exchange:delete(rabbit_misc:r(<<"'
        + vhost
        + '">>, exchange, <<"'
        + exchange
        + '">>), false, <<"operator">>).\''
    )


def _mismatch(what: str, exc: PreconditionFailed, command: str, first: str = '') -> QueueMismatch:
    return QueueMismatch(
        f'{what} on the broker is not made as this worker needs it: {exc}. {first}When nobody uses it, delete it, and '
        f'start the worker again: {command}'
    )
