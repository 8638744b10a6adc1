"""The permissions on the broker: check them before they are used, and name the missing one."""

import contextlib
import uuid
from collections.abc import Collection, Iterator

from amqp import Message
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed
from kombu.connection import Connection

from placement_worker.errors import BrokerRefused


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
