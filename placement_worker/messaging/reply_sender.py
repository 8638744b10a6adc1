"""Send replies with retries, and bound how long a reply occupies a thread.

A destination that refuses a reply, or does not exist, may accept it later: a slow engine makes
room, or a caller declares its reply queue again after a failover. If the broker is unavailable, the
request is not acknowledged, so that the broker delivers it again. Each of the two causes therefore
has a time limit of its own.
"""

import logging
import math
import threading
import time
import uuid

import tenacity
from amqp import Message
from tenacity.stop import stop_base
from tenacity.wait import wait_exponential

from placement_worker.client.amqp_messages import enveloped_message
from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.client.retries import retried
from placement_worker.messaging.deferred_replies import DeferredReplies, DeferredReply

LOG = logging.getLogger(__name__)
WAIT_S, WAIT_MAX_S = 0.1, 1.0
NOT_CONFIRMED = (DestinationRefused, BrokerUnavailable)


class ReplyPending(BaseException):
    """A reply could not be sent, but a retry may succeed: its request must not be acknowledged.

    This is not an `Exception`, since nothing between the attempt to reply and the server must turn
    it into an error reply.
    """


class ReplySender:
    """Sends the replies of one process, with retries."""

    def __init__(
        self,
        publisher: ConfirmedPublisher,
        stopping: threading.Event,
        *,
        slots: int,
        timeout_s: float,
        away_s: float,
    ) -> None:
        """Set the limits of the retries.

        :param stopping: an event that is set when the process stops; it ends every wait.
        :param slots: the number of threads that may wait at a time for destinations that refuse.
            Any other reply is deferred, so that the other threads continue to serve.
        :param timeout_s: how long a destination may refuse a reply.
        :param away_s: how long a reply waits for the broker before its request is requeued.
        """
        self._publisher = publisher
        self._stopping = stopping
        self._slots = threading.BoundedSemaphore(slots)
        self._timeout_s = timeout_s
        self._away_s = away_s
        self._deferred = DeferredReplies(publisher)

    def send(
        self, name: str, message: Message, exchange: str, routing_key: str, left_s: float = math.inf
    ) -> None:
        """Publish or defer a reply; the log reports a dropped reply.

        :param name: the name of the reply in the log.
        :param left_s: seconds until the request expires.
        :raises ReplyPending: the process stops, or the broker is unavailable for too long.
        """
        condition = _StopCondition(
            self._slots, self._stopping, self._timeout_s, self._away_s, left_s
        )
        try:
            retried(
                lambda: self._publisher.publish(message, exchange, routing_key),
                NOT_CONFIRMED,
                lambda: self._attempts(name, condition),
            )
        except NOT_CONFIRMED as exc:
            if self._may_redeliver(exc, condition):
                raise ReplyPending(f'{name}: {exc}') from exc
            deadline = time.monotonic() + min(self._timeout_s, left_s - condition.elapsed_s)
            reply = DeferredReply(name, message, exchange, routing_key, deadline)
            if not (condition.has_no_slot and self._deferred.keep(reply)):
                LOG.error('Dropped %s after %.1f s: %s', name, condition.elapsed_s, exc)
        finally:
            condition.release()

    def _attempts(self, name: str, condition: '_StopCondition') -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(NOT_CONFIRMED),
            wait=wait_exponential(WAIT_S, WAIT_MAX_S, min=WAIT_S),
            stop=condition,
            sleep=tenacity.sleep_using_event(self._stopping),
            before_sleep=lambda state: _log_first(name, state),
            reraise=True,
        )

    def _may_redeliver(self, exc: Exception, condition: '_StopCondition') -> bool:
        """Return whether the request goes back to the broker, so that a redelivery replies."""
        return not condition.is_expired and (
            self._stopping.is_set() or isinstance(exc, BrokerUnavailable)
        )

    def try_once(self, message: Message, exchange: str, routing_key: str) -> None:
        """Publish a message that may be lost, such as a heartbeat.

        :raises DestinationRefused: no queue accepted the message.
        :raises BrokerUnavailable: the broker did not confirm the message.
        """
        self._publisher.publish(message, exchange, routing_key)

    def close(self) -> None:
        """Make a last attempt for deferred replies, and close the connections."""
        self._deferred.close()
        self._publisher.close()


class _StopCondition(stop_base):
    """The condition that ends the retries of one reply."""

    def __init__(
        self,
        slots: threading.BoundedSemaphore,
        stopping: threading.Event,
        timeout_s: float,
        away_s: float,
        left_s: float,
    ) -> None:
        self._slots, self._stopping = slots, stopping
        self._timeout_s, self._away_s, self._left_s = timeout_s, away_s, left_s
        self._began = time.monotonic()
        self._refused_at: float | None = None
        self.has_no_slot = self._had_last_attempt = False

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first attempt began."""
        return time.monotonic() - self._began

    @property
    def is_expired(self) -> bool:
        """Whether the request has expired."""
        return self.elapsed_s >= self._left_s

    def __call__(self, state: tenacity.RetryCallState) -> bool:
        exc = state.outcome.exception() if state.outcome else None
        if self.is_expired:
            return True
        if self._stopping.is_set():
            return not self._may_retry(exc)
        if isinstance(exc, DestinationRefused):
            return exc.for_good or self._has_refused_for_too_long()
        self.release()
        return self.elapsed_s >= self._away_s

    def _may_retry(self, exc: BaseException | None) -> bool:
        """Return whether a process that stops replaces a connection that an outage closed."""
        is_first, self._had_last_attempt = not self._had_last_attempt, True
        return is_first and isinstance(exc, BrokerUnavailable) and exc.was_lost

    def release(self) -> None:
        """Release the slot of this reply, if it has one."""
        if self._refused_at is not None:
            self._refused_at = None
            self._slots.release()

    def _has_refused_for_too_long(self) -> bool:
        if self._refused_at is None:
            if not self._slots.acquire(blocking=False):
                self.has_no_slot = True
                return True
            self._refused_at = time.monotonic()
        return time.monotonic() - self._refused_at >= self._timeout_s


def cast_message(method: str, **arguments: object) -> Message:
    """Return a cast in oslo.messaging's wire format 2.0.

    Receivers recognize a duplicate by its unique id.
    """
    cast = {'method': method, 'args': arguments, '_unique_id': uuid.uuid4().hex}
    return enveloped_message(cast)


def _log_first(name: str, state: tenacity.RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome:
        LOG.warning('Retrying %s: %s', name, state.outcome.exception())
