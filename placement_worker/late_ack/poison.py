"""Divert poison messages: count the deaths of processes, and move requests above the limit."""

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from placement_worker.late_ack.parking import DeathLimit
from placement_worker.late_ack.request import LateAckRequest, MessageState, Redeliver

LOG = logging.getLogger(__name__)
MOVE_RETRY_S = 300  # the pause after a request could not be moved to another queue
ACKNOWLEDGED_S = 5  # the longest wait for the acknowledgement of a request that was moved
REDELIVERIES = 50  # the limit of requests that crash the parent too, which erases the counts


@dataclass(frozen=True)
class PoisonMessages:
    """Moves the requests of a server that exceed its limit.

    `crashes`: a table with `deaths(request)` and `handling(request, isolated=...)`, where a request
    is an integer. Its lock `moving` is held until a moved request is acknowledged; otherwise, a
    process could receive the request from the isolation queue and crash before that, and the
    request would be moved twice. `report_parked`: takes message, context and error of a cast.
    """

    limit: DeathLimit
    move: Callable[[Any, DeathLimit], str | None]
    parked_error: Callable[[str], Exception]
    crashes: Any
    report_parked: Callable[[dict[str, Any], dict[str, Any], Exception], None] | None = None

    def exceeds_limit(self, request: LateAckRequest) -> bool:
        if not request.is_redelivered:  # it was in flight at no death
            return False
        deaths = self.crashes.deaths(_identity(request))
        return bool(request.redeliveries > REDELIVERIES or deaths >= self.limit.deaths)

    @contextlib.contextmanager
    def handling(self, request: LateAckRequest) -> Iterator[None]:
        """Wait for a turn, and record a request while it is handled."""
        with self.crashes.handling(_identity(request), isolated=self.limit.parks):
            with self.crashes.moving if self.limit.parks else contextlib.nullcontext():
                pass  # a request that is being moved is acknowledged now
            yield

    def divert(self, request: LateAckRequest) -> None:
        """Move a request to the queue of the limit, and report it if that is the parking lot.

        A request that cannot be moved returns to its queue after a pause. The broker counts that as
        a delivery, and drops a request that exceeds the delivery limit of its queue.
        """
        message, context, hooks = request.message, request.ctxt, request.listener.hooks
        LOG.warning(
            '%sRequest %s was redelivered %d times, and in flight at %d deaths of processes; '
            'moving it to %s',
            hooks.describe(message),
            request.key,
            request.redeliveries,
            self.crashes.deaths(_identity(request)),
            self.limit.queue,
        )
        error = self.parked_error(self.limit.queue)
        try:
            with self.crashes.moving:
                parked_id = self.move(request.delivery._raw_message, self.limit)
                state: MessageState = 'PARKED' if self.limit.parks else 'ISOLATED'
                hooks.on_event(state, request.listener.in_flight.topic)
                if self.limit.parks:
                    LOG.warning('Request %s is parked with the ID %s', request.key, parked_id)
                    report = functools.partial(request.reply, failure=(type(error), error, None))
                    _report('its caller', request, report)
                request.finish().wait(ACKNOWLEDGED_S)
        except Exception:
            LOG.exception('Failed to move request %s; retrying in %d s', request.key, MOVE_RETRY_S)
            request.listener.pause(MOVE_RETRY_S)
            request.give_back(counted=True)
            return
        # Report after the acknowledgement: a crash in the report would park the request twice.
        if self.limit.parks and self.report_parked:
            report = functools.partial(self.report_parked, message, context, error)
            _report('its reply_to', request, report)


def _identity(request: LateAckRequest) -> int:
    # Processes must share the seed of `hash`: they are forked, never spawned.
    key = request.key if isinstance(request.key, str) else request.delivery._raw_message.body
    return hash((request.listener.in_flight.topic, key))


def _report(receiver: str, request: LateAckRequest, report: Callable[[], object]) -> None:
    try:
        report()
    except (Exception, Redeliver):  # a redelivery now would park the request twice
        LOG.exception('Failed to report to %s that request %s is parked', receiver, request.key)
