"""The RPC client of running workers, for engines.

It is the stock RPC client of oslo.messaging on a transport of its own, with three additions. The
timeout of a call covers connecting and publishing, which oslo.messaging 18.3 does not count. A
request that was not confirmed is published again on a fresh connection: RabbitMQ 3.10 nacks each
message of a channel that was opened before a queue elected its new leader. And each failure is an
error of `placement_worker.errors` that says whether the broker or the workers did not respond.
"""

import contextvars
import functools
import logging
import os
import queue
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import oslo_messaging
import tenacity
from amqp.exceptions import AccessRefused, NotAllowed, NotFound, PreconditionFailed
from oslo_config import cfg
from typing_extensions import override

from placement_worker import errors
from placement_worker.client import transport
from placement_worker.client.transport import NOT_PUBLISHED, TOO_LARGE, amqp_cause
from placement_worker.contract import caller, rpc
from placement_worker.contract.caller import Callback, Context, R, Receiver
from placement_worker.contract.model import CheckRequest

TIMEOUT_S, SLOW_TIMEOUT_S = 60.0, 600.0
MAX_TIMEOUT_S = 10**9  # the time at which a request expires must be a date
PAUSE_S, PAUSE_MAX_S, LAST_S = 0.1, 1.0, 0.3  # between attempts, and of the last attempt
RETRIES = 2  # of the stock client, on the next hosts
LEFT_MAX = 16  # stock calls that were left behind at their timeout and have not ended
CLOSE_S, RENEW_S = 2.0, 60.0
LOG = logging.getLogger(__name__)
CLOSED = 'The client is closed: create another one'
NOT_DELIVERED = 'The request could not be delivered'
REFUSALS = (AccessRefused, NotAllowed)
REMOTE = '_Remote'  # the end of the name of a built-in exception that a worker raised
_VERSION = re.compile(r'[0-9]{1,9}\.[0-9]{1,9}')


class _Route(NamedTuple):
    topic: str
    queue: str
    timeout_s: float


class PolicyClient(caller.CastingCaller):
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
        exchange: str = rpc.EXCHANGE,
        topic: str = rpc.TOPIC,
        slow_topic: str = rpc.SLOW_TOPIC,
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
        _check_options({'timeout_s': timeout_s, 'slow_timeout_s': slow_timeout_s}, version_cap)
        self._conf = conf
        self._exchange = exchange
        self._topics = (topic, slow_topic)
        self._server = server
        suffix = f'.{server}' if server else ''
        self._routes = {
            False: _Route(topic, topic + suffix, timeout_s),
            True: _Route(slow_topic, slow_topic + suffix, slow_timeout_s),
        }
        self._url = transport.load_transport_url(conf, url)
        if not self._url.transport.startswith('rabbit'):
            raise errors.ConfigurationError(
                f'Expected a transport URL rabbit://..., got {self._url.transport}://'
            )
        target = oslo_messaging.Target(exchange=exchange, server=server)
        self._create_stock = functools.partial(
            _StockClients, threading.Event(), conf, self._url, target, version_cap
        )
        self._stock_of: dict[int, _StockClients] = {}

    def close(self) -> None:
        """Close the connections, except those of receivers; calls now raise ClientClosed."""
        self._stock.close()

    @property
    def _stock(self) -> '_StockClients':
        # Connections and locks belong to one process: after a fork, the child has its own. Those of
        # the parent stay referenced, since their end would close the connections of the parent.
        pid = os.getpid()
        return self._stock_of.get(pid) or self._stock_of.setdefault(pid, self._create_stock())

    @override
    def _prepared(self, request: R | Mapping[str, Any], kind: type[R]) -> R:
        prepared = super()._prepared(request, kind)
        return caller.expiring(prepared, self._routes[rpc.is_slow(prepared)].timeout_s)

    @override
    def _send(self, method: str, request: object, context: Context) -> str:
        # Without an id of the caller, the worker would give a new one to each delivery.
        request_id = context.get('request_id') or f'req-{uuid.uuid4()}'
        try:
            return str(self._publish('call', method, request, context, request_id))
        except errors.PlacementWorkerError as exc:
            exc.add_note(f'request id: {request_id}')
            raise

    @override
    def _cast(self, request: CheckRequest, context: Context, request_id: str) -> None:
        self._publish('cast', rpc.POLICY_CHECK.name, request, context, request_id)

    @override
    def _receiver(self, exchange: str, topic: str, callback: Callback) -> Receiver:
        # Engines that do not cast need not load the receiver.
        from placement_worker.client.reply_receiver import ReplyReceiver  # noqa: PLC0415

        return ReplyReceiver(self._conf, transport.shuffled(self._url), exchange, topic, callback)

    def _publish(
        self, kind: str, method: str, request: object, context: Context, request_id: str
    ) -> Any:
        route = self._routes[rpc.is_slow(request)]
        version = rpc.version_of(method, request)
        ids = {key: context[key] for key in caller.SENT_CONTEXT if key in context}
        ids['request_id'] = request_id
        encoded = msgspec.json.encode(request).decode()

        def publish(client: Any, left_s: float) -> Any:
            prepared = client.prepare(topic=route.topic, timeout=left_s, version=version)
            try:
                return getattr(prepared, kind)(ids, method, request=encoded)
            except oslo_messaging.MessageUndeliverable:
                self._bind(route.queue, left_s)
                raise

        try:
            return self._stock.send(publish, route.timeout_s)
        except Exception as exc:
            failure = self._translated(exc, route, method, version)
            if failure is exc:
                raise
            raise failure from exc

    def _bind(self, queue_name: str, left_s: float) -> None:
        """Bind a queue that lost its binding, e.g. with a deleted exchange.

        The broker notifies no worker of that. The permissions of the manual forbid it to engines.
        """
        with transport.open_connection(self._conf, self._url, left_s=left_s) as connection:
            channel = connection.channel()
            try:
                channel.queue_declare(queue_name, passive=True)
                transport.declare_bound(channel, self._conf, self._url, self._exchange, queue_name)
                LOG.warning(
                    'Queue %s was not bound to exchange %s: bound it', queue_name, self._exchange
                )
            except NotFound as exc:
                worker = f'worker with [worker] host = {self._server}' if self._server else 'worker'
                raise errors.NoWorkerAnswered(
                    f'There is no queue for topic {queue_name}: no {worker} has served this topic '
                    f'of exchange {self._exchange}; start one, or correct the topic or the exchange'
                ) from exc
            except AccessRefused as exc:
                raise errors.NoWorkerAnswered(
                    f'Queue {queue_name} exists, but is not bound to exchange {self._exchange}: '
                    'start a worker again, which binds it or says why it cannot, or correct the '
                    'exchange'
                ) from exc

    def _translated(self, exc: Exception, route: _Route, method: str, version: str) -> Exception:
        if remote := _remote(exc):
            return _worker_error(*remote, method, version)
        if isinstance(exc, oslo_messaging.MessagingTimeout):
            if cause := transport.obstacle(self._conf, self._url, self._exchange):
                return errors.BrokerUnreachable(f'{NOT_DELIVERED}: {cause}')
            return errors.NoWorkerAnswered(
                f'No worker replied on topic {route.queue} within {route.timeout_s:g} s: '
                'no worker runs, or all threads are occupied'
            )
        if isinstance(exc, NOT_PUBLISHED):
            if conflict := amqp_cause(exc, (PreconditionFailed,)):
                text = f'The broker refused the request: {conflict}'
                return (errors.InvalidRequest if TOO_LARGE in text else errors.QueueMismatch)(text)
            refusal = amqp_cause(exc, REFUSALS)
            kind = errors.BrokerRefused if refusal else errors.BrokerUnreachable
            return kind(f'{NOT_DELIVERED}: {refusal or exc}')
        return exc


def _remote(exc: BaseException) -> tuple[str, str] | None:
    if isinstance(exc, oslo_messaging.RemoteError):
        return exc.exc_type, exc.value
    name = type(exc).__name__
    text = ', '.join(map(str, exc.args))
    return (name.removesuffix(REMOTE), text) if name.endswith(REMOTE) else None


def _worker_error(name: str, text: str, method: str, version: str) -> errors.PlacementWorkerError:
    if name == oslo_messaging.UnsupportedVersion.__name__:
        feature = 'protection of nodes' if method == rpc.POLICY_CHECK.name else method
        return errors.WorkerTooOld(
            f'This worker knows no {feature} (contract {version}): upgrade it, and all other '
            'workers of its topic'
        )
    if hasattr(errors, name):
        return errors.received(name, text)
    return errors.WorkerFailed(f'{method} failed in the worker: {name}: {text}')


def _is_transient(exc: BaseException) -> bool:
    is_lasting = amqp_cause(exc, (*REFUSALS, PreconditionFailed)) or _remote(exc)
    is_unpublished = isinstance(exc, NOT_PUBLISHED) and not is_lasting
    return is_unpublished or isinstance(exc, errors.BrokerUnreachable)


class _StockClient:
    """A client on a transport of its own; once it is retired, its last call closes it."""

    def __init__(
        self, conf: cfg.ConfigOpts, url: Any, target: Any, version_cap: str | None
    ) -> None:
        self.users = 1
        self.is_retired = self._is_closed = False
        self.created_at = time.monotonic()
        # Engines that do not call need not load it.
        from placement_worker.late_ack.server import limit_confirmation_wait  # noqa: PLC0415

        self._transport = oslo_messaging.get_rpc_transport(conf, url=transport.shuffled(url))
        limit_confirmation_wait(self._transport)
        self.client = oslo_messaging.get_rpc_client(
            self._transport,
            target,
            retry=RETRIES,
            version_cap=version_cap,
            transport_options=oslo_messaging.TransportOptions(at_least_once=True),
        )

    def close(self, wait_s: float = 0) -> None:
        if not self._is_closed:
            self.is_retired = self._is_closed = True
            # In a thread, since a silent broker would block the caller.
            closing = threading.Thread(target=self._transport.cleanup, daemon=True)
            closing.start()
            closing.join(wait_s)


class _StockClients:
    """The stock client in use, its fresh successors, and the threads of its calls.

    A call runs in a daemon thread that is left behind when its time is over, because oslo.messaging
    waits without a bound for a connection and for a broker that blocks publishers.
    """

    def __init__(self, closing: threading.Event, *settings: Any) -> None:
        self._closing = closing
        self._settings = settings
        self._connecting = threading.Lock()
        self._lock = threading.Lock()  # never held while a call waits for the broker
        self._current: _StockClient | None = None
        self._outcomes: set[queue.SimpleQueue[Any]] = set()
        self._left: list[threading.Thread] = []

    def send(self, publish: Callable[[Any, float], Any], timeout_s: float) -> Any:
        end = time.monotonic() + timeout_s
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_transient),
            wait=tenacity.wait_random_exponential(PAUSE_S, PAUSE_MAX_S),
            stop=tenacity.stop_after_delay(timeout_s),
            sleep=tenacity.sleep_using_event(self._closing),
            reraise=True,
        )(self._send_once, publish, end)

    def close(self) -> None:
        self._closing.set()
        for outcome in list(self._outcomes):
            outcome.put((None, errors.ClientClosed(CLOSED)))
        if self._current is not None:
            self._current.close(CLOSE_S)

    def _send_once(self, publish: Callable[[Any, float], Any], end: float) -> Any:
        if self._closing.is_set():
            raise errors.ClientClosed(CLOSED)
        with self._lock:
            self._left = [thread for thread in self._left if thread.is_alive()]
            if len(self._left) >= LEFT_MAX:
                raise errors.BrokerUnreachable(
                    f'{NOT_DELIVERED}: {LEFT_MAX} earlier calls still wait for the broker'
                )
        outcome: queue.SimpleQueue[Any] = queue.SimpleQueue()
        used: list[_StockClient] = []

        def run() -> None:
            try:
                outcome.put((self._attempt(publish, end, used), None))
            except BaseException as exc:
                outcome.put((None, exc))

        self._outcomes.add(outcome)
        # The context of the caller holds its trace.
        thread = threading.Thread(
            target=contextvars.copy_context().run, args=(run,), name='policy-call', daemon=True
        )
        thread.start()
        try:
            result, failure = outcome.get(timeout=_left_s(end))
        except queue.Empty:
            with self._lock:
                self._left.append(thread)
            result, failure = None, oslo_messaging.MessagingTimeout()
        finally:
            self._outcomes.discard(outcome)
        if isinstance(failure, oslo_messaging.MessagingTimeout):
            # oslo.messaging 17.1 tries a dead host again and again for replies. Each client leaves
            # its reply queue behind, which expires after half an hour.
            for stock in used:
                if time.monotonic() - stock.created_at > RENEW_S:
                    stock.is_retired = True
        if failure is not None:
            raise failure
        return result

    def _attempt(self, publish: Callable[[Any, float], Any], end: float, used: list[Any]) -> Any:
        stock = self._take(end)
        used.append(stock)
        try:
            return publish(stock.client, _left_s(end))
        except oslo_messaging.MessageUndeliverable:
            raise  # the connection works
        except NOT_PUBLISHED:
            # Later calls use a fresh client; calls in flight keep this one for their replies.
            stock.is_retired = True
            raise
        finally:
            with self._lock:
                stock.users -= 1
                if stock.is_retired and not stock.users:
                    stock.close()

    def _take(self, end: float) -> _StockClient:
        with self._connecting:
            with self._lock:
                old = self._current
                if old is not None and not old.is_retired:
                    old.users += 1
                    return old
            if self._closing.is_set():
                raise errors.ClientClosed(CLOSED)
            # oslo.messaging would connect without a bound, and hide why it cannot.
            conf, url, *_ = self._settings
            left_s = end - time.monotonic()
            transport.open_connection(conf, transport.shuffled(url), left_s=left_s).release()
            fresh = _StockClient(*self._settings)
            with self._lock:
                self._current = fresh
                if old is not None and not old.users:
                    old.close()
            return fresh


def _left_s(end: float) -> float:
    return max(end - time.monotonic(), LAST_S)


def _check_options(timeouts: Mapping[str, Any], version_cap: Any) -> None:
    # A broker would seem unreachable with a timeout of 0.
    for name, value in timeouts.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 < value <= MAX_TIMEOUT_S):
            raise errors.ConfigurationError(
                f'{name}: expected a number of seconds above 0, at most {MAX_TIMEOUT_S}, '
                f'got {value!r}'
            )
    is_version = isinstance(version_cap, str) and _VERSION.fullmatch(version_cap)
    if version_cap is not None and not is_version:
        raise errors.ConfigurationError(
            f'version_cap: expected a version of the contract such as "1.1", got {version_cap!r}'
        )
