"""A request that is acknowledged or requeued when it ends."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from oslo_messaging._drivers import amqp, amqpdriver
from oslo_messaging._drivers import common as driver_common
from typing_extensions import override

from placement_worker.client.amqp_messages import amqp_message
from placement_worker.messaging.late_ack.in_flight import RequestsInFlight
from placement_worker.messaging.reply_sender import ReplySender

LOG = logging.getLogger(__name__)
REPLY_QUEUES = 'reply_'
"""The prefix that oslo.messaging gives to the name of each reply queue."""


class Settler(Protocol):
    """The listener of a request, which settles it on its connection."""

    replies: ReplySender | None
    in_flight: RequestsInFlight
    obsolete_reply_queues: Any

    def do(self, operation: Callable[[], None]) -> None:
        """Run an operation when no other thread uses the connection."""

    def pause(self, seconds: float) -> None:
        """Wait, or return early when the listener stops."""

    def acknowledge(self, request: 'LateAckRequest') -> None:
        """Acknowledge a request; call this by `do`."""

    def requeue(self, request: 'LateAckRequest') -> None:
        """Return a request to its queue; call this by `do`."""

    def reject(self, request: 'LateAckRequest') -> None:
        """Drop a malformed request; call this by `do`."""


class LateAckRequest(amqpdriver.AMQPIncomingMessage):
    """A request that waits, is in flight, or was requeued.

    `delivery` is the last delivery of the message, which is the one to settle.
    """

    def __init__(self, listener: Settler, delivery: Any, key: object, context: Any) -> None:
        super().__init__(
            listener,
            context.to_dict(),
            delivery,
            key,
            context.msg_id,
            context.reply_q,
            context.client_timeout,
            listener.obsolete_reply_queues,
            listener,
        )
        self.delivery = delivery
        self.key = key
        self.redeliveries = _delivery_count(delivery)
        self._lock = threading.Lock()
        self._is_waiting = True

    @override
    def acknowledge(self) -> None:
        # The stock server calls this before it handles the request; `finish` acknowledges.
        pass

    @override
    def reply(self, reply: Any = None, failure: Any = None) -> None:
        # ReplyPending: the reply could not be sent, but a retry may succeed.
        if self.listener.replies is None:
            super().reply(reply, failure)
        elif self._has_reply_queue():
            message = self._reply_message(reply, failure, ending=True)
            name = (
                f'the reply to call {self.msg_id!r} '
                f'(default exchange, reply queue {self.reply_q!r})'
            )
            self.listener.replies.send(name, message, '', self.reply_q)
        elif self.orig_msg_id:  # `msg_id` of a cast is generated
            LOG.warning(
                'Dropped the reply to call %r: expected a reply queue named %s..., got %.80r',
                self.msg_id,
                REPLY_QUEUES,
                self.reply_q,
            )

    @override
    def heartbeat(self) -> None:
        # The dispatcher logs the errors of a heartbeat and continues.
        if self.listener.replies is None:
            super().heartbeat()
        elif self._has_reply_queue():
            self.listener.replies.try_once(
                self._reply_message(None, None, ending=False), '', self.reply_q
            )

    def begin(self) -> bool:
        """Put the request in flight, and return False if it was requeued before."""
        has_begun = self._stop_waiting()
        if has_begun:
            self.listener.in_flight.add(self)
        return has_begun

    def requeue_unless_begun(self) -> bool:
        """Requeue a waiting request, and return whether it was waiting.

        Only the polling thread may call this, or another one by `do`.
        """
        was_waiting = self._stop_waiting()
        if was_waiting:
            self.listener.requeue(self)
        return was_waiting

    def finish(self) -> threading.Event:
        """Have the listener acknowledge the request, after its reply was sent.

        :returns: an event that is set after the acknowledgement.
        """
        self.listener.in_flight.remove(self)
        is_done = threading.Event()

        def settle() -> None:
            self.listener.acknowledge(self)
            is_done.set()

        self.listener.do(settle)
        return is_done

    def requeue(self) -> None:
        """Have the listener requeue the request, so that the broker delivers it again."""
        self.listener.in_flight.remove(self)
        self.listener.do(lambda: self.listener.requeue(self))

    def reject(self) -> None:
        """Have the listener drop the request, as the driver drops malformed messages."""
        self.listener.in_flight.remove(self)
        self.listener.do(lambda: self.listener.reject(self))

    def release_message(self) -> None:
        """Drop the references to the message, which may be large.

        Idle threads of the pool keep their last request until the next one.
        """
        self.delivery = None
        self.message: dict[str, Any] = {}

    def _stop_waiting(self) -> bool:
        with self._lock:
            was_waiting, self._is_waiting = self._is_waiting, False
        return was_waiting

    def _has_reply_queue(self) -> bool:
        """Return whether a caller waits at a reply queue; replies go to no other queue."""
        return (
            bool(self.orig_msg_id)
            and isinstance(self.reply_q, str)
            and self.reply_q.startswith(REPLY_QUEUES)
        )

    def _reply_message(self, reply: Any, failure: Any, *, ending: bool) -> Any:
        serialized = driver_common.serialize_remote_exception(failure) if failure else None
        message = {'result': reply, 'failure': serialized, 'ending': ending, '_msg_id': self.msg_id}
        amqp._add_unique_id(message)
        return amqp_message(driver_common.serialize_msg(message))


def _delivery_count(delivery: Any) -> int:
    """Return how often the broker delivered the request before, without an acknowledgement."""
    count = delivery._raw_message.headers.get('x-delivery-count', 0)
    return count if isinstance(count, int) else 0
