"""Poison messages: move requests that exceed their delivery limit to another queue."""

import functools
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from placement_worker.late_ack.parking import DeliveryLimit
from placement_worker.late_ack.request import Event, LateAckRequest, Redeliver

LOG = logging.getLogger(__name__)
MOVE_RETRY_S = 300  # the pause after a request could not be moved to another queue
ACKNOWLEDGED_S = 5  # the longest wait for the acknowledgement of a request that was moved


class PoisonMessages:
    def __init__(
        self,
        limit: DeliveryLimit,
        move: Callable[[Any, DeliveryLimit], None],
        parked_error: Callable[[str], Exception],
        move_lock: AbstractContextManager[Any] | None = None,
        report_parked: Callable[[dict[str, Any], dict[str, Any], Exception], None] | None = None,
    ) -> None:
        """Set the limit.

        :param move_lock: a lock that the servers of a process share, held until a moved request
            is acknowledged. Without it, the process could receive the request from the isolation
            queue and crash before the acknowledgement; the request would be moved twice.
        :param report_parked: reports a parked cast, from message, context and error.
        """
        self._limit = limit
        self._move = move
        self._parked_error = parked_error
        self._move_lock = move_lock or threading.Lock()
        self._report_parked = report_parked

    def exceeds_limit(self, request: LateAckRequest) -> bool:
        return request.redeliveries > self._limit.redeliveries

    def wait_for_moves(self) -> None:
        if self._limit.parks:
            with self._move_lock:
                pass

    def divert(self, request: LateAckRequest) -> None:
        """Move a request to the queue of the limit, and report it if that is the parking lot.

        A request that cannot be moved returns to its queue after a pause. The broker counts that as
        a delivery, and drops a request that exceeds the delivery limit of its queue.
        """
        message, context, hooks = request.message, request.ctxt, request.listener.hooks
        LOG.warning(
            '%sRequest %s was redelivered %d times; moving it to %s',
            hooks.describe(message),
            request.key,
            request.redeliveries,
            self._limit.queue,
        )
        error = self._parked_error(self._limit.queue)
        try:
            with self._move_lock:
                self._move(request.delivery._raw_message, self._limit)
                event = Event.PARKED if self._limit.parks else Event.ISOLATED
                hooks.on_event(event, request.listener.in_flight.topic)
                if self._limit.parks:
                    report = functools.partial(request.reply, failure=(type(error), error, None))
                    _report('its caller', request, report)
                request.finish().wait(ACKNOWLEDGED_S)
        except Exception:
            LOG.exception('Failed to move request %s; retrying in %d s', request.key, MOVE_RETRY_S)
            request.listener.pause(MOVE_RETRY_S)
            request.give_back(counted=True)
            return
        # Not before the acknowledgement: a request that crashes the process in the report would
        # be parked twice.
        if self._limit.parks and self._report_parked:
            report = functools.partial(self._report_parked, message, context, error)
            _report('its reply_to', request, report)


def _report(receiver: str, request: LateAckRequest, report: Callable[[], object]) -> None:
    try:
        report()
    except (Exception, Redeliver):  # returned to its queue now, the request would be parked twice
        LOG.exception('Failed to report to %s that request %s is parked', receiver, request.key)
