"""The driver of oslo.messaging's RPC client that sends requests and receives the replies to calls.

It replaces oslo.messaging's rabbit driver in the process of a caller, and has its wire format. That
driver waits without a bound for a broker that blocks publishers, and it takes most of the CPU time
of a call.
"""

import functools
import math
import os
import queue
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec
import oslo_messaging
import tenacity
from amqp import Message
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.amqp_messages import enveloped_message
from placement_worker.client.call_replies import CallReplies, Reply, Waiting
from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.connection import heartbeat_connector, open_connection, shuffled
from placement_worker.client.publish_errors import (
    BrokerUnavailable,
    DestinationMissing,
    DestinationRefused,
    PublishersBlocked,
)
from placement_worker.client.retries import retried

EXTRA_S = 15
"""The time beyond its timeout that a request waits for the broker, which may be failing over."""
RETRY_S, RETRY_MAX_S = 1.0, 2.0
"""The shortest and the longest pause before a request is published again."""
NOT_PUBLISHED = (DestinationRefused, BrokerUnavailable)
LASTING = (errors.BrokerRefused, errors.ConfigurationError)
"""The errors of a connection that another attempt repeats."""
CLOSED = 'The client was closed meanwhile: create another one'


class _Failure(msgspec.Struct):
    """An exception of a worker."""

    kind: str = msgspec.field(name='class')
    module: str
    message: str


class RpcDriver:
    """Publishes requests with confirmations, and waits for the replies to calls.

    It has those methods of a driver that the RPC client of oslo.messaging uses. The connections
    belong to one process: after a fork, the child opens its own.
    """

    def __init__(self, conf: cfg.ConfigOpts, target: Any, cast_timeout_s: float) -> None:
        """Prepare; the first request connects.

        :param target: a TransportURL of `load_transport_url` for the rabbit driver.
        :param cast_timeout_s: the timeout of casts, which `send` does not get.
        """
        self.conf = conf
        self._url = target
        self._cast_timeout_s = cast_timeout_s
        self._lock = threading.Lock()
        self._bus = _Bus(conf, target)
        self._inherited: list[_Bus] = []

    def send(
        self,
        target: oslo_messaging.Target,
        ctxt: Mapping[str, Any],
        message: Mapping[str, Any],
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        retry: int | None = None,
        **_: object,
    ) -> Any:
        """Send a request, and return the result of a call.

        :param timeout: how long a call waits for its reply, in seconds.
        :param retry: how often the request is published again while the broker is unavailable.
        :raises NoWorkerAnswered: the queue does not exist.
        :raises BrokerUnreachable: the broker did not confirm the request, or blocks publishers.
        :raises BrokerRefused: the broker refuses access.
        :raises ClientClosed: the client was closed meanwhile.
        :raises MessagingTimeout: no reply has arrived in time.
        :raises PlacementWorkerError: an error of the worker.
        :raises RemoteError: the worker raised an error of another module.
        """
        bus = self._own_bus()
        request = {f'_context_{key}': value for key, value in ctxt.items()} | {**message}
        request['_unique_id'] = call_id = uuid.uuid4().hex
        end = time.monotonic() + EXTRA_S
        if not wait_for_reply:
            bus.publish(target, enveloped_message(request), end + self._cast_timeout_s, retry or 0)
            return None
        end += timeout or math.inf
        # The broker drops a request that no worker has fetched within the timeout.
        expiry = {'expiration': str(int(timeout * 1000))} if timeout else {}
        bus.replies.open(end)
        with bus.replies.expected(call_id) as waiting:
            request |= {'_msg_id': call_id, '_reply_q': bus.replies.queue, '_timeout': None}
            bus.publish(target, enveloped_message(request, **expiry), end, retry or 0)
            left_s = max(end - time.monotonic(), 0)
            return _result(_awaited(waiting, min(timeout or math.inf, left_s)))

    def cleanup(self) -> None:
        """Close the connections, and end the calls that wait for a reply."""
        self._own_bus().close()

    def _own_bus(self) -> '_Bus':
        """Return the connections of this process."""
        if self._bus.pid != os.getpid():
            with self._lock:
                if self._bus.pid != os.getpid():
                    # The end of a connection object would close the connection of the parent.
                    self._inherited.append(self._bus)
                    self._bus = _Bus(self.conf, self._url)
        return self._bus


class _Bus:
    """The connections of one process."""

    def __init__(self, conf: cfg.ConfigOpts, target: Any) -> None:
        self.pid = os.getpid()
        self._stopping = threading.Event()
        options = {**conf.oslo_messaging_rabbit, **target.query}
        url = shuffled(target)
        self._publisher = ConfirmedPublisher(
            functools.partial(open_connection, conf, url), self._stopping
        )
        self.replies = CallReplies(heartbeat_connector(conf, url), options)
        self._slots = threading.BoundedSemaphore(int(options['rpc_conn_pool_size']))

    def publish(
        self, target: oslo_messaging.Target, message: Message, end: float, retries: int
    ) -> None:
        """Publish a request, with retries while the broker is unavailable.

        :param end: the time of `time.monotonic` at which the caller gives up.
        :raises NoWorkerAnswered: the queue does not exist.
        :raises BrokerUnreachable: the broker did not confirm the request, or blocks publishers.
        :raises BrokerRefused: the broker refuses access.
        :raises ClientClosed: the client is closed.
        """
        topic = f'{target.topic}.{target.server}' if target.server else target.topic

        def left_s() -> float:
            return max(end - time.monotonic(), 0)

        def attempt() -> None:
            if not self._slots.acquire(timeout=min(left_s(), threading.TIMEOUT_MAX)):
                raise BrokerUnavailable('all connections are in use')
            try:
                if self._stopping.is_set():
                    raise errors.ClientClosed(CLOSED)
                self._publisher.publish(message, target.exchange, topic, left_s())
            finally:
                self._slots.release()

        def retrying() -> tenacity.Retrying:
            return tenacity.Retrying(
                retry=tenacity.retry_if_exception(_may_be_repeated),
                wait=tenacity.wait_random(RETRY_S, RETRY_MAX_S),
                stop=tenacity.stop_after_attempt(1 + retries) | tenacity.stop_after_delay(left_s()),
                sleep=tenacity.sleep_using_event(self._stopping),
                reraise=True,
            )

        try:
            retried(attempt, NOT_PUBLISHED, retrying)
        except NOT_PUBLISHED as exc:
            if isinstance(exc.__cause__, LASTING):
                raise exc.__cause__ from exc.__cause__.__cause__
            raise _not_published(exc, target, topic) from exc

    def close(self) -> None:
        """Close the connections, and end the calls that wait for a reply."""
        self._stopping.set()
        self.replies.close()
        self._publisher.close()


def _awaited(waiting: Waiting, timeout_s: float) -> Reply:
    """Wait for the reply to a call.

    :raises MessagingTimeout: it does not arrive in time.
    :raises ClientClosed: the client was closed meanwhile.
    """
    try:
        reply = waiting.get(timeout=min(timeout_s, threading.TIMEOUT_MAX))
    except queue.Empty:
        raise oslo_messaging.MessagingTimeout from None
    if reply is None:
        raise errors.ClientClosed(CLOSED)
    return reply


def _result(reply: Reply) -> Any:
    """Return the result of a call, or raise its error.

    :raises PlacementWorkerError: an error of the worker.
    :raises RemoteError: the worker raised an error of another module.
    """
    if reply.failure is None:
        return reply.result
    try:
        failure = msgspec.json.decode(reply.failure, type=_Failure)
    except ValueError as exc:
        raise oslo_messaging.RemoteError('unknown', f'malformed failure: {exc}') from exc
    if failure.module == errors.__name__:
        raise errors.received(failure.kind, failure.message)
    raise oslo_messaging.RemoteError(failure.kind, failure.message)


def _may_be_repeated(exc: BaseException) -> bool:
    """Return whether a request that the broker did not confirm may succeed soon.

    A queue rejects messages while its leader changes.
    """
    if isinstance(exc, DestinationRefused):
        return not (exc.for_good or isinstance(exc, DestinationMissing))
    is_lasting = isinstance(exc, PublishersBlocked) or isinstance(exc.__cause__, LASTING)
    return isinstance(exc, BrokerUnavailable) and not is_lasting


def _not_published(
    exc: DestinationRefused | BrokerUnavailable, target: oslo_messaging.Target, topic: str
) -> errors.PlacementWorkerError:
    """Return the error of a request that did not reach a queue."""
    if isinstance(exc, DestinationMissing):
        worker = f'worker with [worker] host = {target.server}' if target.server else 'worker'
        return errors.NoWorkerAnswered(
            f'There is no queue for topic {topic}: no {worker} has served this topic of exchange '
            f'{target.exchange}; start one, or correct the topic or the exchange'
        )
    is_refused = isinstance(exc, DestinationRefused) and exc.for_good
    kind = errors.BrokerRefused if is_refused else errors.BrokerUnreachable
    return kind(f'The request could not be delivered: {exc}')
