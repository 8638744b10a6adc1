"""A driver for the notifications of oslo.messaging on RabbitMQ that publishes batches.

The rabbit driver of oslo.messaging 18.3.1 publishes one notification at a time and waits for its
confirmation. Two notifications took it about as long as a check of three nodes.
"""

import functools
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from amqp.exceptions import ChannelError, NotFound
from amqp.exceptions import ConnectionError as AMQPConnectionError
from oslo_config import cfg

from placement_worker.client.amqp_messages import amqp_message, enveloped_message
from placement_worker.client.confirmed_publisher import NO_CONNECTION
from placement_worker.client.transport import open_connection, shuffled
from placement_worker.errors import BrokerRefused, QueueMismatch
from placement_worker.messaging.batch_connection import BatchConnection, Publication
from placement_worker.messaging.topology import Topology

LOG = logging.getLogger(__name__)
ENVELOPE = 2.0
"""The version of notifications with an envelope: those of the driver `messagingv2`."""
REJECTED = 'the queue rejected the message'
UNROUTED = 'no queue is bound'
RECONNECT_PAUSE_S = 1
"""The longest pause between attempts to connect, so that few notifications wait afterwards."""


class RabbitNotifications:
    """The driver of an `oslo_messaging.transport.NotificationTransport`.

    Messages, exchange and queues are those of oslo.messaging's rabbit driver. So are the retries,
    except that those without a bound come sooner after the loss of a connection. An exchange or a
    queue that was declared with other options is used as it is. One thread at a time may use the
    driver.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, target: Any, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Prepare; the first batch opens the connection.

        :param target: a TransportURL of `client.transport.transport_url`.
        :param sleep: waits before a retry.
        """
        self.conf = conf
        self._target = shuffled(target)
        self._sleep = sleep
        self._topology = Topology(conf, target)
        self._pauses = _Pauses({**conf.oslo_messaging_rabbit, **target.query})
        self._batch: list[Publication] = []
        self._retries: int | None = None
        self._connection: BatchConnection | None = None
        self._declared: set[str] = set()

    def send_notification(
        self,
        target: Any,
        ctxt: Mapping[str, Any],
        message: dict[str, Any],
        version: float,
        retry: int | None = None,
    ) -> None:
        """Keep a notification until `flush`; oslo.messaging calls this."""
        context = {f'_context_{name}': value for name, value in ctxt.items()}
        content = {**message, '_unique_id': uuid.uuid4().hex, **context}
        packed = enveloped_message(content) if version == ENVELOPE else amqp_message(content)
        name = f'notification {message["event_type"]} of request {message["payload"]["request_id"]}'
        self._batch.append(Publication(packed, self._topology.exchange, target.topic, name))
        self._retries = None if retry is None or retry < 0 else retry

    def flush(self) -> None:
        """Publish the notifications, and return when each is confirmed or dropped.

        The log names the dropped ones.
        """
        batch, self._batch = self._batch, []
        attempts = 0
        while batch:
            cause = self._attempt(batch)
            attempts += 1
            if not batch:
                return
            if self._retries is not None and attempts > self._retries:
                _log_dropped(batch, cause)
                return
            if attempts == 1:
                more = f' and {len(batch) - 1} more' if len(batch) > 1 else ''
                LOG.warning('Retrying %s%s: %s', batch[0].name, more, cause)
            self._sleep(self._pause_s(attempts, cause))

    def cleanup(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.drop()
        self._connection = None
        self._declared.clear()

    def _pause_s(self, attempts: int, cause: object) -> float:
        """Return the pause after a number of attempts.

        A bounded number of retries keeps its pauses, so that it lasts for an outage.
        """
        pause_s = self._pauses.after(attempts)
        is_quickly_repaired = self._connection is None or cause == UNROUTED
        if not is_quickly_repaired or self._retries is not None:
            return pause_s
        return min(pause_s, RECONNECT_PAUSE_S) if attempts > 1 else 0

    def _attempt(self, batch: list[Publication]) -> object:
        """Publish messages; those that a retry may send remain in the batch.

        :returns: the reason why messages remain.
        """
        try:
            if self._connection is None:
                self._connection = BatchConnection(
                    functools.partial(open_connection, self.conf, self._target)
                )
            self._declare(self._connection, batch)
            self._connection.publish(batch)
        except ChannelError as exc:
            self.cleanup()
            if isinstance(exc, NotFound):  # the exchange is declared again
                return exc
            return self._drop_refused(batch, exc)
        except (*NO_CONNECTION, AMQPConnectionError, OSError) as exc:
            self.cleanup()
            return exc if str(exc) else type(exc).__name__
        if not self._connection.unrouted:
            return REJECTED
        self._declared -= self._connection.unrouted  # the queue or its binding was deleted
        return UNROUTED

    def _drop_refused(self, batch: list[Publication], exc: ChannelError) -> object:
        """Drop a message that the broker refuses for good, and publish the others of its batch.

        :returns: the reason why messages remain.
        """
        if len(batch) == 1:
            _log_dropped(batch, exc)
            batch.clear()
            return exc
        left = []
        cause: object = exc
        for one in batch:
            alone = [one]
            failure = self._attempt(alone)
            if alone:
                left.append(one)
                cause = failure
        batch[:] = left
        return cause

    def _declare(self, connection: BatchConnection, batch: list[Publication]) -> None:
        """Declare the exchange and a queue per routing key, once per connection.

        The queue keeps notifications until a service consumes them, as in oslo.messaging.
        """
        for key in dict.fromkeys(one.routing_key for one in batch):
            if key in self._declared:
                continue
            try:
                self._declare_queue(connection, key)
            except BrokerRefused as exc:
                refused = [one for one in batch if one.routing_key == key]
                _log_dropped(refused, exc)
                batch[:] = [one for one in batch if one not in refused]
            else:
                self._declared.add(key)

    def _declare_queue(self, connection: BatchConnection, queue: str) -> None:
        """Declare the exchange and a queue, and bind the queue.

        :raises BrokerRefused: a permission is missing.
        """
        opened = connection.connection
        for declare in (
            self._topology.declare_exchange,
            functools.partial(self._topology.declare_queue, queue=queue),
        ):
            try:
                declare(opened)
            except QueueMismatch as exc:
                LOG.warning('Notifications use what exists: %s', exc)
        self._topology.bind_queue(opened, queue)


class _Pauses:
    """The pauses between retries, as options of the rabbit driver."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._start_s = float(options['rabbit_retry_interval'])
        self._step_s = float(options['rabbit_retry_backoff'])
        self._max_s = float(options['rabbit_interval_max'])

    def after(self, attempts: int) -> float:
        """Return the seconds to wait after a number of attempts."""
        return min(self._start_s + (attempts - 1) * self._step_s, self._max_s)


def _log_dropped(dropped: list[Publication], cause: object) -> None:
    for one in dropped:
        LOG.error('Dropped %s without a further retry: %s', one.name, cause)
