"""A request that is acknowledged, or returned to its queue, when it ends."""

import logging
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from amqp import Message, spec
from oslo_messaging._drivers import amqp, amqpdriver
from oslo_messaging._drivers import common as driver_common
from oslo_serialization import jsonutils
from typing_extensions import override

from placement_worker.late_ack.parking import delivery_count

LOG = logging.getLogger(__name__)
REPLY_QUEUES = 'reply_'  # the prefix that oslo.messaging gives to the name of each reply queue
SHOWN = 80  # the characters of a name that the log shows
# A thread began a request; it ended, and is about to be settled; the broker delivered it again; it
# moved to the isolation queue, or from there to the parking lot.
MessageState = Literal['TAKEN', 'SETTLED', 'REDELIVERED', 'ISOLATED', 'PARKED']


class Redeliver(BaseException):
    """Raise it in a method or in `send_reply` to have the broker deliver the request again.

    This is not an `Exception`, since nothing in between must turn it into an error reply.
    """

    def __init__(self, cause: object, *, counted: bool = False) -> None:
        """`counted`: whether the delivery counts towards the broker's delivery limit."""
        super().__init__(cause)
        self.counted = counted


@dataclass(frozen=True, slots=True)
class Reply:
    """A message to publish; `name` names it in the log.

    `is_last`: False for a heartbeat of the monitor of calls, or for an error that the caller may
    miss.
    """

    name: str
    routing_key: str
    message: Message
    exchange: str = ''
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions that a project adds to its servers.

    `send_reply`: publishes a reply to a call, with a confirmation; it may raise `Redeliver`, and
    the caller gets any other error instead of the reply. None lets the driver send replies, without
    a bound. `on_event`: takes a state and the topic, in the thread of the request. `describe`:
    returns the beginning of a line of the log that says what a message is about.
    """

    send_reply: Callable[[Reply], object] | None = None
    on_event: Callable[[MessageState, str], object] = lambda *_: None
    describe: Callable[[Mapping[str, Any]], str] = lambda _: ''


class RequestsInFlight:
    def __init__(self, monotonic: Callable[[], float], hooks: Hooks, topic: str) -> None:
        self._monotonic = monotonic
        self._hooks = hooks
        self.topic = topic
        # In the order of their starts. It has no lock, since a handler of a signal reads it: each
        # access is one step of the interpreter.
        self._begun: dict[object, tuple[float, LateAckRequest]] = {}

    def add(self, request: 'LateAckRequest') -> None:
        self._begun[request.key] = self._monotonic(), request
        self._hooks.on_event('TAKEN', self.topic)

    def remove(self, request: 'LateAckRequest') -> None:
        self._begun.pop(request.key, None)
        self._hooks.on_event('SETTLED', self.topic)

    def oldest(self) -> float | None:
        return next((at for at, _ in list(self._begun.values())), None)

    def log_longer_than(self, seconds: float) -> None:
        for at, request in list(self._begun.values()):
            if not request.is_logged and self._monotonic() - at > seconds:
                request.is_logged = True
                LOG.warning('%s', self._described(at, request))

    def described(self) -> list[str]:
        return [self._described(*begun) for begun in list(self._begun.values())]

    def _described(self, at: float, request: 'LateAckRequest') -> str:
        method, request_id = (
            repr(value[:SHOWN])[1:-1] if isinstance(value, str) else 'unknown'
            for value in (request.message.get('method'), request.ctxt.get('request_id'))
        )
        return (
            f'{self._hooks.describe(request.message)}{method} has been in flight for '
            f'{self._monotonic() - at:.0f} s (request {request_id}, topic {self.topic})'
        )


class LateAckRequest(amqpdriver.AMQPIncomingMessage):
    """A request; `delivery` is the last one of its message, which the `listener` settles."""

    def __init__(self, listener: Any, delivery: Any, key: object, context: Any) -> None:
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
        self.properties: dict[str, str] = delivery._raw_message.properties
        self.is_redelivered = bool(delivery._raw_message.delivery_info.get('redelivered'))
        self.redeliveries = delivery_count(delivery._raw_message)
        self.is_logged = False
        self._claim = threading.Lock()  # acquired once, by a thread that begins it or at a stop

    @override
    def acknowledge(self) -> None:
        # The stock server calls this before it handles the request; `finish` acknowledges.
        pass

    @override
    def reply(self, reply: Any = None, failure: Any = None) -> None:
        if self.listener.hooks.send_reply is None:
            super().reply(reply, failure)
        elif self._has_reply_queue():
            queue = self.reply_q
            name = f'the reply to call {self.msg_id!r} (default exchange, reply queue {queue!r})'
            try:
                self._send(name, reply, failure, is_last=True)
            except Exception:  # the caller must not wait for a reply that cannot be sent
                self._send(name, None, sys.exc_info(), is_last=True)
        elif self.orig_msg_id:  # `msg_id` of a cast is generated
            wrong = 'Dropped the reply to call %r: expected a reply queue named %s..., got %.80r'
            LOG.warning(wrong, self.msg_id, REPLY_QUEUES, self.reply_q)

    @override
    def heartbeat(self) -> None:
        # The dispatcher ends the heartbeats at an error. It would send those of a call with an
        # unknown method without an end.
        if self.delivery is None:
            raise RuntimeError('The call has ended')
        if self.listener.hooks.send_reply is None:
            super().heartbeat()
        elif self._has_reply_queue():
            self._send('a heartbeat', None, None, is_last=False)

    def begin(self) -> bool:
        """Put the request in flight, and return False if it was given back before."""
        has_begun = self._claim.acquire(blocking=False)
        if has_begun:
            self.listener.in_flight.add(self)
        return has_begun

    def give_back_unless_begun(self) -> bool:
        """Give back a waiting request, in the polling thread; return whether it was waiting."""
        was_waiting = self._claim.acquire(blocking=False)
        if was_waiting:
            self.listener.settle(self, nack, is_done=False)
        return was_waiting

    def finish(self) -> threading.Event:
        """Acknowledge the request; the event is set after the acknowledgement."""
        return self._end(lambda delivery: delivery.acknowledge(), is_done=True)

    def give_back(self, *, counted: bool = False) -> None:
        self._end((lambda delivery: delivery.requeue()) if counted else nack)

    def reject(self) -> None:
        """Drop the request; the broker dead-letters it if a policy says so."""
        self._end(lambda delivery: delivery._raw_message.reject())

    def release_message(self) -> None:
        """Drop what may be large: idle threads keep their last request until the next one."""
        self.delivery = None
        self.message: dict[str, Any] = {}
        self.ctxt: dict[str, Any] = {}

    def _end(self, how: Callable[[Any], object], *, is_done: bool = False) -> threading.Event:
        self.listener.in_flight.remove(self)
        is_settled = threading.Event()

        def settle() -> None:
            self.listener.settle(self, how, is_done=is_done)
            is_settled.set()

        self.listener.do(settle)
        return is_settled

    def _has_reply_queue(self) -> bool:
        # A caller must not choose another queue.
        return (
            bool(self.orig_msg_id)
            and isinstance(self.reply_q, str)
            and self.reply_q.startswith(REPLY_QUEUES)
        )

    def _send(self, name: str, reply: Any, failure: Any, *, is_last: bool) -> None:
        serialized = driver_common.serialize_remote_exception(failure) if failure else None
        about = {'result': reply, 'failure': serialized, 'ending': is_last, '_msg_id': self.msg_id}
        sent = Reply(name, self.reply_q, enveloped(about), is_last=is_last)
        self.listener.hooks.send_reply(sent)


def nack(delivery: Any) -> None:
    """Nack, for which py-amqp has no method: RabbitMQ 4.3 counts a reject towards its limit."""
    raw = delivery._raw_message
    raw.channel.send_method(spec.Basic.Nack, 'Lbb', (raw.delivery_tag, False, True))


def enveloped(message: dict[str, Any]) -> Message:
    """Return a message in the envelope of oslo.messaging, with a unique id against duplicates."""
    amqp._add_unique_id(message)
    return Message(
        jsonutils.dump_as_bytes(driver_common.serialize_msg(message)),
        content_type='application/json',
        content_encoding='utf-8',
        delivery_mode=2,
        priority=0,
    )
