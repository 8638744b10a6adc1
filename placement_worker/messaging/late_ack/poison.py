"""Poison messages: move requests that exceed their delivery limit to another queue."""

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from placement_worker.errors import RequestParked
from placement_worker.events.listener import Listener
from placement_worker.events.types import MessageMoved
from placement_worker.messaging.late_ack import message_subject
from placement_worker.messaging.late_ack.request import LateAckRequest
from placement_worker.messaging.parking import DeliveryLimit
from placement_worker.messaging.reply_sender import ReplyPending

LOG = logging.getLogger(__name__)
MOVE_RETRY_S = 300
"""The pause after a request could not be moved to another queue."""
ACKNOWLEDGED_S = 5
"""The longest wait for the acknowledgement of a request that was moved."""

Move = Callable[[Any, DeliveryLimit], None]
ReportParked = Callable[[dict[str, Any], dict[str, Any], RequestParked], None]


class PoisonMessages:
    """The delivery limit of one topic."""

    def __init__(
        self,
        topic: str,
        limit: DeliveryLimit,
        move: Move,
        events: Listener,
        move_lock: AbstractContextManager[Any] | None = None,
        report_parked: ReportParked | None = None,
    ) -> None:
        """Set the limit.

        :param move: publishes a message to the queue of a limit, with a confirmation.
        :param move_lock: a lock that the servers of a process share, held until a moved request
            is acknowledged. Without it, the process could receive the request from the isolation
            queue and crash before the acknowledgement; the request would be moved twice.
        :param report_parked: reports a parked request to its `reply_to`, from message, context and
            error.
        """
        self._topic = topic
        self._limit = limit
        self._move_message = move
        self._events = events
        self._move_lock = move_lock or threading.Lock()
        self._report_parked = report_parked

    def exceeds_limit(self, request: LateAckRequest) -> bool:
        """Return whether a request was redelivered too often."""
        return request.redeliveries > self._limit.redeliveries

    def wait_for_moves(self) -> None:
        """In the isolation queue, wait until no request of this process is being moved."""
        if self._limit.parks:
            with self._move_lock:
                pass

    def divert(self, request: LateAckRequest) -> None:
        """Move a request to the queue of the limit, and report it if that is the parking lot.

        A request that cannot be moved is requeued after a pause: the broker counts that as a
        delivery, and drops a request that exceeds the delivery limit of its queue.
        """
        message, context = request.message, request.ctxt
        LOG.warning(
            '%sRequest %s was redelivered %d times; moving it to %s',
            message_subject.of_message(message),
            request.key,
            request.redeliveries,
            self._limit.queue,
        )
        try:
            with self._move_lock:
                error = self._move(request)
        except Exception:
            LOG.exception('Failed to move request %s; retrying in %d s', request.key, MOVE_RETRY_S)
            request.listener.pause(MOVE_RETRY_S)
            request.requeue()
            return
        # Not before the acknowledgement: a request that crashes the process in the report would
        # be parked twice.
        if error and self._report_parked:
            try:
                self._report_parked(message, context, error)
            except (Exception, ReplyPending):
                LOG.exception(
                    'Failed to report to its reply_to that request %s is parked', request.key
                )

    def _move(self, request: LateAckRequest) -> RequestParked | None:
        """Move a request to another queue, and acknowledge it.

        :returns: the error for its caller, or None if the request is not parked.
        """
        self._move_message(request.delivery._raw_message, self._limit)
        self._events.handle(MessageMoved(self._topic, self._limit.parks))
        error = self._reply_parked(request) if self._limit.parks else None
        request.finish().wait(ACKNOWLEDGED_S)
        return error

    def _reply_parked(self, request: LateAckRequest) -> RequestParked:
        error = RequestParked(
            f'The request exceeded its delivery limit and is parked in {self._limit.queue}; '
            'run placement-policy parked list --config-file FILE'
        )
        try:
            request.reply(failure=(RequestParked, error, None))
        except (Exception, ReplyPending):  # requeued now, it would be parked twice
            LOG.exception('Failed to report to its caller that request %s is parked', request.key)
        return error
