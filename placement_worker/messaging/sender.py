"""Publish one message and wait for the broker's confirmation; tell a refusal from a broker that is
away.

oslo.messaging 18.3.1 (`_drivers/impl_rabbit.py`, `Connection.ensure`) handles a nack like a lost
connection: it retries without a bound. It also waits for a confirmation without a bound, and
declares the exchange that it publishes to. Replies therefore go through connections of this module.
"""

import contextlib
import logging
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
"""A broker that confirms nothing for so long, although it does not block the connection, counts as
away.
"""
STOP_S = 3
"""The same when the process stops."""
WRITE_S = 5
"""Limit for handing a message to the network, which a blocked or frozen broker does not read."""
TICK_S = 1
NO_CONNECTION = (BrokerUnreachable, BrokerRefused, ConfigurationError)


class DestinationRefused(Exception):
    """The broker is there, but the message is in no queue; `for_good` if a retry does not help."""

    def __init__(self, cause: str, *, for_good: bool = False) -> None:
        super().__init__(cause)
        self.for_good = for_good


class BrokerAway(Exception):
    """The broker may have the message or not: there is no connection, or no confirmation."""


class Sender:
    """Publishes from many threads; each uses a connection of its own while it publishes."""

    def __init__(self, connect: Callable[..., Connection], stopping: threading.Event) -> None:
        """Prepare; connections are made when they are needed.

        :param connect: opens a connection that confirms what is published, with options of
            py-amqp's connections.
        :param stopping: set when the process stops.
        """
        self._connect = connect
        self._stopping = stopping
        self._lock = threading.Lock()
        self._idle: list[_Line] = []

    def publish(self, message: Message, exchange: str, routing_key: str) -> None:
        """Publish a message to an exchange that exists already.

        :raises DestinationRefused: the exchange is missing or forbidden, no queue is bound, or a
            queue rejects it.
        :raises BrokerAway: the message was not confirmed.
        """
        line = self._take()
        try:
            line.publish(message, exchange, routing_key, self._stopping)
        except MessageNacked:
            self._put(line)
            raise DestinationRefused('the queue rejected the message') from None
        except ChannelError as exc:
            line.close()
            raise DestinationRefused(str(exc), for_good=not isinstance(exc, NotFound)) from exc
        except (AMQPConnectionError, OSError) as exc:
            line.close()
            # the other connections are probably lost too, and each would cost an attempt
            self.close()
            raise BrokerAway(str(exc) or type(exc).__name__) from exc
        except DestinationRefused:
            self._put(line)
            raise
        except BaseException:  # e.g. a routing key that AMQP cannot hold
            line.close()
            raise
        self._put(line)

    def close(self) -> None:
        """Close the connections that no thread uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.close()

    def _take(self) -> '_Line':
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return _Line(self._connect)
        except (*NO_CONNECTION, AMQPConnectionError, ChannelError, OSError) as exc:
            raise BrokerAway(str(exc) or type(exc).__name__) from exc

    def _put(self, line: '_Line') -> None:
        with self._lock:
            self._idle.append(line)


class _Line:
    """A connection with its channel, for one thread at a time."""

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self._blocked = self._returned = False
        self._connection = connect(
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
            read_timeout=CONFIRM_S,
            write_timeout=WRITE_S,
            socket_settings={
                socket.TCP_USER_TIMEOUT: WRITE_S * 1000
            },  # py-amqp: 1 s, too short for flow control
        )
        try:
            self._channel = self._connection.channel()
        except Exception:
            self._connection.collect()
            raise
        self._channel.events['basic_return'].add(self._on_return)

    def publish(
        self, message: Message, exchange: str, routing_key: str, stopping: threading.Event
    ) -> None:
        """Publish, and wait for the confirmation.

        :raises DestinationRefused: no queue takes the message.
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
            self._await_confirmation(began, stopping)
        if self._returned:
            raise DestinationRefused('no queue is bound')

    def close(self) -> None:
        """Close the connection without waiting for the broker."""
        with contextlib.suppress(AMQPConnectionError, OSError):
            self._connection.connection.send_method(spec.Connection.Close, 'BsBB', (0, '', 0, 0))
        self._connection.collect()

    def _await_confirmation(self, began: float, stopping: threading.Event) -> None:
        """Wait on; a broker that blocks the connection will confirm when its alarm ends."""
        while True:
            waited = time.monotonic() - began
            if waited > STOP_S and stopping.is_set():
                raise TimeoutError('no confirmation before the process stops')
            if waited > CONFIRM_S and not self._blocked:
                raise TimeoutError(f'no confirmation within {CONFIRM_S} s')
            try:
                self._channel.wait(
                    [spec.Basic.Ack, spec.Basic.Nack], callback=_raise_nack, timeout=TICK_S
                )
            except TimeoutError:
                continue
            return

    def _on_return(self, *_: Any) -> None:
        self._returned = True

    def _on_blocked(self, *_: Any) -> None:
        LOG.warning(
            'The broker blocks the connection for replies (memory or disk alarm): replies wait until it ends'
        )
        self._blocked = True

    def _on_unblocked(self) -> None:
        self._blocked = False


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked
