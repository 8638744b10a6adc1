"""Replies that are retried in the background, after their requests were acknowledged.

When a node of a RabbitMQ cluster fails, the queues that it led reject messages until another node
leads them. All replies to one caller are then rejected at the same time, possibly more of them than
threads may wait.
"""

import logging
import math
import threading
import time
from dataclasses import dataclass

from amqp import Message

from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused

LOG = logging.getLogger(__name__)
RETRY_S = 0.5
"""The time between two rounds of attempts."""
BYTES_MAX = 32 * 2**20
"""The limit on the total size of the kept replies."""


@dataclass(frozen=True, slots=True)
class DeferredReply:
    """A reply, its destination, and the time at which its retries end (monotonic clock)."""

    name: str
    message: Message
    exchange: str
    routing_key: str
    deadline: float

    @property
    def size(self) -> int:
        """The size of the body in bytes."""
        return len(self.message.body)


class DeferredReplies:
    """Retries replies from one thread, so that they occupy no thread that serves requests.

    A crash of the process loses the kept replies; each is kept for some seconds.
    """

    def __init__(self, publisher: ConfirmedPublisher) -> None:
        """Prepare; the thread starts with the first reply."""
        self._publisher = publisher
        self._lock = threading.Lock()
        self._kept: list[DeferredReply] = []
        self._bytes = 0
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, reply: DeferredReply) -> bool:
        """Keep a reply for retries, and return False if there is no room."""
        with self._lock:
            if self._closing.is_set() or self._bytes + reply.size > BYTES_MAX:
                return False
            self._kept.append(reply)
            self._bytes += reply.size
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='replies', daemon=True)
                self._thread.start()
        return True

    def close(self) -> None:
        """Make a last attempt to send the kept replies, and log those that are lost."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(RETRY_S):
            self._retry(time.monotonic())
        self._retry(math.inf)

    def _retry(self, now: float) -> None:
        """Try to send the kept replies; skip a destination after its first refusal."""
        with self._lock:
            replies, self._kept = self._kept, []
        attempt = _Round(self._publisher)
        unsent = []
        for reply in replies:
            try:
                cause = attempt.send(reply)
            except Exception:  # the thread must live on for the other replies
                LOG.exception('Dropped %s', reply.name)
                continue
            if cause is not None and now >= reply.deadline:
                LOG.error('Dropped %s: %s', reply.name, cause)
            elif cause is not None:
                unsent.append(reply)
        with self._lock:
            self._kept = unsent + self._kept
            self._bytes = sum(reply.size for reply in self._kept)


class _Round:
    """One round of attempts, with the causes of the failures so far.

    A round replaces lost connections once: the last round has no other one after it.
    """

    def __init__(self, publisher: ConfirmedPublisher) -> None:
        self._publisher = publisher
        self._refusals: dict[tuple[str, str], str] = {}
        self._unavailable: str | None = None
        self._has_reconnected = False

    def send(self, reply: DeferredReply) -> str | None:
        """Send a reply; return the cause if it was not sent."""
        destination = (reply.exchange, reply.routing_key)
        cause = self._unavailable or self._refusals.get(destination)
        if cause is not None:
            return cause
        try:
            self._publisher.publish(reply.message, reply.exchange, reply.routing_key)
        except DestinationRefused as exc:
            self._refusals[destination] = str(exc)
            return str(exc)
        except BrokerUnavailable as exc:
            if exc.was_lost and not self._has_reconnected:
                self._has_reconnected = True
                return self.send(reply)
            self._unavailable = str(exc)
            return str(exc)
        return None
