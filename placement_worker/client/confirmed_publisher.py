"""Publish messages with confirmations, and separate refusals from an unavailable broker.

oslo.messaging 18.3.1 (`_drivers/impl_rabbit.py`, `Connection.ensure`) handles a nack like a lost
connection: it retries without a bound. It also waits for a confirmation without a bound, and
declares the exchange that it publishes to. Requests and replies therefore use connections of this
module.
"""

import contextlib
import logging
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from amqp import Message, spec
from amqp.exceptions import ChannelError, MessageNacked, NotFound
from amqp.exceptions import ConnectionError as AMQPConnectionError
from kombu.connection import Connection

from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError

LOG = logging.getLogger(__name__)
CONFIRM_S = 30
"""The longest wait for a confirmation on a connection that the broker does not block."""
STOP_S = 3
"""The longest wait for a confirmation when the process stops."""
WRITE_S = 5
"""The longest wait for the network to accept a message, since a frozen broker does not read."""
TICK_S = 1
"""The interval of checks for a stop of the process, during a wait for a confirmation."""
POLL_S = 0.01
"""How long to read from a connection that the broker had blocked."""
NO_CONNECTION = (BrokerUnreachable, BrokerRefused, ConfigurationError)


class DestinationRefused(Exception):
    """The broker is available, but no queue has the message.

    `for_good`: whether a retry would be refused again.
    """

    def __init__(self, cause: str, *, for_good: bool = False) -> None:
        super().__init__(cause)
        self.for_good = for_good


class DestinationMissing(DestinationRefused):
    """The exchange does not exist, or no queue is bound to it for the routing key."""


class BrokerUnavailable(Exception):
    """There is no connection or no confirmation; the broker may have the message or not.

    `was_lost`: whether a connection was lost, for example in an outage that is over; a retry uses
    a new connection.
    """

    def __init__(self, cause: str, *, was_lost: bool = False) -> None:
        super().__init__(cause)
        self.was_lost = was_lost


class PublishersBlocked(BrokerUnavailable):
    """The broker is short of memory or disk, and accepts no message until its alarm ends."""

    def __init__(self) -> None:
        super().__init__(
            'The broker has confirmed no message in time: it blocks publishers while it is short '
            'of memory or disk; run "rabbitmq-diagnostics check_local_alarms"'
        )


class ConfirmedPublisher:
    """Publish from many threads; each thread uses a connection of its own while it publishes."""

    def __init__(self, connect: Callable[..., Connection], stopping: threading.Event) -> None:
        """Prepare; the first message opens the first connection.

        :param connect: opens a connection with publisher confirms, from options of py-amqp and
            `left_s`, the seconds that it may take.
        :param stopping: an event that is set when the process stops.
        """
        self._connect = connect
        self._stopping = stopping
        self._lock = threading.Lock()
        self._idle: list[_SendingConnection] = []
        self._blocked: _SendingConnection | None = None

    def publish(
        self, message: Message, exchange: str, routing_key: str, timeout_s: float = math.inf
    ) -> None:
        """Publish a message to an existing exchange.

        :param timeout_s: how long to wait for a broker that blocks publishers. After a message that
            waited as long, others fail at once until that one is confirmed.
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
            with self._lock:
                surplus, self._blocked = self._blocked, connection
            if surplus:
                surplus.close()
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
            connection.close()
            # The other connections are probably lost too, and each would cost an attempt.
            self.close()
            was_lost = not isinstance(exc, TimeoutError)
            raise BrokerUnavailable(str(exc) or type(exc).__name__, was_lost=was_lost) from exc
        except DestinationRefused:
            self._put(connection)
            raise
        except BaseException:  # e.g. a routing key that AMQP cannot hold
            connection.close()
            raise
        self._put(connection)

    def close(self) -> None:
        """Close the connections that no thread uses."""
        with self._lock:
            idle, self._idle = self._idle, []
            blocked, self._blocked = self._blocked, None
        for connection in (*idle, blocked) if blocked else idle:
            connection.close()

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
                connection.close()
            else:
                if not is_confirmed:
                    raise PublishersBlocked
                self._idle.append(connection)
            self._blocked = None

    def _take(self, timeout_s: float) -> '_SendingConnection':
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return _SendingConnection(self._connect, timeout_s)
        except (*NO_CONNECTION, AMQPConnectionError, ChannelError, OSError) as exc:
            raise BrokerUnavailable(str(exc) or type(exc).__name__) from exc

    def _put(self, connection: '_SendingConnection') -> None:
        with self._lock:
            self._idle.append(connection)


class _SendingConnection:
    """A connection with its channel, for one thread at a time."""

    def __init__(self, connect: Callable[..., Connection], timeout_s: float) -> None:
        self._blocked = self._returned = False
        self._connection = connect(
            left_s=timeout_s,
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
            read_timeout=CONFIRM_S,
            write_timeout=WRITE_S,
            # py-amqp sets 1 s, which is too short for flow control.
            socket_settings={socket.TCP_USER_TIMEOUT: WRITE_S * 1000},
        )
        try:
            self._channel = self._connection.channel()
        except Exception:
            self._connection.collect()
            raise
        self._channel.events['basic_return'].add(self._on_return)

    def publish(
        self,
        message: Message,
        exchange: str,
        routing_key: str,
        stopping: threading.Event,
        timeout_s: float,
    ) -> None:
        """Publish, and wait for the confirmation.

        :raises DestinationMissing: no queue takes the message.
        :raises PublishersBlocked: the confirmation does not come in time, and the broker has
            announced that it blocks the connection.
        :raises MessageNacked: a queue rejects it.
        :raises ChannelError: the exchange is missing or forbidden; the connection cannot be used
            again.
        :raises OSError: the connection is lost, or the confirmation does not come.
        """
        self._returned = False
        began = time.monotonic()
        try:
            self._channel.basic_publish_confirm(
                message,
                exchange=exchange,
                routing_key=routing_key,
                mandatory=True,
                timeout=WRITE_S,
                confirm_timeout=TICK_S,
            )
        except TimeoutError:
            self._await_confirmation(began, stopping, timeout_s)
        if self._returned:
            raise DestinationMissing('no queue is bound')

    def has_confirmed(self) -> bool:
        """Return whether the message of the last `publish` has been confirmed meanwhile."""
        try:
            self._wait(POLL_S)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Close the connection without waiting for the broker."""
        if self._connection.connected:  # kombu would open a lost connection again
            with contextlib.suppress(AMQPConnectionError, OSError):
                self._connection.connection.send_method(
                    spec.Connection.Close, 'BsBB', (0, '', 0, 0)
                )
        self._connection.collect()

    def _await_confirmation(
        self, began: float, stopping: threading.Event, timeout_s: float
    ) -> None:
        """Keep waiting: a broker that blocks the connection confirms when its alarm ends."""
        while True:
            waited = time.monotonic() - began
            if waited > STOP_S and stopping.is_set():
                raise TimeoutError('no confirmation before the process stops')
            if waited > min(CONFIRM_S, timeout_s) and not self._blocked:
                raise TimeoutError(f'no confirmation within {min(CONFIRM_S, timeout_s):g} s')
            if waited > timeout_s:
                raise PublishersBlocked
            try:
                self._wait(TICK_S)
            except TimeoutError:
                continue
            return

    def _wait(self, timeout_s: float) -> None:
        """Wait for the confirmation.

        :raises MessageNacked: a queue rejects the message.
        :raises TimeoutError: the confirmation has not come.
        """
        self._channel.wait(
            [spec.Basic.Ack, spec.Basic.Nack], callback=_raise_nack, timeout=timeout_s
        )

    def _on_return(self, *_: Any) -> None:
        self._returned = True

    def _on_blocked(self, *_: Any) -> None:
        LOG.warning(
            'The broker blocks a connection (memory or disk alarm): messages wait until the alarm '
            'ends'
        )
        self._blocked = True

    def _on_unblocked(self) -> None:
        self._blocked = False


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked
