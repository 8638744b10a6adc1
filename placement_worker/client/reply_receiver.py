"""Receive the replies to casts, and acknowledge each one after its callback.

The server of oslo.messaging acknowledges a message before it calls the endpoint, so a process that
is killed in between loses the reply.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from typing_extensions import override

from placement_worker.client.cast_reply import CastReply, decode
from placement_worker.client.reply_queue import ReplyQueue
from placement_worker.contract.model import CheckReply
from placement_worker.errors import InvalidRequest, PlacementWorkerError

LOG = logging.getLogger(__name__)
DELIVERIES = 10
"""The deliveries of a reply, after which it is dropped."""
RETRY_S, RETRY_MAX_S = 1.0, 30.0
"""The pause after the first failure of a callback, which doubles, and the longest one."""
RECONNECT_S, RECONNECT_MAX_S = 0.5, 5.0
"""The same for attempts to connect.

A random factor of up to two keeps receivers from connecting at the same time.
"""
TICK_S = 0.5
"""The period of checks for the end of the receiver, and of heartbeats."""

Callback = Callable[[str, CheckReply | PlacementWorkerError], object]


class ReplyReceiver:
    """Passes the replies of a topic to a callback, one at a time; `serve_replies` creates it.

    As a context manager it stops at the end of the block.
    """

    def __init__(
        self, open_queue: Callable[[], ReplyQueue], topic: str, callback: Callback
    ) -> None:
        """Open the queue, and start the thread that receives.

        :param open_queue: connects and consumes; its errors are raised here, and logged later.
        :param topic: the name of the replies in the log.
        """
        self._open = open_queue
        self._topic = topic
        self._callback = callback
        self._stopping = threading.Event()
        self._handled: str | None = None
        queue = self._open()
        self._thread = threading.Thread(
            target=self._run, args=(queue,), name=f'replies-{topic}', daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Wait for the callback in progress, and leave all other replies in the queue.

        In a callback, return at once; the receiver stops after that callback.
        """
        self._stopping.set()
        if not isinstance(threading.current_thread(), _Call):
            self._thread.join()

    def _run(self, queue: ReplyQueue | None) -> None:
        while queue is not None:
            try:
                while not self._stopping.is_set():
                    message = queue.receive(TICK_S)
                    if message is not None:
                        self._handle(queue, message)
                queue.close()
                return
            except Exception as exc:  # errors of py-amqp and of the socket have no common base
                LOG.warning('Lost the connection for replies on topic %s: %s', self._topic, exc)
                queue.drop()
                queue = self._reconnected()

    def _reconnected(self) -> ReplyQueue | None:
        """Connect again, and return None if the receiver stops before that succeeds."""
        pause_s = RECONNECT_S
        while not self._stopping.wait(pause_s * random.uniform(1, 2)):  # noqa: S311  # no secret
            try:
                queue = self._open()
            except Exception as exc:
                LOG.warning('Cannot receive the replies on topic %s: %s', self._topic, exc)
                pause_s = min(2 * pause_s, RECONNECT_MAX_S)
            else:
                LOG.info('Receiving the replies on topic %s again', self._topic)
                return queue
        return None

    def _handle(self, queue: ReplyQueue, message: Any) -> None:
        """Call the callback with a reply, and settle its message."""
        try:
            reply = decode(message.body)
        except InvalidRequest as exc:
            LOG.warning('Dropped a malformed reply on topic %s: %s', self._topic, exc)
            queue.reject(message)
            return
        deliveries = 1 + _delivery_count(message)
        if deliveries > DELIVERIES:
            self._drop(queue, message, reply, 'the process ended during each callback')
            return
        failure = None if self._is_handled(message, reply) else self._called(queue, reply)
        if failure is None:
            queue.acknowledge(message)
        elif deliveries == DELIVERIES:
            self._drop(queue, message, reply, failure)
        else:
            self._retry(queue, message, reply, deliveries, failure)

    def _is_handled(self, message: Any, reply: CastReply) -> bool:
        """Return whether only the acknowledgement of this reply was lost."""
        is_redelivered = bool(message.delivery_info.get('redelivered'))
        return is_redelivered and reply.unique_id is not None and reply.unique_id == self._handled

    def _called(self, queue: ReplyQueue, reply: CastReply) -> BaseException | None:
        """Call the callback in a thread, keep the connection alive, and return what it raised.

        A connection that is lost meanwhile is an error after the callback, so that no reply has two
        callbacks at a time.
        """
        call = _Call(self._callback, reply)
        call.start()
        try:
            while not call.has_ended(TICK_S):
                queue.keep_alive(0.01)
        finally:
            call.join()
            if call.failure is None:
                self._handled = reply.unique_id
        return call.failure

    def _retry(
        self,
        queue: ReplyQueue,
        message: Any,
        reply: CastReply,
        deliveries: int,
        failure: BaseException,
    ) -> None:
        """Requeue a reply after a pause, which grows with the number of its deliveries."""
        pause_s = min(RETRY_S * 2 ** (deliveries - 1), RETRY_MAX_S)
        LOG.warning(
            'The callback failed for the reply to request %r (delivery %d of %d); '
            'requeueing it in %g s',
            reply.request_id,
            deliveries,
            DELIVERIES,
            pause_s,
            exc_info=failure,
        )
        end = time.monotonic() + pause_s
        while (left_s := end - time.monotonic()) > 0 and not self._stopping.is_set():
            queue.keep_alive(min(left_s, TICK_S))
        queue.requeue(message)

    def _drop(self, queue: ReplyQueue, message: Any, reply: CastReply, cause: object) -> None:
        """Reject a reply for good; a policy of the broker may keep it as a dead letter."""
        LOG.error(
            'Dropped the reply to request %r after %d deliveries: %s',
            reply.request_id,
            DELIVERIES,
            cause,
            exc_info=cause if isinstance(cause, BaseException) else None,
        )
        queue.reject(message)


class _Call(threading.Thread):
    """One call of a callback.

    It has a thread of its own, so that a slow callback does not delay the heartbeats.
    """

    def __init__(self, callback: Callback, reply: CastReply) -> None:
        super().__init__(name='reply-callback', daemon=True)
        self._callback = callback
        self._reply = reply
        self.failure: BaseException | None = None

    @override
    def run(self) -> None:
        try:
            self._callback(self._reply.request_id, self._reply.outcome)
        except BaseException as exc:  # a SystemExit must not end the receiver
            self.failure = exc

    def has_ended(self, timeout_s: float) -> bool:
        """Wait for the end of the call, and return whether it has ended."""
        self.join(timeout_s)
        return not self.is_alive()


def _delivery_count(message: Any) -> int:
    """Return how often the broker delivered the message before."""
    count = (message.headers or {}).get('x-delivery-count', 0)
    return count if isinstance(count, int) else 0
