"""Publish messages with confirmations, and separate refusals from an unavailable broker.

oslo.messaging 18.3.1 (`_drivers/impl_rabbit.py`, `Connection.ensure`) handles a nack like a lost
connection: it retries without a bound. It also waits for a confirmation without a bound, and
declares the exchange that it publishes to. Requests and replies therefore use connections of this
module.
"""

import math
import threading
import time
from collections.abc import Callable

from amqp import Message
from amqp.exceptions import ChannelError, MessageNacked, NotFound
from amqp.exceptions import ConnectionError as AMQPConnectionError
from kombu.connection import Connection

from placement_worker.client.publish_errors import (
    BrokerUnavailable,
    DestinationMissing,
    DestinationRefused,
    PublishersBlocked,
)
from placement_worker.client.sending_connection import SendingConnection
from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError

IDLE_S = 60
"""The time after which a connection of a burst is closed, while others are in use.

Connections have no heartbeats: a lost one costs an attempt when it is used again.
"""
NO_CONNECTION = (BrokerUnreachable, BrokerRefused, ConfigurationError)


class ConfirmedPublisher:
    """Publish from many threads; each thread uses a connection of its own while it publishes."""

    def __init__(self, connect: Callable[..., Connection], stopping: threading.Event) -> None:
        """Prepare; the first message opens the first connection.

        :param connect: opens a connection with publisher confirms, from options of py-amqp and
            `left_s`, the seconds that it may take.
        :param stopping: an event that is set when the process stops, or the client is closed.
        """
        self._connect = connect
        self._stopping = stopping
        self._lock = threading.Lock()
        self._idle: list[SendingConnection] = []
        self._blocked: SendingConnection | None = None
        self._is_closed = False

    def publish(
        self, message: Message, exchange: str, routing_key: str, timeout_s: float = math.inf
    ) -> None:
        """Publish a message to an existing exchange.

        :param timeout_s: how long to wait for a broker that blocks publishers. After a message that
            waited as long, others fail at once until that one is confirmed, or the alarm ends.
        :raises DestinationMissing: the exchange is missing, or no queue is bound.
        :raises DestinationRefused: the exchange is forbidden, or a queue rejects the message.
        :raises PublishersBlocked: the broker blocks publishers for longer than the timeout.
        :raises BrokerUnavailable: the message was not confirmed.
        """
        if self._blocked:
            self._check_blocked()
        connection = self._take(timeout_s)
        try:
            connection.publish(message, exchange, routing_key, self._stopping, timeout_s)
        except PublishersBlocked:
            self._keep_blocked(connection)
            raise
        except MessageNacked:
            self._put(connection)
            raise DestinationRefused('the queue rejected the message') from None
        except NotFound as exc:
            connection.close()
            raise DestinationMissing(str(exc)) from exc
        except ChannelError as exc:
            connection.close()
            raise DestinationRefused(str(exc), for_good=True) from exc
        except (AMQPConnectionError, OSError) as exc:
            connection.drop()
            # The other connections are probably lost too, and each would cost an attempt.
            self._drop_idle()
            was_lost = not isinstance(exc, TimeoutError)
            raise BrokerUnavailable(str(exc) or type(exc).__name__, was_lost=was_lost) from exc
        except DestinationRefused:
            self._put(connection)
            raise
        except BaseException:  # e.g. a routing key that AMQP cannot hold
            connection.drop()
            raise
        self._put(connection)

    def close(self) -> None:
        """Close the connections; those in use are closed when their message is confirmed."""
        self._is_closed = True
        is_responding = True
        for connection in self._unused():
            if is_responding:
                is_responding = connection.close()
            else:
                connection.drop()

    def _drop_idle(self) -> None:
        """Close the connections that no thread uses, without waiting for the broker."""
        for connection in self._unused():
            connection.drop()

    def _unused(self) -> list[SendingConnection]:
        """Remove and return the connections that no thread uses."""
        with self._lock:
            unused, self._idle = self._idle, []
            if self._blocked:
                unused.append(self._blocked)
            self._blocked = None
        return unused

    def _keep_blocked(self, connection: SendingConnection) -> None:
        """Keep a connection whose message waits for the end of an alarm; one is enough."""
        with self._lock:
            surplus, self._blocked = self._blocked, connection
        if surplus:
            surplus.drop()
        if self._is_closed:
            self._drop_idle()

    def _check_blocked(self) -> None:
        """Check the message that waited in vain for a broker that blocks publishers.

        :raises PublishersBlocked: it still waits.
        """
        with self._lock:
            connection = self._blocked
            if connection is None:
                return
            try:
                is_confirmed = connection.has_confirmed()
            except (AMQPConnectionError, ChannelError, MessageNacked, OSError):
                connection.drop()
            else:
                if is_confirmed:
                    self._idle.append(connection)
                elif connection.is_blocked:
                    raise PublishersBlocked
                else:  # the alarm is over, and the message waits for something else
                    connection.drop()
            self._blocked = None

    def _take(self, timeout_s: float) -> SendingConnection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return SendingConnection(self._connect, timeout_s)
        except (*NO_CONNECTION, AMQPConnectionError, ChannelError, OSError) as exc:
            raise BrokerUnavailable(str(exc) or type(exc).__name__) from exc

    def _put(self, connection: SendingConnection) -> None:
        """Keep a connection for the next message, and close the one that is idle for longest."""
        now = connection.used_at = time.monotonic()
        with self._lock:
            self._idle.append(connection)
            is_old = now - self._idle[0].used_at > IDLE_S
            oldest = self._idle.pop(0) if is_old else None
        if oldest:
            oldest.close()
        if self._is_closed:
            self._drop_idle()
