"""The listening connection of the polling thread."""

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from placement_worker.messaging.late_ack.content_types import only_json

LOG = logging.getLogger(__name__)
DRAIN_S = 0.02
"""The longest wait for the rest of a frame that has begun to arrive."""
RESPONSE_S = 10
"""The longest wait for a byte from the broker while queues are declared."""
CLOSE_S = 2
"""The longest wait for the broker's response when the connection is closed."""
BIND_S = 7
"""The interval at which the queues are bound again, in case the exchange was deleted."""


class ListenConnection:
    """A connection of the driver that consumes, and that reconnects to one host at a time.

    It replaces `consume` of the driver's connection, which cannot be woken, and whose reconnection
    cannot be bounded: within a short timeout it never leaves a dead host, and within a long one it
    neither stops nor reports. Any error of the connection or its channel loses the connection; the
    broker then requeues unacknowledged requests.

    :param context: the driver's connection context for listening.
    :ivar in_use: the thread that holds this lock may use the connection. `wait` releases it while
        the polling thread waits for input.
    """

    def __init__(self, context: Any, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._connection = context.connection
        self._connection.max_retries = 0  # one attempt per `reconnect`
        # The driver sets its own read timeout only after it has declared the queues.
        self._amqp.transport_options['read_timeout'] = RESPONSE_S
        self._monotonic = monotonic
        self._is_consuming = False
        self._bound_at = monotonic()
        self.in_use = threading.Lock()
        self._wake_lock = threading.Lock()
        self._is_closed = False
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._inputs: Any = None

    @property
    def is_connected(self) -> bool:
        """Whether no error has occurred since the last successful connection."""
        return bool(self._amqp.connected)

    @property
    def host(self) -> str:
        """The host of the connection, or of the next attempt."""
        return f'{self._amqp.hostname}:{self._amqp.port}'

    @property
    def _amqp(self) -> Any:
        """The connection of kombu."""
        return self._connection.connection

    def add_consumer(self, exchange: str, topic: str, callback: Callable[[Any], None]) -> None:
        """Declare the exchange and the queue of a topic; the next `wait` starts to consume it.

        Messages of other content types than JSON are dropped.
        """
        self._connection.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback
        )
        *_, consumer = self._connection._consumers
        consumer._callback = only_json(consumer._callback)

    def wake(self) -> None:
        """End the `wait` of the polling thread, or its next one."""
        # The lock keeps `close` away: a closed descriptor may already belong to another file.
        with self._wake_lock:
            if not self._is_closed:
                with contextlib.suppress(BlockingIOError):  # a full pipe wakes the thread as well
                    os.write(self._wake_writer, b'.')

    def wait(self, timeout_s: float) -> None:
        """Wait for input or a wake-up; the callbacks of the consumers get the deliveries.

        The caller holds `in_use`.

        :raises Exception: an error of kombu, py-amqp or the socket; the connection is lost.
        """
        try:
            if not self._is_consuming:
                self._consume()
            elif self._monotonic() - self._bound_at > BIND_S:
                self._bind()
            if self._has_input(timeout_s):
                self._drain()
            if self._connection._heartbeat_supported_and_enabled():
                self._connection._heartbeat_check()
        except Exception:
            self._drop()
            raise

    def reconnect(self) -> None:
        """Connect to one host and consume again; after an error the next call tries the next host.

        :raises Exception: an error of kombu, py-amqp or the socket; the host does not serve.
        """
        # An acknowledgement that cannot be written closes the connection outside of `wait`.
        self._drop()
        try:
            self._connection.ensure_connection()
            self._consume()
        except Exception:
            self._drop()
            self._amqp.maybe_switch_next()
            raise

    def cancel_consumers(self) -> None:
        """Receive no further deliveries, not even after reconnecting."""
        tags = list(self._connection._consumers.values())
        self._connection._consumers.clear()
        for tag in tags if self.is_connected else ():
            try:
                self._connection.channel.basic_cancel(str(tag), nowait=True)
            except Exception as exc:  # the connection is lost meanwhile
                LOG.warning('Failed to cancel a consumer: %s', exc)

    def close(self) -> None:
        """Close the connection; wait up to `CLOSE_S` for a broker that does not respond."""
        if self.is_connected:
            self._amqp.connection.sock.settimeout(CLOSE_S)
        try:
            self._context.close()
        finally:
            with self._wake_lock:
                self._is_closed = True
                os.close(self._wake_reader)
                os.close(self._wake_writer)

    def _consume(self) -> None:
        for consumer, tag in self._connection._consumers.items():
            consumer.consume(self._connection, tag=tag)
        self._inputs = select.poll()
        self._inputs.register(self._wake_reader, select.POLLIN)
        self._inputs.register(self._amqp.connection.sock, select.POLLIN)
        self._is_consuming, self._bound_at = True, self._monotonic()

    def _bind(self) -> None:
        """Bind the queues again, without waiting for the broker.

        A deleted exchange takes the bindings along, and the consumers get no notice. If the
        exchange is missing, the broker closes the channel, so the connection is lost, and
        reconnecting declares everything.
        """
        for consumer in self._connection._consumers:
            consumer.queue.queue_bind(nowait=True)
        self._bound_at = self._monotonic()

    def _has_input(self, timeout_s: float) -> bool:
        """Wait for input from the broker or for a wake-up, and return whether there is input."""
        # TLS may hold decrypted input that the socket no longer reports.
        pending = getattr(self._amqp.connection.sock, 'pending', None)
        if pending is not None and pending():
            return True
        self.in_use.release()
        try:
            ready = [file for file, _ in self._inputs.poll(timeout_s * 1000)]
        finally:
            self.in_use.acquire()
        if self._wake_reader in ready:
            os.read(self._wake_reader, select.PIPE_BUF)
        return ready not in ([], [self._wake_reader])

    def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            self._amqp.drain_events(timeout=DRAIN_S)

    def _drop(self) -> None:
        """Close the socket without a closing handshake, which a dead host would delay."""
        self._is_consuming = False
        if self.is_connected:
            self._amqp.connection.sock.settimeout(0)  # py-amqp 5.4.2 waits for the peer to end TLS
        self._amqp.collect()
