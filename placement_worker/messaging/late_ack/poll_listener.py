"""The listener of one server, which takes deliveries and settles them in the polling thread."""

import collections
import logging
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from oslo_messaging._drivers import amqp, amqpdriver, base
from typing_extensions import override

from placement_worker.events.listener import Listener, Listeners
from placement_worker.events.types import MessageRedelivered
from placement_worker.messaging.late_ack import message_subject
from placement_worker.messaging.late_ack.in_flight import RequestsInFlight
from placement_worker.messaging.late_ack.listen_connection import ListenConnection
from placement_worker.messaging.late_ack.outage_log import OutageLog
from placement_worker.messaging.late_ack.request import LateAckRequest
from placement_worker.messaging.parking import RETRIED
from placement_worker.messaging.reply_sender import ReplySender

LOG = logging.getLogger(__name__)
POLL_S = 3.0
"""The longest wait of the polling thread: a quarter of the heartbeat timeout.

Operations and deliveries wake the thread.
"""
STOPPING_PAUSE_S = 0.02
"""The interval of checks for the end of requests in flight, without a connection."""
RECONNECT_PAUSE_S = 0.5
"""The pause between attempts to reconnect.

A random factor of up to two keeps workers from reconnecting at the same time.
"""
REMEMBERED = 4096
"""The number of finished requests that are recognized if their acknowledgement was lost."""
ID_MAX = 255  # characters of a unique id; those of oslo.messaging have 32


class LateAckListener(base.PollStyleListener):
    """Take the deliveries of a connection, and settle each one when its request ends.

    Only the thread that holds `in_use` of the connection may use it, except for `do`, `pause` and
    `in_flight`. Other threads may read `polled_at` and `disconnected_at`.
    """

    def __init__(
        self,
        driver: Any,
        connection: ListenConnection,
        monotonic: Callable[[], float] = time.monotonic,
        events: Listener | None = None,
        topic: str = '',
        replies: ReplySender | None = None,
        outages: OutageLog | None = None,
    ) -> None:
        super().__init__(driver.prefetch_size)
        self.driver = driver
        self.replies = replies
        self.obsolete_reply_queues = amqpdriver.ObsoleteReplyQueuesCache()
        self._events = events or Listeners()
        self._topic = topic
        self.in_flight = RequestsInFlight(monotonic, self._events, topic)
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
            about = message_subject.of_message(delivery)
            LOG.info('%sRequest %s was redelivered', about, unique_id)
            self._events.handle(MessageRedelivered(self._topic))
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
                    self._requeue_waiting()
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
        # `poll` requeues the requests that no thread has begun, and waits for the others.
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

    def acknowledge(self, request: LateAckRequest) -> None:
        """Acknowledge a request, and remember it in case the acknowledgement is lost."""
        self._finished[request.key] = None
        if len(self._finished) > REMEMBERED:
            del self._finished[next(iter(self._finished))]
        self._settle(request, request.delivery.acknowledge)

    def requeue(self, request: LateAckRequest) -> None:
        """Return a request to its queue, so that the broker delivers it again."""
        self._settle(request, request.delivery.requeue)

    def reject(self, request: LateAckRequest) -> None:
        """Drop a malformed request; the broker dead-letters it if a policy says so."""
        self._settle(request, request.delivery._raw_message.reject)

    def _settle(self, request: LateAckRequest, settle: Callable[[], None]) -> None:
        del self._unsettled[request.key]
        try:
            settle()
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
        """Wait a few seconds for a delivery or an operation, or try to reconnect."""
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

    def _requeue_waiting(self) -> None:
        """Cancel the consumers, and requeue the requests that no thread has begun."""
        self._connection.cancel_consumers()
        self._waiting.clear()
        for request in list(self._unsettled.values()):
            if request.requeue_unless_begun():
                LOG.info('Requeued request %s for another worker', request.key)


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
