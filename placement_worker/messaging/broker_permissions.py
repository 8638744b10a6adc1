"""The permissions on the broker: check them before they are used, and name the missing one."""

import contextlib
import uuid
from collections.abc import Iterator

from amqp import Message
from amqp.exceptions import AccessRefused, PreconditionFailed
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
        missing = [
            permission
            for kind, permission in permissions.items()
            if f'access to {kind} ' in exc.reply_text
        ]
        raise BrokerRefused(
            f'The {" or ".join(missing or permissions.values())} permission is missing on the '
            f'broker: {exc.reply_text}; the page "Security of the bus" of the manual has the '
            'command that grants all permissions'
        ) from exc


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
