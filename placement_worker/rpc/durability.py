"""Exchange and queues as the worker needs them: made before they are used, or a clear word on what is in the way.

oslo.messaging falls back to queues that do not survive a restart of the broker when it finds an exchange that is made
so, and says that at INFO.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from amqp import Message
from amqp.exceptions import AccessRefused, PreconditionFailed
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.errors import BrokerRefused, QueueMismatch
from placement_worker.rpc import transport

ARGUMENTS = {
    'rabbit_quorum_delivery_limit': 'x-delivery-limit',
    'rabbit_quorum_max_memory_length': 'x-max-in-memory-length',
    'rabbit_quorum_max_memory_bytes': 'x-max-in-memory-bytes',
}
"""Options of the rabbit driver that become arguments of a quorum queue, where they are not 0."""


def declare(conf: cfg.ConfigOpts, target: Any, topics: Collection[str]) -> None:
    """Make the exchange and a queue for each topic, as oslo.messaging will ask for them, and see that we may use them.

    Where oslo.messaging lacks a permission, it tries again for ever.

    :param target: an address that a transport was made of, so that the driver's options are known.
    :raises QueueMismatch: the broker has one that was made otherwise; the text has the command that deletes it.
    :raises BrokerRefused: a permission is missing; the text says which one, on what.
    :raises BrokerUnreachable: there is no broker to ask.
    """
    if not target.transport.startswith('rabbit'):
        return
    options = {**conf.oslo_messaging_rabbit, **target.query}
    quorum = transport.is_on(options['rabbit_quorum_queue'])
    lasting = {
        'durable': quorum or transport.is_on(options['amqp_durable_queues']),
        'auto_delete': transport.is_on(options['amqp_auto_delete']),
    }
    exchange, vhost = transport.exchange(conf), target.virtual_host or '/'
    with transport.open_connection(conf, target) as connection:
        try:
            with _permitted(exchange='configure'):
                connection.channel().exchange_declare(exchange, 'topic', **lasting)
        except PreconditionFailed as exc:
            raise _mismatch(f'Exchange {exchange}', exc, _delete_exchange(vhost, exchange)) from exc
        for topic in topics:
            channel = connection.channel()
            try:
                with _permitted(queue='configure'):
                    channel.queue_declare(topic, arguments=_arguments(options) if quorum else {}, **lasting)
            except PreconditionFailed as exc:
                raise _mismatch(f'Queue {topic}', exc, f'rabbitmqctl -p {vhost} delete_queue {topic}') from exc
            with _permitted(queue='write', exchange='read'):
                channel.queue_bind(topic, exchange, topic)
            _see_that_we_may_consume(connection, topic)
        _see_that_we_may_reply(connection)


def _see_that_we_may_consume(connection: Connection, queue: str) -> None:
    """Ask to consume in a way that is refused either way: for want of the permission, else for the argument.

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
        connection.channel().basic_publish_confirm(Message(), exchange='', routing_key=f'nobody-{uuid.uuid4().hex}')


@contextlib.contextmanager
def _permitted(**needed: str) -> Iterator[None]:
    """Say which permission is missing; the broker's error names the resource, but not what it wants to be granted.

    :param needed: the permission that the operation needs, by the kind of resource: `queue`, `exchange`.
    :raises BrokerRefused: in place of AccessRefused.
    """
    try:
        yield
    except AccessRefused as exc:
        missing = [permission for kind, permission in needed.items() if f'access to {kind} ' in exc.reply_text]
        raise BrokerRefused(
            f'The {" or ".join(missing or needed.values())} permission is missing on the broker: {exc.reply_text}. '
            'doc/source/bus-security.rst has the command that grants all that is needed'
        ) from exc


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    limits = {argument: int(options[name]) for name, argument in ARGUMENTS.items()}
    return {'x-queue-type': 'quorum', **{argument: limit for argument, limit in limits.items() if limit}}


def _delete_exchange(vhost: str, exchange: str) -> str:
    """The command that deletes an exchange: rabbitmqctl has no word of its own for it."""
    return (
        'rabbitmqctl eval \'rabbit_exchange:delete(rabbit_misc:r(<<"'
        + vhost
        + '">>, exchange, <<"'
        + exchange
        + '">>), false, <<"operator">>).\''
    )


def _mismatch(what: str, exc: PreconditionFailed, command: str) -> QueueMismatch:
    return QueueMismatch(
        f'{what} on the broker is not made as this worker needs it: {exc}. When nobody uses it, delete it, and start '
        f'the worker again: {command}'
    )
