"""The RPC client of running workers, for engines."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import oslo_messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport
from typing_extensions import override

from placement_worker import errors
from placement_worker.client.client_arguments import check_timeout, check_version_cap
from placement_worker.client.transport import load_transport_url
from placement_worker.contract import codec
from placement_worker.contract.caller import (
    SENT_CONTEXT,
    Caller,
    Context,
    R,
    check_callback,
    checked_context,
    expiring,
)
from placement_worker.contract.model import CheckReply, CheckRequest, ReplyTo
from placement_worker.contract.rpc import (
    EXCHANGE,
    SLOW_TOPIC,
    TOPIC,
    is_slow,
    version_of,
)

if TYPE_CHECKING:
    from placement_worker.client.reply_receiver import ReplyReceiver

RETRIES = 2
"""The number of further attempts to publish a request while the broker is unavailable."""
TIMEOUT_S, SLOW_TIMEOUT_S = 60.0, 600.0


@dataclass(frozen=True, slots=True)
class Route:
    """The queue of a request, and the timeout of its reply."""

    topic: str
    timeout_s: float
    server: str | None

    @property
    def queue(self) -> str:
        """The name of the queue."""
        return self.topic if self.server is None else f'{self.topic}.{self.server}'


class PolicyClient(Caller):
    """Call running workers.

    The client has a transport of its own and does not change the configuration of the process.
    A call sends the end of its timeout as `expires_at`, unless the request has one: that of the
    request wins, and does not change how long the call waits.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        conf: cfg.ConfigOpts = cfg.CONF,
        exchange: str = EXCHANGE,
        topic: str = TOPIC,
        slow_topic: str = SLOW_TOPIC,
        server: str | None = None,
        timeout_s: float = TIMEOUT_S,
        slow_timeout_s: float = SLOW_TIMEOUT_S,
        version_cap: str | None = None,
    ) -> None:
        """Prepare the transport; the first call connects to the broker.

        :param url: `rabbit://user:password@host:port/vhost`; None for `transport_url` of the
            configuration.
        :param server: the `[worker] host` of the only worker to call; None for any worker.
        :param timeout_s: how long a call waits for its reply, in seconds.
        :param slow_timeout_s: the same for a request that may wait for a load balancer.
        :param version_cap: the highest version of the contract that the workers understand; a
            request that needs a higher one raises oslo.messaging's RPCVersionCapError.
        :raises ConfigurationError: the URL, a timeout or the version cannot be used.
        """
        check_timeout('timeout_s', timeout_s)
        check_timeout('slow_timeout_s', slow_timeout_s)
        check_version_cap(version_cap)
        self._conf = conf
        self._exchange = exchange
        self._routes = {
            False: Route(topic, timeout_s, server),
            True: Route(slow_topic, slow_timeout_s, server),
        }
        self._url = load_transport_url(conf, url)
        self._transport = _transport(conf, self._url, timeout_s)
        self._is_closed = False
        self._client = oslo_messaging.get_rpc_client(
            self._transport,
            oslo_messaging.Target(exchange=exchange, server=server),
            retry=RETRIES,
            version_cap=version_cap,
        )

    def cast_check(
        self,
        request: CheckRequest | Mapping[str, Any],
        reply_to: ReplyTo | Mapping[str, str] | None = None,
        context: Context | None = None,
    ) -> str:
        """Request a check without waiting; the worker casts the reply to `reply_to`.

        The cast calls `method(request_id, reply)` there. After an error `reply` is
        `{"error": {"type", "message"}}`.

        The timeouts of the client apply to calls only. Set `expires_at` of the request: a cast
        without it never expires.

        Four mistakes are found here, before the request is sent: a value whose type does not fit
        the contract, a missing key, a misspelt key, and a `reply_to` that workers refuse in
        general. All others, for example in the spec of a policy, are the reply.

        :param request: the check; its own `reply_to` is replaced.
        :param reply_to: exchange, topic and method of the reply; None for no reply. The method is
            free to choose: `serve_replies` receives every method of its topic.
        :param context: the ids of the caller; `request_id` returns with the reply.
        :returns: the `request_id` of the context, or a new one if the context has none.
        :raises InvalidRequest: the request or `reply_to` has one of the mistakes above, or the
            context is invalid.
        :raises ClientClosed: the client is closed.
        :raises NoWorkerAnswered: no worker has ever run on this broker.
        :raises BrokerUnreachable: no host responds, or the broker did not confirm the request.
        :raises BrokerRefused: the broker refuses access.
        :raises ConfigurationError: an option of the transport cannot be used.
        """
        to = None if reply_to is None else codec.decode(reply_to, ReplyTo, at='$.reply_to')
        if to is not None:
            self._check_reply_names(to.exchange, to.topic, '$.reply_to')
        prepared = msgspec.structs.replace(super()._prepared(request, CheckRequest), reply_to=to)
        ids = checked_context(context)
        request_id = ids.get('request_id') or _new_request_id()
        self._check_open()
        self._publish('cast', 'policy_check', prepared, {**ids, 'request_id': request_id})
        return request_id

    def serve_replies(
        self,
        exchange: str,
        topic: str,
        callback: Callable[[str, CheckReply | errors.PlacementWorkerError], object],
    ) -> 'ReplyReceiver':
        """Pass the replies to casts to a callback, in a thread, until the receiver is stopped.

        Declare the exchange and the queue, so that replies can wait there. A message is
        acknowledged after `callback(request_id, reply)` returns. If the callback raises, the reply
        is delivered again, after pauses and at most ten times. A reply may be delivered twice, with
        the same `request_id`.

        :param exchange: the exchange that `ReplyTo` names; not that of the workers.
        :param topic: the topic that `ReplyTo` names, which is also the name of the queue.
        :param callback: takes the request id of the cast, and the reply or the error.
        :returns: a context manager that stops the receiver; `stop` does the same.
        :raises InvalidRequest: workers refuse to reply to that exchange or topic, or the callback
            cannot be called.
        :raises QueueMismatch: the exchange or the queue exists with other options.
        :raises BrokerRefused: the broker refuses access, or a permission is missing.
        :raises BrokerUnreachable: no host responds.
        """
        # Engines that do not cast need not load the receiver.
        from placement_worker.client import reply_queue  # noqa: PLC0415
        from placement_worker.client.connection import heartbeat_connector  # noqa: PLC0415
        from placement_worker.client.reply_receiver import ReplyReceiver  # noqa: PLC0415

        check_callback(callback)
        self._check_reply_names(exchange, topic, '$')
        connect = heartbeat_connector(self._conf, self._url)
        return ReplyReceiver(
            lambda: reply_queue.ReplyQueue(connect, exchange, topic), topic, callback
        )

    def close(self) -> None:
        """Close the connections of calls and casts; receivers of replies have their own.

        Calls and casts raise ClientClosed from now on.
        """
        self._is_closed = True
        self._transport.cleanup()

    def _check_reply_names(self, exchange: str, topic: str, at: str) -> None:
        """Check the names of a place for replies.

        :raises InvalidRequest: a name is malformed, or workers refuse to reply there.
        """
        from placement_worker.client import reply_queue  # noqa: PLC0415  # as in serve_replies

        topics = [route.topic for route in self._routes.values()]
        reply_queue.check_names(exchange, topic, self._exchange, topics, at)

    @override
    def _prepared(self, request: R | Mapping[str, Any], kind: type[R]) -> R:
        prepared = super()._prepared(request, kind)
        return expiring(prepared, self._route(prepared).timeout_s)

    @override
    def _send(self, method: str, request: object, context: Context) -> str:
        self._check_open()
        # Without an id of the caller, the worker would give a new one to each delivery.
        request_id = context.get('request_id') or _new_request_id()
        try:
            return self._call_worker(method, request, {**context, 'request_id': request_id})
        except errors.PlacementWorkerError as exc:
            exc.add_note(f'request id: {request_id}')
            raise

    def _call_worker(self, method: str, request: object, context: Context) -> str:
        try:
            reply: str = self._publish('call', method, request, context)
        except oslo_messaging.MessagingException as exc:
            # Engines whose calls succeed need not load the module.
            from placement_worker.client import call_errors  # noqa: PLC0415

            route, version = self._route(request), version_of(method, request)
            call_errors.raise_for(exc, method, version, route.queue, route.timeout_s)
        return reply

    def _publish(self, kind: str, method: str, request: object, context: Context) -> Any:
        """Publish a request as a `call` or a `cast`.

        :raises NoWorkerAnswered: the queue does not exist.
        :raises BrokerUnreachable: the broker did not confirm the request, or blocks publishers.
        :raises BrokerRefused: the broker refuses access.
        :raises ClientClosed: another thread has closed the client meanwhile.
        """
        route = self._route(request)
        ids = {key: context[key] for key in SENT_CONTEXT if key in context}
        encoded = msgspec.json.encode(request).decode()
        prepared = self._client.prepare(
            topic=route.topic,
            timeout=route.timeout_s,
            version=version_of(method, request),
        )
        return getattr(prepared, kind)(ids, method, request=encoded)

    def _route(self, request: object) -> Route:
        return self._routes[is_slow(request)]

    def _check_open(self) -> None:
        """Check that the client is open.

        :raises ClientClosed: it is closed.
        """
        if self._is_closed:
            raise errors.ClientClosed('The client is closed: create another one')


def _transport(conf: cfg.ConfigOpts, target: Any, timeout_s: float) -> RPCTransport:
    """Return a transport whose connections are those of this package.

    :raises ConfigurationError: the URL is one of another driver.
    """
    if not target.transport.startswith('rabbit'):
        raise errors.ConfigurationError(
            f'Expected a transport URL rabbit://..., got {target.transport}://'
        )
    # Importing the client takes less time without the driver, which a client needs.
    from placement_worker.client.rpc_driver import RpcDriver  # noqa: PLC0415

    return RPCTransport(RpcDriver(conf, target, timeout_s))


def _new_request_id() -> str:
    return f'req-{uuid.uuid4()}'
