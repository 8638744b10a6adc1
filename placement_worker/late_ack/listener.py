"""The listener of a server: its connection, and the deliveries that wait to be settled.

Only the polling thread uses the connection, as py-amqp requires. Other threads queue their
acknowledgements, which it sends between two deliveries.
"""

import collections
import contextlib
import logging
import queue
import random
import socket
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
from placement_worker.late_ack.request import Hooks, LateAckRequest, RequestsInFlight

LOG = logging.getLogger(__name__)
# The longest wait for a delivery. While a request is in flight, its acknowledgement waits for it.
IDLE_S, BUSY_S = 0.2, 0.01
RECONNECT_PAUSE_S = 0.5  # times a random factor, or all workers would reconnect at the same time
REMEMBERED = 4096  # finished requests that are recognized if their acknowledgement was lost
ID_MAX = 255  # characters of a unique id; those of oslo.messaging have 32
RESPONSE_S = 10  # the longest time until a reconnection consumes, and the longest silence in it
CLOSE_S = 2  # the longest wait for the broker's response when the connection is closed
WARN_DISCONNECTED_S = 30  # the interval of warnings while no host of the broker responds
JSON = 'application/json'  # the content type of every message of oslo.messaging


def limit_bodies(max_bytes: Callable[[], int]) -> None:
    """Refuse bodies that are compressed or exceed the limit in force, in the whole process.

    389 KB of a compressed body filled 812 MB of memory. The driver logs why it rejects a body.
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


class ListenConnection:
    """A connection of the driver that consumes, and that reconnects to one host at a time.

    It replaces `consume` of the driver's connection, whose reconnection cannot be bounded: within a
    short timeout it never leaves a dead host, and within a long one it neither stops nor reports.
    Any error loses the connection; the broker then requeues unacknowledged requests. Each one binds
    the queues once: RabbitMQ 4.3 closes a connection that binds one on a node without a majority.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._connection = context.connection
        self._connection.max_retries = 0  # one attempt per `reconnect`
        self._amqp.transport_options['read_timeout'] = RESPONSE_S
        self._is_consuming = False

    @property
    def is_connected(self) -> bool:
        return bool(self._amqp.connected)

    @property
    def host(self) -> str:
        return f'{self._amqp.hostname}:{self._amqp.port}'

    @property
    def _amqp(self) -> Any:
        return self._connection.connection

    def add_consumer(self, exchange: str, topic: str, callback: Callable[[Any], None]) -> None:
        self._connection.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback
        )
        *_, consumer = self._connection._consumers
        consumer._callback = _only_json(consumer._callback)

    def wait(self, timeout_s: float) -> None:
        """Wait for a delivery, which the callbacks get; after any error the connection is lost."""
        try:
            if not self._is_consuming:
                self._consume()
            with contextlib.suppress(TimeoutError):
                self._amqp.drain_events(timeout=timeout_s)
            if self._connection._heartbeat_supported_and_enabled():
                self._connection._heartbeat_check()
        except Exception:
            self._drop()
            raise

    def reconnect(self) -> None:
        """Connect to the next host and consume; the last one may be cut off."""
        # An acknowledgement that cannot be written closes the connection outside of `wait`.
        self._drop()
        self._amqp.maybe_switch_next()
        has_ended = threading.Event()
        threading.Thread(target=self._bound, args=(has_ended,), daemon=True).start()
        try:
            self._connection.ensure_connection()
            self._consume()
        except Exception:
            self._drop()
            raise
        finally:
            has_ended.set()

    def cancel_consumers(self) -> None:
        tags = list(self._connection._consumers.values())
        self._connection._consumers.clear()
        for tag in tags if self.is_connected else ():
            try:
                self._connection.channel.basic_cancel(str(tag), nowait=True)
            except Exception as exc:  # the connection is lost meanwhile
                LOG.warning('Failed to cancel a consumer: %s', exc)

    def close(self) -> None:
        if self.is_connected:
            self._amqp.connection.sock.settimeout(CLOSE_S)
        self._context.close()

    def _consume(self) -> None:
        for consumer, tag in self._connection._consumers.items():
            consumer.consume(self._connection, tag=tag)
        self._is_consuming = True

    def _bound(self, has_ended: threading.Event) -> None:
        # A read timeout would not do: a node without a leader of its metadata sent heartbeats only.
        while not has_ended.wait(RESPONSE_S):
            # The properties of kombu and py-amqp would connect in this thread.
            with contextlib.suppress(AttributeError, TypeError, OSError):  # no connection yet
                sock = self._amqp._connection._transport.sock
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _drop(self) -> None:
        """Close the socket without a closing handshake, which a dead host would delay."""
        self._is_consuming = False
        if self.is_connected:
            self._amqp.connection.sock.settimeout(0)  # py-amqp 5.4.2 waits for the peer to end TLS
        self._amqp.collect()


class LateAckListener(base.PollStyleListener):
    """Take the deliveries of a connection, and settle each one when its request ends.

    Other threads than the polling one may use `do`, `pause`, `stop` and `in_flight`, and read
    `polled_at` and `disconnected_at`.
    """

    def __init__(
        self,
        driver: Any,
        connection: ListenConnection,
        topic: str = '',
        hooks: Hooks | None = None,
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
        self._monotonic = monotonic
        self._connection = connection
        self._waiting: collections.deque[LateAckRequest] = collections.deque()
        self._unsettled: dict[object, LateAckRequest] = {}
        self._finished: dict[object, None] = {}
        self._operations: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def __call__(self, delivery: Any) -> None:
        # The driver rejects a delivery for good if this raises.
        unique_id = _unique_id(delivery)
        if delivery._raw_message.delivery_info.get('redelivered'):
            LOG.info('%sRequest %s was redelivered', self.hooks.describe(delivery), unique_id)
            self.hooks.on_event('REDELIVERED', self._topic)
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
        while True:
            self.polled_at = self._monotonic()
            is_stopping = self._stopping.is_set()
            if self._waiting and not is_stopping:  # before the operations: its caller waits
                return [self._waiting.popleft()]
            while not self._operations.empty():
                self._operations.get()()
            if is_stopping:
                self._give_back_waiting()
                if not self._unsettled:
                    return []
            self._wait()

    def pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    @override
    def stop(self) -> None:
        # `poll` gives back the requests that no thread has begun, and waits for the others.
        self._stopping.set()

    @override
    def cleanup(self) -> None:
        self._connection.close()

    def do(self, operation: Callable[[], None]) -> None:
        self._operations.put(operation)

    def settle(
        self, request: LateAckRequest, how: Callable[[Any], object], *, is_done: bool
    ) -> None:
        """Settle the last delivery; a request that `is_done` is dropped when it comes again."""
        del self._unsettled[request.key]
        if is_done:
            self._finished[request.key] = None
            if len(self._finished) > REMEMBERED:
                del self._finished[next(iter(self._finished))]
        try:
            how(request.delivery)
        except Exception as exc:  # a lost connection raises errors of several libraries
            again = 'Failed to settle request %s; the broker will deliver it again: %s'
            LOG.warning(again, request.key, exc)
        request.release_message()

    def _is_duplicate(self, unique_id: str, delivery: Any) -> bool:
        # After a reconnection, the new delivery of an unsettled request is the one to settle.
        request = self._unsettled.get(unique_id)
        channel = delivery._raw_message.channel
        # Deliveries with the same id on different channels are one message, redelivered.
        if request is not None and request.delivery._raw_message.channel is not channel:
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
                self._connection.wait(BUSY_S if self._unsettled else IDLE_S)
            except Exception as exc:
                self._lose(exc)
        elif self._stopping.is_set():
            # The broker has requeued every request; a new connection could not settle them.
            time.sleep(BUSY_S)
        else:
            self._reconnect()

    def _lose(self, cause: object) -> float:
        self.disconnected_at = self._warned_at = self._monotonic()
        host, topic = self._connection.host, self._topic
        LOG.warning('Lost the connection to the broker at %s (topic %s): %s', host, topic, cause)
        return self.disconnected_at

    def _reconnect(self) -> None:
        lost_at = self.disconnected_at or self._lose('it broke while a request was settled')
        try:
            self._connection.reconnect()
        except Exception as exc:
            now = self._monotonic()
            if now - self._warned_at >= WARN_DISCONNECTED_S:
                self._warned_at = now
                lost = 'No broker connection for %d s (topic %s); %s: %s'
                LOG.warning(lost, now - lost_at, self._topic, self._connection.host, exc)
            self._stopping.wait(RECONNECT_PAUSE_S * random.uniform(1, 2))  # noqa: S311  # no secret
        else:
            self.disconnected_at = None
            restored = 'Reconnected to the broker at %s (topic %s) after %.1f s'
            LOG.info(restored, self._connection.host, self._topic, self._monotonic() - lost_at)

    def _give_back_waiting(self) -> None:
        self._connection.cancel_consumers()
        self._waiting.clear()
        for request in list(self._unsettled.values()):
            if request.give_back_unless_begun():
                LOG.info('Returned request %s to its queue for another worker', request.key)


def _unique_id(delivery: Any) -> str | None:
    # A retried request differs from the one that was parked.
    unique_id = delivery.pop(amqp.UNIQUE_ID, None)
    if not isinstance(unique_id, str | None):
        raise ValueError('Expected a string for the unique id of a request')
    if unique_id is None:
        return None
    retried: str = delivery._raw_message.headers.get(RETRIED, '')
    if max(len(unique_id), len(retried)) > ID_MAX:
        raise ValueError(f'Expected at most {ID_MAX} characters for the unique id of a request')
    return unique_id + retried


def _only_json(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    # The driver would log a traceback that does not name the content type.
    def take(message: Any) -> None:
        content_type = message.properties.get('content_type')
        if content_type == JSON:
            callback(message)
            return
        LOG.warning('Dropped a message: expected content_type %s, got %.80r', JSON, content_type)
        message.channel.basic_reject(message.delivery_tag, requeue=False)

    return take
