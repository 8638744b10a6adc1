"""The listener of a server: its connection, and the deliveries that wait to be settled.

Only one thread at a time uses the connection, as kombu requires. The polling thread lends it to the
others while it waits for input, so most acknowledgements are sent by the thread that handled the
request. While the polling thread is busy, the others queue their operations and wake it. It also
reconnects: `consume` of oslo.messaging gives up when its timeout ends, before it has tried every
host.
"""

import collections
import contextlib
import logging
import os
import queue
import random
import selectors
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

import kombu.compression
import kombu.serialization
from kombu.utils import json
from oslo_messaging._drivers import amqp, amqpdriver, base
from typing_extensions import override

from placement_worker.late_ack.parking import RETRIED
from placement_worker.late_ack.request import (
    Event,
    Hooks,
    LateAckRequest,
    RequestsInFlight,
)

LOG = logging.getLogger(__name__)
POLL_S = 3.0
"""The longest wait of the polling thread: a quarter of the heartbeat timeout of 12 s.

Operations and deliveries wake the thread.
"""
# The interval of checks for the end of requests in flight, without a connection.
STOPPING_PAUSE_S = 0.02
RECONNECT_PAUSE_S = 0.5
"""The pause between attempts to reconnect.

A random factor of up to two keeps workers from reconnecting at the same time.
"""
# The number of finished requests that are recognized if their acknowledgement was lost.
REMEMBERED = 4096
ID_MAX = 255  # characters of a unique id; those of oslo.messaging have 32
DRAIN_S = 0.02  # the longest wait for the rest of a frame that has begun to arrive
RESPONSE_S = 10  # the longest wait for a byte from the broker while queues are declared
CLOSE_S = 2  # the longest wait for the broker's response when the connection is closed
BIND_S = 7  # the interval at which the queues are bound again, in case the exchange was deleted
WARN_DISCONNECTED_S = 30  # the interval of warnings while no host of the broker responds
JSON = 'application/json'  # the content type of every message of oslo.messaging
WAKE_BYTES = 4096


def limit_bodies(max_bytes: Callable[[], int]) -> None:
    """Refuse bodies that are compressed or exceed the limit, in the whole process.

    389 KB of a compressed body filled 812 MB of memory. The driver rejects a body that cannot be
    read: it logs the cause, and the message is lost.

    :param max_bytes: returns the limit in force; called for each message.
    """

    def loads(body: Any) -> Any:
        limit = max_bytes()
        if len(body) > limit:
            raise ValueError(f'Expected a message of at most {limit} bytes, got {len(body)}')
        return json.loads(body)

    for content_type in kombu.compression.encoders():
        kombu.compression.register(_refuse_compressed, _refuse_compressed, content_type)
    kombu.serialization.register('json', json.dumps, loads, JSON, 'utf-8')


def _refuse_compressed(_body: bytes) -> NoReturn:
    raise ValueError('Expected a body that is not compressed')


class OutageLog:
    """Log each outage once per process, whose topics have a connection each.

    An outage lasts from the first lost connection until all are restored.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._began = self._warned_at = 0.0
        self._lost: set[str] = set()
        self._restored: set[str] = set()
        self._logged: set[tuple[str, str]] = set()

    def lost(self, topic: str, host: str, cause: object) -> None:
        """Log a lost connection, unless the line would differ from an earlier one by its topic."""
        with self._lock:
            if not self._lost:
                self._began = self._warned_at = self._monotonic()
                self._restored, self._logged = set(), set()
            self._lost.add(topic)
            line = (host, str(cause))
            if line not in self._logged:
                self._logged.add(line)
                LOG.warning(
                    'Lost the connection to the broker at %s (topic %s): %s', host, topic, cause
                )

    def attempt_failed(self, host: str, cause: object) -> None:
        """Log the topics without a connection, at most once per `WARN_DISCONNECTED_S`."""
        with self._lock:
            now = self._monotonic()
            if now - self._warned_at >= WARN_DISCONNECTED_S:
                self._warned_at = now
                LOG.warning(
                    'No broker connection for %d s (%s); %s: %s',
                    now - self._began,
                    _topics(self._lost),
                    host,
                    cause,
                )

    def restored(self, topic: str, host: str) -> None:
        """Log the end of the outage when the last connection is restored."""
        with self._lock:
            self._lost.discard(topic)
            self._restored.add(topic)
            if not self._lost:
                LOG.info(
                    'Reconnected to the broker at %s (%s) after %.1f s',
                    host,
                    _topics(self._restored),
                    self._monotonic() - self._began,
                )


def _topics(topics: set[str]) -> str:
    return f'topic{"s" if len(topics) > 1 else ""} {", ".join(sorted(topics))}'


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
        return self._connection.connection

    def add_consumer(self, exchange: str, topic: str, callback: Callable[[Any], None]) -> None:
        """Declare the exchange and the queue of a topic; the next `wait` starts to consume it.

        Messages of other content types than JSON are dropped.
        """
        self._connection.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback
        )
        *_, consumer = self._connection._consumers
        consumer._callback = _only_json(consumer._callback)

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
            self._close_inputs()
            with self._wake_lock:
                self._is_closed = True
                os.close(self._wake_reader)
                os.close(self._wake_writer)

    def _consume(self) -> None:
        for consumer, tag in self._connection._consumers.items():
            consumer.consume(self._connection, tag=tag)
        self._close_inputs()
        self._inputs = selectors.DefaultSelector()  # that of eventlet, where threads are green
        self._inputs.register(self._wake_reader, selectors.EVENT_READ)
        self._inputs.register(self._amqp.connection.sock, selectors.EVENT_READ)
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
        # TLS may hold decrypted input that the socket no longer reports.
        pending = getattr(self._amqp.connection.sock, 'pending', None)
        if pending is not None and pending():
            return True
        self.in_use.release()
        try:
            ready = [key.fileobj for key, _ in self._inputs.select(timeout_s)]
        finally:
            self.in_use.acquire()
        if self._wake_reader in ready:
            os.read(self._wake_reader, WAKE_BYTES)
        return ready not in ([], [self._wake_reader])

    def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            self._amqp.drain_events(timeout=DRAIN_S)

    def _close_inputs(self) -> None:
        if self._inputs is not None:
            self._inputs.close()
            self._inputs = None

    def _drop(self) -> None:
        """Close the socket without a closing handshake, which a dead host would delay."""
        self._is_consuming = False
        if self.is_connected:
            self._amqp.connection.sock.settimeout(0)  # py-amqp 5.4.2 waits for the peer to end TLS
        self._amqp.collect()


class LateAckListener(base.PollStyleListener):
    """Take the deliveries of a connection, and settle each one when its request ends.

    Only the thread that holds `in_use` of the connection may use it, except for `do`, `pause` and
    `in_flight`. Other threads may read `polled_at` and `disconnected_at`.
    """

    def __init__(
        self,
        driver: Any,
        connection: ListenConnection,
        topic: str = '',
        hooks: Hooks | None = None,
        outages: OutageLog | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(driver.prefetch_size)
        self.driver = driver
        self.hooks = hooks or Hooks()
        self.obsolete_reply_queues = amqpdriver.ObsoleteReplyQueuesCache()
        self._topic = topic
        self.in_flight = RequestsInFlight(monotonic, self.hooks, topic)
        self.polled_at = monotonic()
        self.disconnected_at: float | None = None
        self._outages = outages or OutageLog(monotonic)
        self._monotonic = monotonic
        self._connection = connection
        self._waiting: collections.deque[LateAckRequest] = collections.deque()
        self._unsettled: dict[object, LateAckRequest] = {}
        self._finished: dict[object, None] = {}
        self._operations: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def __call__(self, delivery: Any) -> None:
        """Take a delivery; the driver rejects it for good if this raises."""
        unique_id = _unique_id(delivery)
        if delivery._raw_message.delivery_info.get('redelivered'):
            about = self.hooks.describe(delivery)
            LOG.info('%sRequest %s was redelivered', about, unique_id)
            self.hooks.on_event(Event.REDELIVERED, self._topic)
        if unique_id is not None and self._is_duplicate(unique_id, delivery):
            return
        key = object() if unique_id is None else unique_id
        request = LateAckRequest(self, delivery, key, amqp.unpack_context(delivery))
        self._unsettled[key] = request
        self._waiting.append(request)

    @override
    def poll(
        self, timeout: float | None = None, batch_size: int = 1, batch_timeout: float | None = None
    ) -> list[LateAckRequest]:
        # The result is empty when the listener has stopped and every request is settled.
        with self._connection.in_use:
            while True:
                self.polled_at = self._monotonic()
                self._run_operations()
                if self._stopping.is_set():
                    self._give_back_waiting()
                    if not self._unsettled:
                        return []
                elif self._waiting:
                    return [self._waiting.popleft()]
                self._wait()

    def pause(self, seconds: float) -> None:
        """Wait in any thread, or return early when the listener stops."""
        self._stopping.wait(seconds)

    @override
    def stop(self) -> None:
        # `poll` gives back the requests that no thread has begun, and waits for the others.
        self._stopping.set()
        self._connection.wake()

    @override
    def cleanup(self) -> None:
        self._connection.close()

    def do(self, operation: Callable[[], None]) -> None:
        """Run an operation now, or in the polling thread if that uses the connection.

        The polling thread sleeps through an operation of another thread. It is woken if it has to
        end the listener or to reconnect.
        """
        if self._connection.in_use.acquire(blocking=False):
            try:
                operation()
            finally:
                self._connection.in_use.release()
            if self._connection.is_connected and not self._stopping.is_set():
                return
        else:
            self._operations.put(operation)
        self._connection.wake()

    def settle(
        self, request: LateAckRequest, how: Callable[[Any], object], *, is_done: bool
    ) -> None:
        """Settle the last delivery of a request.

        :param is_done: whether to drop the request if it is delivered again, because its
            acknowledgement was lost with the connection.
        """
        del self._unsettled[request.key]
        if is_done:
            self._finished[request.key] = None
            if len(self._finished) > REMEMBERED:
                del self._finished[next(iter(self._finished))]
        try:
            how(request.delivery)
        except Exception as exc:  # a lost connection raises errors of several libraries
            LOG.warning(
                'Failed to settle request %s; the broker will deliver it again: %s',
                request.key,
                exc,
            )
        request.release_message()

    def _is_duplicate(self, unique_id: str, delivery: Any) -> bool:
        """Return whether this process already holds or has finished the request of a delivery.

        After a reconnection, the new delivery of an unsettled request is the one to settle.
        """
        request = self._unsettled.get(unique_id)
        if request is not None and not _on_same_channel(request.delivery, delivery):
            request.delivery = delivery
            return True
        if request is not None or unique_id in self._finished:
            LOG.info('Dropped a duplicate delivery of request %s', unique_id)
            delivery.acknowledge()
            return True
        return False

    def _wait(self) -> None:
        if self._connection.is_connected:
            try:
                self._connection.wait(POLL_S)
            except Exception as exc:
                self._lose(exc)
        elif self._stopping.is_set():
            # The broker has requeued every request; a new connection could not settle them.
            time.sleep(STOPPING_PAUSE_S)
        else:
            self._reconnect()

    def _lose(self, cause: object) -> None:
        self.disconnected_at = self._monotonic()
        self._outages.lost(self._topic, self._connection.host, cause)

    def _reconnect(self) -> None:
        if self.disconnected_at is None:
            self._lose('it broke while a request was settled')
        host = self._connection.host
        try:
            self._connection.reconnect()
        except Exception as exc:
            self._outages.attempt_failed(host, exc)
            self._stopping.wait(RECONNECT_PAUSE_S * random.uniform(1, 2))  # noqa: S311  # no secret
        else:
            self._outages.restored(self._topic, host)
            self.disconnected_at = None

    def _run_operations(self) -> None:
        while True:
            try:
                operation = self._operations.get_nowait()
            except queue.Empty:
                return
            operation()

    def _give_back_waiting(self) -> None:
        self._connection.cancel_consumers()
        self._waiting.clear()
        for request in list(self._unsettled.values()):
            if request.give_back_unless_begun():
                LOG.info('Returned request %s to its queue for another worker', request.key)


def _unique_id(delivery: Any) -> str | None:
    """Return the id of a request; a retried request differs from the one that was parked.

    :raises ValueError: the id is not a string, or too long to be remembered.
    """
    unique_id = delivery.pop(amqp.UNIQUE_ID, None)
    if not isinstance(unique_id, str | None):
        raise ValueError('Expected a string for the unique id of a request')
    if unique_id is None:
        return None
    retried: str = delivery._raw_message.headers.get(RETRIED, '')
    if max(len(unique_id), len(retried)) > ID_MAX:
        raise ValueError(f'Expected at most {ID_MAX} characters for the unique id of a request')
    return unique_id + retried


def _on_same_channel(one: Any, other: Any) -> bool:
    """Return whether two deliveries are two messages.

    Deliveries with the same id on different channels are one message, redelivered.
    """
    return one._raw_message.channel is other._raw_message.channel


def _only_json(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a callback of a consumer that drops messages of other content types.

    Without it, the driver drops them and logs a traceback that does not name the content type.
    """

    def take(message: Any) -> None:
        content_type = message.properties.get('content_type')
        if content_type == JSON:
            callback(message)
            return
        LOG.warning('Dropped a message: expected content_type %s, got %.80r', JSON, content_type)
        message.channel.basic_reject(message.delivery_tag, requeue=False)

    return take
