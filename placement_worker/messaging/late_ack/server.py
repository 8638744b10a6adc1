"""The RPC server that acknowledges after the reply, and its heartbeat."""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from oslo_messaging._drivers import base, impl_rabbit
from oslo_messaging._drivers import common as driver_common
from oslo_messaging.rpc import server as rpc_server
from typing_extensions import override

from placement_worker.events.listener import Listener, Listeners
from placement_worker.health.heartbeats import Heartbeat
from placement_worker.messaging.late_ack import plain_requests
from placement_worker.messaging.late_ack.in_flight import RequestsInFlight
from placement_worker.messaging.late_ack.listen_connection import ListenConnection
from placement_worker.messaging.late_ack.outage_log import OutageLog
from placement_worker.messaging.late_ack.poison import PoisonMessages
from placement_worker.messaging.late_ack.poll_listener import LateAckListener
from placement_worker.messaging.late_ack.request import LateAckRequest
from placement_worker.messaging.reply_sender import ReplyPending, ReplySender

LOG = logging.getLogger(__name__)


class LateAckServer(rpc_server.RPCServer):
    """Acknowledge after the reply on RabbitMQ; with other drivers, act as the stock server."""

    def __init__(
        self,
        transport: Any,
        target: Any,
        dispatcher: Any,
        executor: str | None = None,
        events: Listener | None = None,
        poison: PoisonMessages | None = None,
        replies: ReplySender | None = None,
        outages: OutageLog | None = None,
    ) -> None:
        """Create the server; pass a `functools.partial` to `get_rpc_server` as `server_cls`.

        :param events: the listener for the events of messages.
        :param poison: moves requests that were delivered too often; None for no limit.
        :param replies: sends the replies to calls; None to let the driver send them, without a
            bound.
        :param outages: logs lost connections; the servers of a process share it.
        """
        super().__init__(transport, target, dispatcher, executor)
        self._events = events or Listeners()
        self._poison = poison
        self._replies = replies
        self._outages = outages

    @override
    def _create_listener(self) -> Any:
        driver = self.transport._driver
        if not isinstance(driver, impl_rabbit.RabbitDriver):
            LOG.warning(
                'The %s acknowledges requests BEFORE they are handled: a worker that crashes '
                'loses its requests in flight. Use rabbit:// in production',
                type(driver).__name__,
            )
            return super()._create_listener()
        connection = ListenConnection(driver._get_connection(driver_common.PURPOSE_LISTEN))
        listener = LateAckListener(
            driver,
            connection,
            events=self._events,
            topic=self._target.topic,
            replies=self._replies,
            outages=self._outages,
        )
        for topic in (self._target.topic, f'{self._target.topic}.{self._target.server}'):
            connection.add_consumer(driver._get_exchange(self._target), topic, listener)
        return base.PollStyleListenerAdapter(listener, batch_size=1, batch_timeout=None)

    @override
    def _process_incoming(self, incoming: list[Any]) -> None:
        # Runs in a thread of the pool.
        (request,) = incoming
        # oslo.log finds the ids of the request in the thread. oslo.messaging 18.3 sets them when it
        # calls the method: without a method, the log would name an earlier request.
        self.dispatcher.serializer.deserialize_context(request.ctxt)
        if not isinstance(request, LateAckRequest):
            super()._process_incoming(incoming)
        elif not request.begin():
            return
        elif plain_requests.expects_plain_reply(request):
            plain_requests.refuse(request, self._replies)
        elif self._poison and self._poison.exceeds_limit(request):
            self._poison.divert(request)
        else:
            if self._poison:
                self._poison.wait_for_moves()
            self._handle(request)

    def _handle(self, request: LateAckRequest) -> None:
        """Handle a request, and acknowledge or requeue it whatever happens."""
        settle: Callable[[], object] = request.finish
        try:
            self._dispatch(request)
        except ReplyPending as exc:
            LOG.warning(
                'Requeued request %s, since its reply could not be sent: %s', request.key, exc
            )
            settle = request.requeue
        finally:
            settle()

    def _dispatch(self, request: LateAckRequest) -> None:
        """Call the method of a request, and reply.

        :raises ReplyPending: the reply could not be sent, but a retry may succeed.
        """
        try:
            if not self._has_method(request.message):
                # The dispatcher would send heartbeats for an unknown method without an end.
                request.client_timeout = None
            super()._process_incoming([request])
        except ReplyPending:
            raise
        # A SystemExit of an endpoint, for example, would be redelivered and end the next worker.
        except BaseException:
            LOG.exception('Request %s ended its handler; its caller gets the error', request.key)
            request.reply(failure=sys.exc_info())

    def _has_method(self, message: dict[str, Any]) -> bool:
        """Return whether the dispatcher will find the method of a message without an error."""
        dispatcher, method = self.dispatcher, message.get('method')
        if not isinstance(method, str):
            return False
        try:
            return any(
                dispatcher._is_namespace(target, message.get('namespace'))
                and dispatcher._is_compatible(target, message.get('version', '1.0'))
                and dispatcher.access_policy.is_allowed(endpoint, method)
                for endpoint in dispatcher.endpoints
                for target in [getattr(endpoint, 'target', None) or dispatcher._default_target]
            )
        except Exception:  # a malformed version; the dispatcher reports it to the caller
            return False


def heartbeat(server: Any) -> Heartbeat | None:
    """Return the heartbeat of an RPC server, or None before it listens.

    The stock server has none: it counts as connected, just polled, and idle.
    """
    if server.listener is None:
        return None
    listener = _listener(server)
    if listener is None:
        return Heartbeat(time.monotonic(), None, None)
    return Heartbeat(listener.polled_at, listener.in_flight.oldest(), listener.disconnected_at)


def requests_in_flight(server: Any) -> RequestsInFlight | None:
    """Return the requests in flight of an RPC server; None before it listens, or if it is stock."""
    listener = _listener(server)
    return listener and listener.in_flight


def _listener(server: Any) -> LateAckListener | None:
    listener = getattr(server.listener, '_poll_style_listener', None)
    return listener if isinstance(listener, LateAckListener) else None
