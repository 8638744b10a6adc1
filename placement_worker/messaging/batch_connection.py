"""A connection that publishes several messages before it waits for their confirmations."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from amqp import Message
from kombu.connection import Connection

from placement_worker.client.sending_connection import CONFIRM_S, TICK_S, PublishingConnection


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A message and its destination.

    `name`: the name of the message in the log.
    """

    message: Message
    exchange: str
    routing_key: str
    name: str


class BatchConnection(PublishingConnection):
    """A connection with its channel, for one thread.

    `unrouted`: the routing keys of the last batch that no queue is bound with.
    """

    messages = 'notifications'

    def __init__(self, connect: Callable[..., Connection]) -> None:
        super().__init__(connect)
        self.unrouted: set[str] = set()
        self._published = 0
        self._unconfirmed: dict[int, Publication] = {}
        self._batch: list[Publication] = []
        self.channel.events['basic_return'].add(self._on_return)
        self.channel.events['basic_ack'].add(self._on_ack)
        self.channel.events['basic_nack'].add(self._on_nack)

    def publish(self, batch: list[Publication]) -> None:
        """Publish messages in order, and wait for all confirmations.

        Each confirmed message is removed from the batch, also before an exception. The messages
        that a queue rejects, or no queue takes, remain. After an exception the connection cannot
        be used again.

        :raises ChannelError: an exchange is missing or forbidden.
        :raises OSError: the connection is lost, or a confirmation does not come; also py-amqp's
            ConnectionError.
        """
        self._batch = batch
        self.unrouted.clear()
        self._unconfirmed = dict(enumerate(batch, self._published + 1))
        self._published += len(batch)
        with self._one_packet():
            for one in batch:
                self.write(one.message, one.exchange, one.routing_key)
        began = time.monotonic()
        while self._unconfirmed:
            try:
                self.connection.drain_events(timeout=TICK_S)
            except TimeoutError:
                # A broker that blocks the connection confirms when its alarm ends.
                if self.is_silent(began, CONFIRM_S):
                    raise TimeoutError(f'no confirmation within {CONFIRM_S:g} s') from None

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

    def _on_return(self, _exc: object, _exchange: str, routing_key: str, _: object) -> None:
        """Remember the key: the broker returns a message that no queue takes, then confirms it."""
        self.unrouted.add(routing_key)

    def _on_ack(self, tag: int, multiple: bool) -> None:
        for one in self._settled(tag, multiple):
            if one.routing_key not in self.unrouted:
                self._batch.remove(one)

    def _on_nack(self, tag: int, multiple: bool) -> None:
        self._settled(tag, multiple)
