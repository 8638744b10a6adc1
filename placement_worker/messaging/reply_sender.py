"""Send replies with confirmations, and bound how long a reply occupies a thread.

A reply that the broker does not take has one of two causes, each with a time limit of its own. If
the broker is unavailable, the thread waits, and then the broker delivers the request again. A
destination that refuses a reply, or does not exist, may accept it later: a queue elects a new
leader, or a caller declares its reply queue again after a failover. One thread retries these, so
that callers that are gone hold up no other request; a process that crashes loses such replies.
"""

import logging
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from amqp import Message
from amqp.exceptions import ChannelError, MessageNacked, NotFound, PreconditionFailed
from amqp.exceptions import ConnectionError as AMQPConnectionError
from kombu.connection import Connection
from typing_extensions import override

from placement_worker.client.transport import BLOCKED, drop
from placement_worker.contract.model import ReplyTo
from placement_worker.errors import (
    BrokerRefused,
    BrokerUnreachable,
    ConfigurationError,
    ReplyTooLarge,
)
from placement_worker.handlers.decision_state import Delivery
from placement_worker.late_ack.request import Redeliver, Reply, enveloped
from placement_worker.late_ack.server import CONFIRM_S, NOT_CONFIRMED, publish_confirmed

LOG = logging.getLogger(__name__)
WAIT_S, WAIT_MAX_S = 0.1, 1.0  # the pause after the first attempt, which doubles, and the longest
ROUND_S = 0.5  # between attempts for destinations that refuse
STOP_S = 3  # the longest wait for a confirmation when the process stops
WRITE_S = 5  # a frozen broker does not read
REFUSED_BYTES = 32 * 2**20  # of replies that wait for destinations that refuse
UNAVAILABLE = (AMQPConnectionError, OSError, BrokerUnreachable, BrokerRefused, ConfigurationError)


class Refused(Exception):
    """No queue has the message at present."""


class ReplySender(Delivery):
    def __init__(
        self,
        connect: Callable[..., Connection],
        stopping: threading.Event,
        *,
        timeout_s: float,
        away_s: float,
    ) -> None:
        """Set the limits of the retries; the first reply connects.

        :param connect: opens a connection with publisher confirms, from options of py-amqp.
        :param stopping: ends every wait when the process stops.
        :param timeout_s: how long a destination may refuse a reply.
        :param away_s: how long a reply waits for the broker before its request is delivered again.
        """
        self._connect = connect
        self._stopping = stopping
        self._timeout_s = timeout_s
        self._away_s = away_s
        self._lock = threading.Lock()
        self._idle: list[_Channel] = []
        self._refused: list[_Waiting] = []
        self._retrying: threading.Thread | None = None

    def send(self, reply: Reply, left_s: float = math.inf) -> None:
        """Publish a reply, or retry it in the background; the log reports a dropped reply.

        A reply that is not the last is tried once, and its failure raised.

        :param left_s: seconds until the request expires.
        :raises ReplyTooLarge: it exceeds the limit of the broker; the caller must get the error.
        :raises Redeliver: the process stops, or the broker is unavailable for too long.
        """
        waiting = _Waiting(reply)
        pause_s, had_last_attempt = WAIT_S, False
        while True:
            try:
                self._publish(reply)
                return
            except (Refused, ChannelError, *UNAVAILABLE) as exc:
                waiting.failure = failure = exc
            if not reply.is_last:
                raise failure
            now = time.monotonic()
            passed_s = now - waiting.began
            if isinstance(failure, ChannelError) or passed_s >= left_s:
                waiting.log_dropped()
                return
            is_away = not isinstance(failure, Refused)
            if self._stopping.is_set():
                # An outage may have closed the connections of a process that stops.
                if had_last_attempt or not is_away or isinstance(failure, TimeoutError):
                    raise Redeliver(waiting) from failure
                had_last_attempt = True
                continue
            if pause_s == WAIT_S:
                LOG.warning('Retrying %s', waiting)
            if not is_away:
                waiting.refused_at, waiting.expires_at = now, waiting.began + left_s
                self._retry_later(waiting)
                return
            if passed_s >= self._away_s:
                raise Redeliver(waiting) from failure
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, WAIT_MAX_S)

    @override
    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        name = f'the reply to request {request_id} (exchange {to.exchange}, topic {to.topic})'
        message = cast_message(to.method, request_id=request_id, reply=reply)
        self.send(Reply(name, to.topic, message, exchange=to.exchange), left_s)

    def close(self) -> None:
        """Make a last attempt for replies that were refused, and close the connections."""
        if self._retrying is not None:
            self._stopping.set()
            self._retrying.join()
            self._retry_refused()
        self._drop_idle()

    def _publish(self, reply: Reply) -> None:
        channel = None
        try:
            with self._lock:
                channel = self._idle.pop() if self._idle else None
            channel = channel or _Channel(self._connect)
            is_routed = channel.publish(reply, self._stopping)
        except BaseException as exc:  # e.g. a routing key that AMQP cannot hold
            if channel is not None:
                # RabbitMQ 3.10 nacks all messages of a channel that is older than a queue's leader.
                channel.close()
            if isinstance(exc, UNAVAILABLE):
                self._drop_idle()  # they are probably lost too, and each would cost an attempt
            if isinstance(exc, MessageNacked | NotFound):
                text = str(exc) or 'the queue rejected the message'
                raise Refused(text) from exc
            if isinstance(exc, PreconditionFailed):  # a publication meets no other one
                raise ReplyTooLarge(f'The broker refused the reply: {exc.reply_text}') from exc
            raise
        with self._lock:
            self._idle.append(channel)
        if not is_routed:
            raise Refused('no queue is bound')

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for channel in idle:
            channel.close()

    def _retry_later(self, waiting: '_Waiting') -> None:
        with self._lock:
            size = sum(len(other.reply.message.body) for other in [waiting, *self._refused])
            if size > REFUSED_BYTES:
                waiting.failure = Refused(f'{waiting.failure}; too many replies wait to be retried')
                waiting.log_dropped()
                return
            self._refused.append(waiting)
            if self._retrying is None:
                self._retrying = threading.Thread(target=self._retry, name='replies', daemon=True)
                self._retrying.start()

    def _retry(self) -> None:
        while not self._stopping.wait(ROUND_S):
            self._retry_refused()

    def _retry_refused(self) -> None:
        with self._lock:
            replies = list(self._refused)
        refused_again = []
        failures: dict[tuple[str, str], Exception] = {}  # one attempt per destination
        for waiting in replies:
            destination = waiting.reply.exchange, waiting.reply.routing_key
            try:
                if destination not in failures:
                    self._publish(waiting.reply)
                    continue
            except Exception as exc:
                failures[destination] = exc
            waiting.failure = failure = failures[destination]
            is_away = isinstance(failure, UNAVAILABLE)
            limit_s = self._away_s if is_away else self._timeout_s
            end = min(waiting.refused_at + limit_s, waiting.expires_at)
            is_lasting = isinstance(failure, ChannelError)
            if is_lasting or time.monotonic() >= end or self._stopping.is_set():
                waiting.log_dropped()
            else:
                refused_again.append(waiting)
        with self._lock:  # others append meanwhile
            self._refused[: len(replies)] = refused_again


class _Waiting:
    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.began = self.refused_at = time.monotonic()
        self.expires_at = math.inf
        self.failure: Exception | None = None

    def __str__(self) -> str:
        return f'{self.reply.name}: {self._cause}'

    @property
    def _cause(self) -> str:
        return str(self.failure) or type(self.failure).__name__

    def log_dropped(self) -> None:
        took_s = time.monotonic() - self.began
        LOG.error('Dropped %s after %.1f s: %s', self.reply.name, took_s, self._cause)


def cast_message(method: str, **arguments: object) -> Message:
    return enveloped({'method': method, 'args': arguments})


class _Channel:
    """A channel with confirmations on a connection of its own, for one thread at a time."""

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self._is_blocked = self._is_returned = False
        self._connection = connect(
            on_blocked=self._on_blocked,
            on_unblocked=lambda *_: setattr(self, '_is_blocked', False),
            # py-amqp sets 1 s, which is too short for flow control.
            socket_settings={socket.TCP_USER_TIMEOUT: WRITE_S * 1000},
        )
        self._connection.connection.sock.settimeout(WRITE_S)
        self._channel = self._connection.channel()
        self._channel.events['basic_return'].add(lambda *_: setattr(self, '_is_returned', True))

    def publish(self, reply: Reply, stopping: threading.Event) -> bool:
        self._is_returned = False

        def limit_wait(waited_s: float) -> None:
            # A broker that blocks publishers confirms when its alarm ends: a second publication
            # would be a second reply.
            is_silent = waited_s > CONFIRM_S and not self._is_blocked
            if is_silent or (waited_s > STOP_S and stopping.is_set()):
                raise TimeoutError(BLOCKED if self._is_blocked else NOT_CONFIRMED)

        publish_confirmed(
            self._channel,
            limit_wait,
            reply.message,
            exchange=reply.exchange,
            routing_key=reply.routing_key,
            mandatory=True,
        )
        return not self._is_returned

    def close(self) -> None:
        drop(self._connection)

    def _on_blocked(self, *_: Any) -> None:
        LOG.warning('The broker blocks a connection (memory or disk alarm): replies wait')
        self._is_blocked = True
