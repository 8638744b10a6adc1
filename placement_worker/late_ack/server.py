"""The RPC server that acknowledges after the reply, and the wait for the broker's confirmations."""

import contextlib
import functools
import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from amqp import Message, spec
from amqp.exceptions import MessageNacked
from oslo_messaging._drivers import base, impl_rabbit
from oslo_messaging._drivers import common as driver_common
from oslo_messaging.rpc import server as rpc_server
from typing_extensions import override

from placement_worker.late_ack.listener import LateAckListener, ListenConnection
from placement_worker.late_ack.poison import PoisonMessages
from placement_worker.late_ack.request import REPLY_QUEUES, Hooks, LateAckRequest, Redeliver, Reply

LOG = logging.getLogger(__name__)
# Prefixes of generated names: oslo.messaging's reply queues, queues that the broker names, and
# direct reply-to. A refusal must not go to a queue of workers or of notifications.
CALLER_QUEUE_PREFIXES = (REPLY_QUEUES, 'amq.gen-', 'amq.rabbitmq.reply-to.')
NO_ENVELOPE = (
    'Expected an envelope of oslo.messaging with _msg_id and _reply_q, got the AMQP property '
    'reply_to without them'
)
CONFIRM_S = 8  # the longest wait for a confirmation; most elections of leaders take 6 to 7 s
TICK_S = 1  # shorter than the interval of heartbeats
NOT_CONFIRMED = 'no confirmation'
CONFIRMATIONS = [spec.Basic.Ack, spec.Basic.Nack]


class Reject(BaseException):
    """Raise it in a dispatcher to drop a request; a dead-letter policy of RabbitMQ may keep it."""


class LateAckServer(rpc_server.RPCServer):
    """Acknowledge after the reply on RabbitMQ; with other drivers, act as the stock server."""

    def __init__(
        self,
        transport: Any,
        target: Any,
        dispatcher: Any,
        executor: str | None = None,
        *,
        poison: PoisonMessages | None = None,
        has_own_queue: bool = True,
        **hooks: Any,
    ) -> None:
        """Pass `functools.partial(LateAckServer, ...)` to `get_rpc_server` as `server_cls`.

        :param poison: moves requests that crash processes; None to redeliver them without a limit.
        :param has_own_queue: whether the server also consumes `<topic>.<server>`.
        :param hooks: `send_reply`, `on_event` and `describe`, as of `request.Hooks`.
        """
        super().__init__(transport, target, dispatcher, executor)
        self._poison = poison
        self._has_own_queue = has_own_queue
        self._hooks = Hooks(**hooks)

    @override
    def _create_listener(self) -> Any:
        driver, target = driver_of(self.transport), self._target
        if not isinstance(driver, impl_rabbit.RabbitDriver):
            LOG.warning(
                'The %s acknowledges requests BEFORE they are handled: a worker that crashes '
                'loses its requests in flight. Use rabbit:// in production',
                type(driver).__name__,
            )
            return super()._create_listener()
        connection = ListenConnection(driver._get_connection(driver_common.PURPOSE_LISTEN))
        listener = LateAckListener(driver, connection, target.topic, self._hooks)
        suffixes = ('', f'.{target.server}') if self._has_own_queue else ('',)
        for suffix in suffixes:
            connection.add_consumer(driver._get_exchange(target), target.topic + suffix, listener)
        return base.PollStyleListenerAdapter(listener, batch_size=1, batch_timeout=None)

    @override
    def _process_incoming(self, incoming: list[Any]) -> None:
        # Runs in a thread of the pool.
        (request,) = incoming
        # Set the thread's log context; otherwise a refusal would log the ids of an earlier request.
        self.dispatcher.serializer.deserialize_context(request.ctxt)
        if not isinstance(request, LateAckRequest):
            super()._process_incoming(incoming)
            return
        handle = self._handle
        crash_record: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if request.properties.get('reply_to') and not request.orig_msg_id:
            handle = self._refuse_without_envelope
        elif self._poison and self._poison.exceeds_limit(request):
            handle = self._poison.divert
        elif self._poison:
            crash_record = self._poison.handling(request)
        with crash_record:
            if request.begin():  # False: the request was given back at a stop
                handle(request)

    def _handle(self, request: LateAckRequest) -> None:
        settle: Callable[[], object] = request.finish
        try:
            self._run_endpoint(request)
        except Redeliver as exc:
            LOG.warning('Request %s returns to its queue: %s', request.key, exc)
            settle = functools.partial(request.give_back, counted=exc.counted)
        except Reject:
            settle = request.reject
        finally:
            settle()

    def _run_endpoint(self, request: LateAckRequest) -> None:
        # The stock server replies to an `Exception` itself. Without a reply, the caller of an
        # endpoint that raised SystemExit would wait until its timeout.
        try:
            super()._process_incoming([request])
        except (Redeliver, Reject):
            raise
        except BaseException:
            LOG.exception('Request %s ended its handler; its caller gets the error', request.key)
            request.reply(failure=sys.exc_info())

    def _refuse_without_envelope(self, request: LateAckRequest) -> None:
        # oslo.messaging would handle it as a cast, and the sender would wait for a reply.
        queue = request.properties['reply_to']
        LOG.warning('Refused a message for a reply to queue %.80r: %s', queue, NO_ENVELOPE)
        error = json.dumps({'error': {'type': 'InvalidRequest', 'message': NO_ENVELOPE}})
        try:
            if self._hooks.send_reply and queue.startswith(CALLER_QUEUE_PREFIXES):
                about = {'correlation_id': request.properties.get('correlation_id')}
                message = Message(error, content_type='application/json', priority=0, **about)
                self._hooks.send_reply(Reply('a refusal', queue, message, is_last=False))
        except (Exception, Redeliver) as exc:
            LOG.warning('Failed to report the refusal to queue %.80r: %s', queue, exc)
        finally:
            request.reject()


def driver_of(transport: Any) -> Any:
    return transport._driver


class _BoundedConnection(impl_rabbit.Connection):
    """Limit the wait for a confirmation, unless the broker blocks publishers."""

    _is_blocked = False

    @override
    def _set_current_channel(self, new_channel: Any) -> None:
        is_new = new_channel is not None and new_channel != self.channel
        super()._set_current_channel(new_channel)
        if is_new:
            self._is_blocked = False  # the earlier connection may have been blocked
            publish = functools.partial(publish_confirmed, new_channel, self._limit_wait)
            new_channel.basic_publish = publish

    def _limit_wait(self, waited_s: float) -> None:
        if waited_s > CONFIRM_S and not self._is_blocked:
            self.connection.collect()  # an orderly close would wait for the same broker
            raise TimeoutError(NOT_CONFIRMED)

    @override
    def _on_connection_blocked(self, reason: str) -> None:
        self._is_blocked = True
        super()._on_connection_blocked(reason)

    @override
    def _on_connection_unblocked(self) -> None:
        self._is_blocked = False
        super()._on_connection_unblocked()


def limit_confirmation_wait(transport: Any) -> None:
    driver_of(transport)._connection_pool.connection_cls = _BoundedConnection


def publish_confirmed(
    channel: Any, limit_wait: Callable[[float], object], *arguments: Any, **options: Any
) -> None:
    """Publish a message, and wait for its confirmation until `limit_wait` raises an error.

    Heartbeats go on while a queue has no leader, and each one starts the time limit of py-amqp
    again.

    :param limit_wait: gets the seconds of the wait, about once in `TICK_S`.
    """
    began = time.monotonic()
    try:
        channel.basic_publish_confirm(*arguments, **{**options, 'confirm_timeout': TICK_S})
    except TimeoutError:
        while not _wait_for_confirmation(channel):
            limit_wait(time.monotonic() - began)


def _wait_for_confirmation(channel: Any) -> bool:
    """:returns: whether the message was confirmed within `TICK_S`."""
    try:
        channel.wait(CONFIRMATIONS, callback=_raise_nack, timeout=TICK_S)
    except TimeoutError:
        return False
    return True


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked


def heartbeat(server: Any) -> tuple[float, float | None, float | None] | None:
    """Return the last poll, the start of the oldest request in flight, and the loss of the broker.

    None before the server listens. The times are monotonic. The stock server counts as connected,
    just polled, and idle.
    """
    if server.listener is None:
        return None
    listener = listener_of(server)
    if listener is None:
        return time.monotonic(), None, None
    return listener.polled_at, listener.in_flight.oldest(), listener.disconnected_at


def listener_of(server: Any) -> LateAckListener | None:
    """Return the listener of a server; None for a stock server, or before a server listens."""
    listener = getattr(server.listener, '_poll_style_listener', None)
    return listener if isinstance(listener, LateAckListener) else None
