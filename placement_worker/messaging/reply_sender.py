"""Send replies with confirmations, and bound how long a reply occupies a thread.

A destination that refuses a reply, or does not exist, may accept it later: a queue elects a new
leader, or a caller declares its reply queue again after a failover. If the broker is unavailable,
the request is not acknowledged, so that the broker delivers it again. Each of the two causes has a
time limit of its own. oslo.messaging 18.3 has none: it waits for a confirmation without a bound.
"""

import enum
import logging
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from amqp import Message, spec
from amqp.exceptions import ChannelError, MessageNacked, NotFound
from amqp.exceptions import ConnectionError as AMQPConnectionError
from kombu.connection import Connection
from typing_extensions import override

from placement_worker.client.transport import BLOCKED, drop
from placement_worker.contract.model import ReplyTo
from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError
from placement_worker.handlers.ports import Delivery
from placement_worker.late_ack import Redeliver, Reply
from placement_worker.late_ack.request import enveloped

LOG = logging.getLogger(__name__)
WAIT_S, WAIT_MAX_S = 0.1, 1.0  # the pause after the first attempt, which doubles, and the longest
CONFIRM_S = 30  # the longest wait for a confirmation that the broker does not block
STOP_S = 3  # the same when the process stops
WRITE_S = 5  # a frozen broker does not read
TICK_S = 1
DEFERRED_BYTES = 32 * 2**20
UNAVAILABLE = (AMQPConnectionError, OSError, BrokerUnreachable, BrokerRefused, ConfigurationError)
CONFIRMATIONS = [spec.Basic.Ack, spec.Basic.Nack]


class Outgoing(NamedTuple):
    """A reply, its name in the log, and its destination."""

    name: str
    message: Message
    exchange: str
    routing_key: str


class NotConfirmed(Exception):
    """The broker has not confirmed a message.

    `is_refused`: it is available, but no queue has the message. `is_for_good`: a retry would be
    refused too. `was_lost`: a connection was lost, possibly in an outage that is over.
    """

    def __init__(
        self,
        cause: object,
        *,
        is_refused: bool = False,
        is_for_good: bool = False,
        was_lost: bool = False,
    ) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.is_refused, self.is_for_good, self.was_lost = is_refused, is_for_good, was_lost


class Channel:
    """A channel with confirmations on a connection of its own, for one thread at a time."""

    def __init__(self, connect: Callable[..., Connection]) -> None:
        """Connect, with options of py-amqp."""
        self._is_blocked = self._is_returned = False
        self._connection = connect(
            on_blocked=lambda *_: self._block(True),
            on_unblocked=lambda *_: self._block(False),
            # py-amqp sets 1 s, which is too short for flow control.
            socket_settings={socket.TCP_USER_TIMEOUT: WRITE_S * 1000},
        )
        self._connection.connection.sock.settimeout(WRITE_S)
        self._channel = self._connection.channel()
        self._channel.events['basic_return'].add(self._on_return)

    def publish(self, reply: Outgoing, stopping: threading.Event) -> bool:
        """Publish, and return whether a queue has the message.

        :raises MessageNacked: a queue rejects it.
        :raises ChannelError: the exchange is missing or forbidden; the channel is closed.
        :raises OSError: the connection is lost, or the broker does not confirm; also py-amqp's
            ConnectionError.
        """
        self._is_returned = False
        began = time.monotonic()
        try:
            self._channel.basic_publish_confirm(
                reply.message,
                exchange=reply.exchange,
                routing_key=reply.routing_key,
                mandatory=True,
                confirm_timeout=TICK_S,
            )
        except TimeoutError:
            # A broker that blocks publishers confirms when its alarm ends: a second publication
            # would be a second reply.
            while not self._is_confirmed():
                waited_s = time.monotonic() - began
                is_silent = waited_s > CONFIRM_S and not self._is_blocked
                if is_silent or (waited_s > STOP_S and stopping.is_set()):
                    raise TimeoutError(BLOCKED if self._is_blocked else 'no confirmation') from None
        return not self._is_returned

    def close(self) -> None:
        """Close the connection without waiting for the broker."""
        drop(self._connection)

    def _is_confirmed(self) -> bool:
        try:
            self._channel.wait(CONFIRMATIONS, callback=_raise_nack, timeout=TICK_S)
        except TimeoutError:
            return False
        return True

    def _block(self, is_blocked: bool) -> None:
        if is_blocked:
            LOG.warning('The broker blocks a connection (memory or disk alarm): replies wait')
        self._is_blocked = is_blocked

    def _on_return(self, *_: Any) -> None:
        self._is_returned = True


class Verdict(enum.Enum):
    """The fate of a reply that was not confirmed."""

    RETRY = enum.auto()
    DEFER = enum.auto()
    DROP = enum.auto()
    REDELIVER = enum.auto()


class _Wait:
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
        self._pause_s = WAIT_S
        self._refused_at: float | None = None
        self._had_last_attempt = False

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first attempt began."""
        return time.monotonic() - self._began

    @property
    def deadline(self) -> float:
        """The time at which the retries of a deferred reply end."""
        return time.monotonic() + min(self._timeout_s, self._left_s - self.elapsed_s)

    def verdict(self, failure: NotConfirmed) -> Verdict:
        """Return what to do after a failure."""
        if self.elapsed_s >= self._left_s or failure.is_for_good:
            return Verdict.DROP
        if self._stopping.is_set():
            # An outage may have closed the connections of a process that stops.
            is_first, self._had_last_attempt = not self._had_last_attempt, True
            may_retry = is_first and failure.was_lost and not failure.is_refused
            return Verdict.RETRY if may_retry else Verdict.REDELIVER
        if not failure.is_refused:
            self.release()
            return Verdict.REDELIVER if self.elapsed_s >= self._away_s else Verdict.RETRY
        if self._refused_at is None:
            if not self._slots.acquire(blocking=False):
                return Verdict.DEFER
            self._refused_at = time.monotonic()
        is_over = time.monotonic() - self._refused_at >= self._timeout_s
        return Verdict.DROP if is_over else Verdict.RETRY

    def pause(self, name: str, failure: NotConfirmed) -> None:
        """Wait before the next attempt, or until the process stops."""
        if self._pause_s == WAIT_S:
            LOG.warning('Retrying %s: %s', name, failure)
        self._stopping.wait(self._pause_s)
        self._pause_s = min(2 * self._pause_s, WAIT_MAX_S)

    def release(self) -> None:
        """Release the slot of this reply, if it has one."""
        if self._refused_at is not None:
            self._refused_at = None
            self._slots.release()


class ReplySender:
    """Sends the replies of one process from many threads, with retries."""

    def __init__(
        self,
        connect: Callable[..., Connection],
        stopping: threading.Event,
        *,
        slots: int,
        timeout_s: float,
        away_s: float,
    ) -> None:
        """Set the limits of the retries; the first reply connects.

        :param connect: opens a connection with publisher confirms, from options of py-amqp.
        :param stopping: an event that is set when the process stops; it ends every wait.
        :param slots: the number of threads that may wait at a time for destinations that refuse.
            Any other reply is deferred, so that the other threads continue to serve.
        :param timeout_s: how long a destination may refuse a reply.
        :param away_s: how long a reply waits for the broker before its request is delivered again.
        """
        self._connect = connect
        self._stopping = stopping
        self._slots = threading.BoundedSemaphore(slots)
        self._timeout_s = timeout_s
        self._away_s = away_s
        self._lock = threading.Lock()
        self._idle: list[Channel] = []
        self._deferred: list[tuple[Outgoing, float]] = []
        self._retrying: threading.Thread | None = None

    def send_call_reply(self, reply: Reply) -> None:
        """Send a message of `late_ack`; one that is not the last is tried once.

        :raises Redeliver: as of `send`.
        """
        outgoing = Outgoing(reply.name, reply.message, '', reply.queue)
        if reply.is_last:
            self.send(outgoing)
        else:
            self._publish(outgoing)

    def send(self, reply: Outgoing, left_s: float = math.inf) -> None:
        """Publish or defer a reply; the log reports a dropped reply.

        :param left_s: seconds until the request expires.
        :raises Redeliver: the process stops, or the broker is unavailable for too long.
        """
        wait = _Wait(self._slots, self._stopping, self._timeout_s, self._away_s, left_s)
        try:
            while True:
                try:
                    self._publish(reply)
                    return
                except NotConfirmed as exc:
                    failure, verdict = exc, wait.verdict(exc)
                if verdict is Verdict.REDELIVER:
                    raise Redeliver(f'{reply.name}: {failure}') from failure
                if verdict is Verdict.DEFER and self._defer(reply, wait.deadline):
                    return
                if verdict is not Verdict.RETRY:
                    break
                wait.pause(reply.name, failure)
        finally:
            wait.release()
        LOG.error('Dropped %s after %.1f s: %s', reply.name, wait.elapsed_s, failure)

    def close(self) -> None:
        """Make a last attempt for deferred replies, and close the connections."""
        if self._retrying is not None:
            self._stopping.set()
            self._retrying.join()
        self._drop_idle()

    def _publish(self, reply: Outgoing) -> None:
        channel = None
        try:
            with self._lock:
                channel = self._idle.pop() if self._idle else None
            channel = channel or Channel(self._connect)
            is_routed = channel.publish(reply, self._stopping)
        except MessageNacked:
            self._close(channel)  # RabbitMQ 3.10 nacks all messages of a channel, see messaging
            raise NotConfirmed('the queue rejected the message', is_refused=True) from None
        except ChannelError as exc:
            self._close(channel)
            is_missing = isinstance(exc, NotFound)
            raise NotConfirmed(exc, is_refused=True, is_for_good=not is_missing) from exc
        except UNAVAILABLE as exc:
            self._close(channel)
            self._drop_idle()  # they are probably lost too, and each would cost an attempt
            raise NotConfirmed(exc, was_lost=not isinstance(exc, TimeoutError)) from exc
        except BaseException:  # e.g. a routing key that AMQP cannot hold
            self._close(channel)
            raise
        with self._lock:
            self._idle.append(channel)
        if not is_routed:
            raise NotConfirmed('no queue is bound', is_refused=True)

    def _close(self, channel: Channel | None) -> None:
        if channel is not None:
            channel.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for channel in idle:
            channel.close()

    def _defer(self, reply: Outgoing, deadline: float) -> bool:
        """Keep a reply for retries by one thread, and return False if there is no room.

        When a node of a cluster fails, all replies to one caller are rejected at the same time,
        possibly more of them than threads may wait. A crash loses the kept replies; each is kept
        for some seconds.
        """
        with self._lock:
            kept = sum(len(one.message.body) for one, _ in self._deferred)
            if kept + len(reply.message.body) > DEFERRED_BYTES:
                return False
            self._deferred.append((reply, deadline))
            if self._retrying is None:
                self._retrying = threading.Thread(target=self._retry, name='replies', daemon=True)
                self._retrying.start()
        return True

    def _retry(self) -> None:
        is_last_round = False
        while not is_last_round:
            is_last_round = self._stopping.wait(WAIT_MAX_S / 2)
            with self._lock:
                replies, self._deferred = self._deferred, []
            failures: dict[tuple[str, str], Exception] = {}
            for reply, deadline in replies:
                destination = reply.exchange, reply.routing_key
                try:
                    if destination not in failures:
                        self._publish(reply)
                        continue
                except Exception as exc:
                    failures[destination] = exc
                if is_last_round or time.monotonic() >= deadline:
                    LOG.error('Dropped %s: %s', reply.name, failures[destination])
                else:
                    with self._lock:
                        self._deferred.append((reply, deadline))


class ReplyCasts(Delivery):
    """The replies to casts are casts too, to the destination in `reply_to` of the request."""

    def __init__(self, replies: ReplySender) -> None:
        """Choose the sender, which retries and logs a dropped reply."""
        self._replies = replies

    @override
    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        name = f'the reply to request {request_id} (exchange {to.exchange}, topic {to.topic})'
        message = cast_message(to.method, request_id=request_id, reply=reply)
        self._replies.send(Outgoing(name, message, to.exchange, to.topic), left_s)


def cast_message(method: str, **arguments: object) -> Message:
    """Return a cast in the envelope of oslo.messaging."""
    return enveloped({'method': method, 'args': arguments})


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked
