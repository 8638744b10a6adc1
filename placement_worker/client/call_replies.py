"""The replies to calls: a queue of this process, and the thread that receives from it."""

import contextlib
import logging
import math
import queue
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from amqp.exceptions import AMQPError, ChannelError
from kombu.connection import Connection

from placement_worker.client.connection import close, drop, is_true
from placement_worker.errors import BrokerRefused, BrokerUnreachable

LOG = logging.getLogger(__name__)
RECONNECT_S, RECONNECT_MAX_S = 0.5, 5.0
"""The pause before the second attempt to connect, which doubles, and the longest one.

A random factor of up to two keeps clients from connecting at the same time.
"""
BEAT_S = 3
"""The period of heartbeats, and the longest time until a reply is acknowledged."""
TICK_S = 0.25
"""The period of checks for the end of the client.

Another thread must not write to wake the thread: with TLS, only one may use the connection.
"""
UNACKNOWLEDGED = 16
"""The number of replies that one acknowledgement covers while many arrive.

If the connection is lost, the broker delivers them again, and no call waits for them.
"""
CLOSE_S = 2
"""The longest wait for the thread when the client is closed."""


class Reply(msgspec.Struct):
    """A message of an RPC server of oslo.messaging.

    A message without `ending` only says that the request is being handled. `failure` is the JSON of
    an exception.
    """

    call_id: str = msgspec.field(name='_msg_id')
    result: Any = None
    failure: str | None = None
    ending: bool = False


class _Envelope(msgspec.Struct):
    """The envelope of oslo.messaging, version 2.0: a message as JSON inside JSON."""

    message: str = msgspec.field(name='oslo.message')


Waiting = queue.SimpleQueue[Reply | None]
"""The queue of one call for its reply, or for None if the client is closed."""
_envelopes = msgspec.json.Decoder(_Envelope)
_replies = msgspec.json.Decoder(Reply)


class CallReplies:
    """Receives the replies to the calls of a process.

    The queue outlives the connection. If the connection is lost, the thread connects again and
    receives the replies that have arrived meanwhile.
    """

    def __init__(self, connect: Callable[..., Connection], options: Mapping[str, Any]) -> None:
        """Prepare; the first call connects.

        :param connect: opens a connection with heartbeats; takes `left_s`, the seconds that it may
            take.
        :param options: of oslo.messaging's rabbit driver.
        """
        self.queue = f'reply_{uuid.uuid4().hex}'
        self._connect = connect
        self._is_quorum = is_true(options['rabbit_transient_quorum_queue'])
        self._arguments = _arguments(options, self._is_quorum)
        self._waiting: dict[str, Waiting] = {}
        self._opening = threading.Lock()
        self._thread: threading.Thread | None = None
        self._unacknowledged: list[Any] = []
        self._closing = threading.Event()

    def open(self, end: float) -> None:
        """Declare the queue and start the thread, unless an earlier call has done so.

        :param end: the time of `time.monotonic` at which the caller gives up.
        :raises BrokerRefused: the permission to declare or to read the queue is missing.
        :raises BrokerUnreachable: the broker does not respond.
        :raises PlacementWorkerError: as `connect` raises it.
        """
        if self._thread:
            return
        left_s = min(max(end - time.monotonic(), 0), threading.TIMEOUT_MAX)
        if not self._opening.acquire(timeout=left_s):
            raise BrokerUnreachable('The broker did not respond to an earlier call in time')
        try:
            if self._thread is None and not self._closing.is_set():
                connection = self._consume(end - time.monotonic())
                thread = threading.Thread(
                    target=self._run, args=(connection,), name='policy-replies', daemon=True
                )
                thread.start()
                self._thread = thread
        finally:
            self._opening.release()

    @contextlib.contextmanager
    def expected(self, call_id: str) -> Iterator[Waiting]:
        """Receive the reply to a call during a block; later ones are dropped."""
        waiting = self._waiting[call_id] = queue.SimpleQueue()
        if self._closing.is_set():
            waiting.put(None)
        try:
            yield waiting
        finally:
            del self._waiting[call_id]

    def close(self) -> None:
        """Stop the thread, and end all calls."""
        self._closing.set()
        for waiting in list(self._waiting.values()):
            waiting.put(None)
        if self._thread:
            self._thread.join(CLOSE_S)

    def _consume(self, left_s: float = math.inf) -> Connection:
        """Return a connection that consumes the queue.

        :raises BrokerRefused: the broker refuses to declare or to read the queue.
        :raises BrokerUnreachable: the connection is lost.
        """
        connection = self._connect(left_s=left_s)
        host = f'{connection.hostname}:{connection.port}'
        try:
            channel = connection.connection.channel()
            channel.queue_declare(
                self.queue, durable=self._is_quorum, auto_delete=False, arguments=self._arguments
            )
            channel.basic_consume(self.queue, callback=self._receive)
        except (AMQPError, OSError) as exc:
            drop(connection)
            kind = BrokerRefused if isinstance(exc, ChannelError) else BrokerUnreachable
            raise kind(f'The request could not be delivered: {host}: {exc}') from exc
        return connection

    def _receive(self, message: Any) -> None:
        try:
            reply = _replies.decode(_envelopes.decode(message.body).message)
        except (ValueError, RecursionError) as exc:
            LOG.warning('Dropped a malformed reply to a call: %s', exc)
        else:
            waiting = self._waiting.get(reply.call_id)
            if waiting and reply.ending:
                waiting.put(reply)
        self._unacknowledged.append(message)
        if len(self._unacknowledged) >= UNACKNOWLEDGED:
            self._acknowledge()

    def _acknowledge(self) -> None:
        if self._unacknowledged:
            last = self._unacknowledged.pop()
            self._unacknowledged.clear()
            last.channel.basic_ack(last.delivery_tag, multiple=True)

    def _run(self, connection: Connection | None) -> None:
        while connection is not None:
            try:
                self._receive_from(connection.connection)
                close(connection)
            except Exception as exc:  # errors of py-amqp and of the socket have no common base
                if not self._closing.is_set():
                    LOG.warning('Lost the connection for the replies to calls: %s', exc)
            drop(connection)
            self._unacknowledged.clear()
            connection = self._reconnected()

    def _receive_from(self, amqp: Any) -> None:
        """Receive replies until the client is closed.

        :param amqp: a connection of py-amqp.
        """
        beat_at = time.monotonic() + BEAT_S
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                amqp.drain_events(timeout=TICK_S)
            if time.monotonic() >= beat_at:
                beat_at += BEAT_S
                self._acknowledge()
                amqp.heartbeat_tick()
        self._acknowledge()

    def _reconnected(self) -> Connection | None:
        """Connect again, and return None if the client is closed before that succeeds."""
        pause_s = RECONNECT_S
        while not self._closing.wait(pause_s * random.uniform(1, 2)):  # noqa: S311  # no secret
            try:
                connection = self._consume()
            except Exception as exc:  # as above
                LOG.warning('Cannot receive the replies to calls: %s', exc)
                pause_s = min(2 * pause_s, RECONNECT_MAX_S)
            else:
                LOG.info('Receiving the replies to calls again')
                return connection
        return None


def _arguments(options: Mapping[str, Any], is_quorum: bool) -> dict[str, Any]:
    """Return the arguments of the queue.

    :source: `_get_queue_arguments` in oslo_messaging/_drivers/impl_rabbit.py, of 18.3.
    """
    expires_s = int(options['rabbit_transient_queues_ttl'])
    return {
        **({'x-queue-type': 'quorum'} if is_quorum else {}),
        **({'x-expires': expires_s * 1000} if expires_s else {}),
    }
