"""A connection that publishes several messages before it waits for their confirmations."""

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from amqp import Message, spec
from kombu.connection import Connection

from placement_worker.client.sending_connection import CONFIRM_S, TICK_S, WRITE_S

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A message and its destination.

    `name`: the name of the message in the log.
    """

    message: Message
    exchange: str
    routing_key: str
    name: str


class BatchConnection:
    """A connection with its channel, for one thread."""

    def __init__(self, connect: Callable[..., Connection]) -> None:
        """Connect.

        :param connect: opens a connection, from options of py-amqp.
        """
        self._is_blocked = False
        self._published = 0
        self._unconfirmed: dict[int, Publication] = {}
        self._batch: list[Publication] = []
        self.connection = connect(
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
            read_timeout=CONFIRM_S,
            write_timeout=WRITE_S,
            # py-amqp sets 1 s, which is too short for flow control.
            socket_settings={socket.TCP_USER_TIMEOUT: WRITE_S * 1000},
        )
        try:
            self._channel = self.connection.channel()
            self._channel.confirm_select()
        except BaseException:
            self.connection.collect()
            raise
        self._channel.events['basic_ack'].add(self._on_ack)
        self._channel.events['basic_nack'].add(self._on_nack)

    def publish(self, batch: list[Publication]) -> None:
        """Publish messages in order, and wait for all confirmations.

        Each confirmed message is removed from the batch, also before an exception. The messages
        that a queue rejects remain. After an exception the connection cannot be used again.

        :raises ChannelError: an exchange is missing or forbidden.
        :raises OSError: the connection is lost, or a confirmation does not come.
        """
        self._batch = batch
        self._unconfirmed = dict(enumerate(batch, self._published + 1))
        self._published += len(batch)
        with self._one_packet():
            for one in batch:
                self._channel.send_method(
                    spec.Basic.Publish,
                    'Bssbb',
                    (0, one.exchange, one.routing_key, False, False),
                    one.message,
                )
        began = time.monotonic()
        while self._unconfirmed:
            try:
                self.connection.drain_events(timeout=TICK_S)
            except TimeoutError:
                # A broker that blocks the connection confirms when its alarm ends.
                if not self._is_blocked and time.monotonic() - began > CONFIRM_S:
                    raise TimeoutError(f'no confirmation within {CONFIRM_S:g} s') from None

    def close(self) -> None:
        """Close the connection without waiting for the broker."""
        self.connection.collect()

    @contextlib.contextmanager
    def _one_packet(self) -> Iterator[None]:
        """Let the kernel collect what is written, so that the broker wakes once."""
        sock = self.connection.connection.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        yield
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def _settled(self, tag: int, multiple: bool) -> list[Publication]:
        tags = [one for one in self._unconfirmed if one <= tag] if multiple else [tag]
        return [self._unconfirmed.pop(one) for one in tags if one in self._unconfirmed]

    def _on_ack(self, tag: int, multiple: bool) -> None:
        for one in self._settled(tag, multiple):
            self._batch.remove(one)

    def _on_nack(self, tag: int, multiple: bool) -> None:
        self._settled(tag, multiple)

    def _on_blocked(self, *_: Any) -> None:
        LOG.warning(
            'The broker blocks a connection (memory or disk alarm): notifications wait until the '
            'alarm ends'
        )
        self._is_blocked = True

    def _on_unblocked(self) -> None:
        self._is_blocked = False
