"""Receive the replies to casts, and acknowledge each one after its callback.

The stock server of oslo.messaging acknowledges a message before it calls the endpoint, so a process
that is killed in between loses the reply. The receiver is a server of `late_ack` with one thread.
With a single message at a time, a callback that kills the process raises the delivery count of its
own reply and of no other.
"""

import logging
import threading
from typing import Any, NoReturn

import msgspec
import oslo_messaging
from amqp.exceptions import AccessRefused
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher
from typing_extensions import override

from placement_worker import errors
from placement_worker.client import transport
from placement_worker.contract import codec
from placement_worker.contract.caller import Callback, Receiver
from placement_worker.contract.model import CheckReply, Error
from placement_worker.late_ack.request import Redeliver
from placement_worker.late_ack.server import LateAckServer, Reject

LOG = logging.getLogger(__name__)
DELIVERIES = 10  # of a reply, after which it is dropped
RETRY_S, RETRY_MAX_S = 1.0, 30.0  # the pause after the first failure, which doubles; the longest


class _Arguments(msgspec.Struct):
    request_id: str
    reply: Any


class ReplyReceiver(Receiver):
    """Passes the replies of a topic to a callback, one at a time; `PolicyClient` creates it."""

    def __init__(
        self, conf: cfg.ConfigOpts, url: Any, exchange: str, topic: str, callback: Callback
    ) -> None:
        with transport.open_connection(conf, url) as connection:
            try:
                transport.declare_bound(connection.channel(), conf, url, exchange, topic)
            except AccessRefused as exc:
                raise errors.BrokerRefused(
                    f'The broker refused access to the replies on topic {topic}: {exc}; the '
                    'page "Security of the bus and of the cloud" of the manual has the permissions'
                ) from exc
        # One message at a time: it is an option of the driver.
        url.query = {**url.query, 'rabbit_qos_prefetch_count': '1'}
        self._transport = transport.connect(conf, url)
        self._stopping = threading.Event()
        self._dispatcher = _Dispatcher(topic, callback, self._stopping)
        target = oslo_messaging.Target(exchange=exchange, topic=topic, server='replies')
        self._server = LateAckServer(self._transport, target, self._dispatcher, has_own_queue=False)
        self._server.start(override_pool_size=1)

    @override
    def stop(self) -> None:
        """Wait for the callback in progress, and leave all other replies in the queue.

        In a callback, return at once; the receiver stops after that callback.
        """
        self._stopping.set()
        if self._dispatcher.thread is threading.current_thread():
            threading.Thread(target=self._stop, name='replies-stop', daemon=True).start()
        else:
            self._stop()

    def _stop(self) -> None:
        self._server.stop()
        self._server.wait()
        self._transport.cleanup()


class _Dispatcher(dispatcher.RPCDispatcher):
    def __init__(self, topic: str, callback: Callback, stopping: threading.Event) -> None:
        super().__init__([], oslo_messaging.NoOpSerializer())
        self._topic = topic
        self._callback = callback
        self._stopping = stopping
        self.thread: threading.Thread | None = None

    @override
    def dispatch(self, incoming: Any) -> None:
        try:
            arguments = codec.decode(incoming.message.get('args'), _Arguments)
            outcome = _outcome(arguments.reply)
        except errors.InvalidRequest as exc:
            LOG.warning('Dropped a malformed reply on topic %s: %s', self._topic, exc)
            raise Reject from exc
        deliveries = 1 + incoming.redeliveries
        failure: Any = 'the process ended during each callback'
        if deliveries <= DELIVERIES:
            self.thread = threading.current_thread()
            try:
                self._callback(arguments.request_id, outcome)
                return
            except BaseException as exc:  # a SystemExit must not end the receiver
                failure = exc
            finally:
                self.thread = None
        if deliveries < DELIVERIES:
            self._retry(arguments.request_id, deliveries, failure)
        dropped = 'Dropped the reply to request %r after %d deliveries: %s'
        cause = failure if isinstance(failure, BaseException) else None
        LOG.error(dropped, arguments.request_id, DELIVERIES, failure, exc_info=cause)
        raise Reject

    def _retry(self, request_id: str, deliveries: int, failure: Any) -> NoReturn:
        pause_s = min(RETRY_S * 2 ** (deliveries - 1), RETRY_MAX_S)
        LOG.warning(
            'The callback failed for the reply to request %r (delivery %d of %d); '
            'it is delivered again in %g s',
            request_id,
            deliveries,
            DELIVERIES,
            pause_s,
            exc_info=failure,
        )
        self._stopping.wait(pause_s)
        raise Redeliver(f'its callback failed: {failure}', counted=True)


def _outcome(reply: Any) -> CheckReply | errors.PlacementWorkerError:
    # A request that was sent as one JSON string gets its reply as one.
    encoded = reply if isinstance(reply, str) else msgspec.json.encode(reply)
    plain = codec.decode_encoded(encoded, dict[str, Any])
    if 'error' not in plain:
        return codec.decode(plain, CheckReply)
    error = codec.decode(plain['error'], Error)
    return errors.received(error.type, error.message)
