"""The queue of the replies to casts, on connections of its own."""

import collections
import contextlib
from collections.abc import Callable, Collection
from typing import Any

from amqp.exceptions import AccessRefused, PreconditionFailed
from kombu.connection import Connection

from placement_worker.client.transport import DEFAULTS
from placement_worker.contract import codec, reply_names
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.errors import (
    BrokerRefused,
    QueueMismatch,
)

ARGUMENTS = {
    'x-queue-type': 'quorum',
    'x-delivery-limit': int(DEFAULTS['rabbit_quorum_delivery_limit']),
}
"""The arguments of the queue: those of the queue of an RPC server on the same transport.

A quorum queue survives a restart of the broker and counts deliveries.
"""
CLOSE_S = 2
"""The longest wait for the broker when the connection is closed."""


def check_names(
    exchange: str, topic: str, workers_exchange: str, workers_topics: Collection[str], at: str = '$'
) -> None:
    """Check that an engine may receive replies at an exchange and a topic.

    :param at: the JSON path of the names, for errors.
    :raises InvalidRequest: a name is malformed, or workers refuse to reply there.
    """
    codec.decode({'exchange': exchange, 'topic': topic, 'method': 'm'}, ReplyTo, at=at)
    suffixes = ('', ISOLATION_SUFFIX, PARKING_SUFFIX)
    queues = {name + suffix for name in workers_topics for suffix in suffixes}
    reply_names.check_exchange(exchange, workers_exchange, f'{at}.exchange')
    reply_names.check_topic(topic, queues, f'{at}.topic')


class ReplyQueue:
    """An open connection that consumes the queue of a topic; only one thread may use it."""

    def __init__(self, connect: Callable[[], Connection], exchange: str, topic: str) -> None:
        """Connect, declare exchange and queue, and consume.

        :raises QueueMismatch: the exchange or the queue exists with other options.
        :raises BrokerRefused: a permission is missing.
        """
        self._delivered: collections.deque[Any] = collections.deque()
        self._connection = connect()
        # Not by kombu's methods, which would connect again without the consumer.
        self._amqp = self._connection.connection
        try:
            self._consume(exchange, topic)
        except PreconditionFailed as exc:
            self.drop()
            raise QueueMismatch(
                f'Exchange {exchange} or queue {topic} exists on the broker with other options '
                f'than replies need: {exc}. Use other names, or delete it when it is not in use'
            ) from exc
        except AccessRefused as exc:
            self.drop()
            raise BrokerRefused(
                f'The broker refused access to the replies on topic {topic}: {exc}; '
                'the page "Security of the bus" of the manual has the permissions of an engine'
            ) from exc
        except BaseException:
            self.drop()
            raise

    def receive(self, timeout_s: float) -> Any:
        """Return the next message, or None after the timeout; keep the connection alive.

        :raises Exception: an error of py-amqp or the socket; the connection is lost.
        """
        if not self._delivered:
            self.keep_alive(timeout_s)
        return self._delivered.popleft() if self._delivered else None

    def keep_alive(self, timeout_s: float) -> None:
        """Read from the connection until the timeout or the next frame, and send heartbeats."""
        with contextlib.suppress(TimeoutError):
            self._amqp.drain_events(timeout=timeout_s)
        self._amqp.heartbeat_tick()

    def acknowledge(self, message: Any) -> None:
        """Remove a message from the queue."""
        message.channel.basic_ack(message.delivery_tag)

    def requeue(self, message: Any) -> None:
        """Have the broker deliver a message again, here or to another receiver."""
        message.channel.basic_reject(message.delivery_tag, requeue=True)

    def reject(self, message: Any) -> None:
        """Remove a message that cannot be handled; a policy of the broker may dead-letter it."""
        message.channel.basic_reject(message.delivery_tag, requeue=False)

    def close(self) -> None:
        """Close the connection; the broker requeues messages that are not acknowledged."""
        self._amqp.sock.settimeout(CLOSE_S)
        self._connection.close()

    def drop(self) -> None:
        """Close the socket of a lost connection."""
        self._connection.collect()

    def _consume(self, exchange: str, topic: str) -> None:
        channel = self._amqp.channel()
        channel.exchange_declare(exchange, 'topic', durable=True, auto_delete=False)
        channel.queue_declare(topic, durable=True, auto_delete=False, arguments=ARGUMENTS)
        channel.queue_bind(topic, exchange, topic)
        # With a single message at a time, a callback that kills the process raises the delivery
        # count of its own reply and of no other.
        channel.basic_qos(0, 1, False)
        channel.basic_consume(topic, callback=self._delivered.append)
