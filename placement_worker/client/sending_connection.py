"""Connections that publish with confirmations."""

import contextlib
import logging
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from amqp import Message, spec
from amqp.exceptions import AMQPError, MessageNacked, RecoverableConnectionError
from kombu.connection import Connection

from placement_worker.client import transport as connections
from placement_worker.client.publish_errors import BLOCKED, DestinationMissing, PublishersBlocked

LOG = logging.getLogger(__name__)
CONFIRM_S = 30
"""The longest wait for a confirmation on a connection that the broker does not block."""
STOP_S = 3
"""The longest wait for a confirmation when the process stops, or the client is closed."""
WRITE_S = 5
"""The longest wait for the network to accept a message, since a frozen broker does not read."""
TICK_S = 1
"""The interval of checks for a stop of the process, during a wait for a confirmation."""
POLL_S = 0.01
"""The time for a look at a connection that the broker had blocked."""


class PublishingConnection:
    """A connection with its channel, which the broker may block."""

    messages = 'messages'
    """The noun for the waiting messages in the log."""

    def __init__(self, connect: Callable[..., Connection], **options: Any) -> None:
        """Connect.

        :param connect: opens a connection, from options of py-amqp and `options`.
        """
        self.is_blocked = False
        self._unblocked_at = -math.inf
        self.connection = connect(
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
            read_timeout=CONFIRM_S,
            write_timeout=WRITE_S,
            # py-amqp sets 1 s, which is too short for flow control.
            socket_settings={socket.TCP_USER_TIMEOUT: WRITE_S * 1000},
            **options,
        )
        try:
            self.channel = self.connection.channel()
            self.channel.confirm_select()
        except BaseException:
            self.drop()
            raise
        self.connection.connection.sock.settimeout(WRITE_S)

    def write(self, message: Message, exchange: str, routing_key: str) -> None:
        """Write a message, which the broker returns if no queue takes it.

        py-amqp's `basic_publish` first reads whether the broker blocks the connection. Here the
        confirmation reads it, which saves three system calls.

        :raises TimeoutError: the broker does not read, and has announced an alarm.
        :raises OSError: the connection is lost; also py-amqp's ConnectionError, which is raised as
            well if a broker without an alarm does not read.
        """
        try:
            self.channel.send_method(
                spec.Basic.Publish,
                'Bssbb',
                (0, exchange, routing_key, True, False),  # mandatory
                message,
            )
        except TimeoutError as exc:
            if self.announces_block():
                raise TimeoutError(BLOCKED) from exc
            # Another host may read, so that this counts as a lost connection.
            raise RecoverableConnectionError(f'a write timed out after {WRITE_S} s') from exc

    def drop(self) -> None:
        """Close a connection that is lost or in an unknown state, without waiting."""
        connections.drop(self.connection)

    def is_silent(self, began: float, timeout_s: float) -> bool:
        """Return whether the broker confirms nothing for a time in which it could have.

        :param began: the time of `time.monotonic` at which the message was published.
        """
        began = max(began, self._unblocked_at)
        return not self.is_blocked and time.monotonic() - began > timeout_s

    def announces_block(self) -> bool:
        """Read what the broker has sent, and return whether it blocks the connection.

        It stops reading then, also in the middle of a large message.
        """
        with contextlib.suppress(AMQPError, OSError):
            self.channel.wait([], timeout=POLL_S)
        return self.is_blocked

    def _on_blocked(self, *_: Any) -> None:
        LOG.warning(
            'The broker blocks a connection (memory or disk alarm): %s wait until the alarm ends',
            self.messages,
        )
        self.is_blocked = True

    def _on_unblocked(self) -> None:
        self.is_blocked = False
        self._unblocked_at = time.monotonic()


class SendingConnection(PublishingConnection):
    """A connection that waits for each confirmation, for one thread at a time."""

    def __init__(self, connect: Callable[..., Connection], timeout_s: float) -> None:
        super().__init__(connect, left_s=timeout_s)
        self._returned = False
        self.used_at = time.monotonic()
        self.channel.events['basic_return'].add(self._on_return)

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
        :raises OSError: the connection is lost, or the confirmation does not come; also
            py-amqp's ConnectionError.
        """
        self._returned = False
        began = time.monotonic()
        self.write(message, exchange, routing_key)
        self._await_confirmation(began, stopping, timeout_s)
        if self._returned:
            raise DestinationMissing('no queue is bound')

    def has_confirmed(self) -> bool:
        """Return whether the message of the last `publish` has been confirmed meanwhile."""
        return self._is_confirmed(POLL_S)

    def close(self) -> bool:
        """Close the connection, and return whether the broker has responded."""
        return connections.close(self.connection)

    def _await_confirmation(
        self, began: float, stopping: threading.Event, timeout_s: float
    ) -> None:
        """Keep waiting: a broker that blocks the connection confirms when its alarm ends."""
        while not self._is_confirmed(TICK_S):
            waited = time.monotonic() - began
            if waited > STOP_S and stopping.is_set():
                raise TimeoutError('no confirmation before the stop')
            is_late = waited > timeout_s and not self.is_blocked
            if is_late or self.is_silent(began, CONFIRM_S):
                raise TimeoutError(f'no confirmation within {min(CONFIRM_S, timeout_s):g} s')
            if waited > timeout_s and self.is_blocked:
                raise PublishersBlocked

    def _is_confirmed(self, timeout_s: float) -> bool:
        """Wait for the confirmation, and return whether it has come.

        :raises MessageNacked: a queue rejects the message.
        """
        try:
            self.channel.wait(
                [spec.Basic.Ack, spec.Basic.Nack], callback=_raise_nack, timeout=timeout_s
            )
        except TimeoutError:
            return False
        return True

    def _on_return(self, *_: Any) -> None:
        self._returned = True


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked
