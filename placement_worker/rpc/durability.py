"""Exchange and queues as the worker needs them: made before they are used, or a clear word on what differs.

oslo.messaging falls back to queues that do not survive a restart of the broker when it finds an exchange that is made
so, and says that at INFO.
"""

from collections.abc import Collection, Mapping
from typing import Any

from amqp.exceptions import PreconditionFailed
from oslo_config import cfg

from placement_worker.errors import QueueMismatch
from placement_worker.rpc import transport

ARGUMENTS = {
    'rabbit_quorum_delivery_limit': 'x-delivery-limit',
    'rabbit_quorum_max_memory_length': 'x-max-in-memory-length',
    'rabbit_quorum_max_memory_bytes': 'x-max-in-memory-bytes',
}
"""Options of the rabbit driver that become arguments of a quorum queue, where they are not 0."""


def declare(conf: cfg.ConfigOpts, target: Any, topics: Collection[str]) -> None:
    """Make the exchange and a queue for each topic, as oslo.messaging will ask for them.

    :param target: an address that a transport was made of, so that the driver's options are known.
    :raises QueueMismatch: the broker has one that was made otherwise; the text has the command that deletes it.
    :raises BrokerUnreachable: there is no broker to ask.
    """
    if not target.transport.startswith('rabbit'):
        return
    options = {**conf.oslo_messaging_rabbit, **target.query}
    quorum = _on(options, 'rabbit_quorum_queue')
    lasting = {
        'durable': quorum or _on(options, 'amqp_durable_queues'),
        'auto_delete': _on(options, 'amqp_auto_delete'),
    }
    exchange, vhost = transport.exchange(conf), target.virtual_host or '/'
    with transport.open_connection(conf, target) as connection:
        try:
            connection.channel().exchange_declare(exchange, 'topic', **lasting)
        except PreconditionFailed as exc:
            raise _mismatch(f'Exchange {exchange}', exc, _delete_exchange(vhost, exchange)) from exc
        for topic in topics:
            channel = connection.channel()
            try:
                channel.queue_declare(topic, arguments=_arguments(options) if quorum else {}, **lasting)
            except PreconditionFailed as exc:
                raise _mismatch(f'Queue {topic}', exc, f'rabbitmqctl -p {vhost} delete_queue {topic}') from exc
            channel.queue_bind(topic, exchange, topic)


def _on(options: Mapping[str, Any], name: str) -> bool:
    return str(options[name]).lower() in ('true', '1', 'yes', 'on')


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
