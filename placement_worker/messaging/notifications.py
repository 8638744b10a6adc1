"""Notifications about decisions: start, end and error of each, through the stock notifier.

The stock notifier waits for a confirmation without a bound. It therefore runs in a thread of its
own behind a bounded queue, and no check waits for an audit. It also logs what its driver refuses
and goes on: RabbitMQ 3.10 nacks each message of a channel that was opened before a queue elected
its new leader. Here such a notification is sent again until the broker accepts it.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import msgspec
import oslo_messaging
from amqp.exceptions import PreconditionFailed
from oslo_config import cfg
from oslo_messaging.transport import NotificationTransport
from typing_extensions import override

from placement_worker import errors
from placement_worker.client.transport import (
    NOT_PUBLISHED,
    TOO_LARGE,
    amqp_cause,
    driver_errors,
    load_transport_url,
    shuffled,
    transport_url,
)
from placement_worker.contract import rpc
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.events import types
from placement_worker.events.types import Listener
from placement_worker.late_ack.server import driver_of

LOG = logging.getLogger(__name__)
DRIVERS = 'oslo.messaging.notify.drivers'  # the entry points that `driver` can name
QUEUE_MAX = 10_000
RETRY_S = 1.0
STOP_S = 5.0  # to empty the queue at a stop
SECTION = '[oslo_messaging_notifications]'
# The methods that may change a cluster or a load balancer.
_NOTIFIED = {rpc.POLICY_CHECK.name, rpc.POLICY_ATTACH.name, rpc.POLICY_DETACH.name}


class NotificationSender(Listener):
    def __init__(
        self, transport: Callable[[], Any], publisher_id: str, events: Listener | None = None
    ) -> None:
        self._stopping = threading.Event()
        self._driver = _PersistentDriver(transport, self._stopping)
        self._notifier = oslo_messaging.Notifier(
            NotificationTransport(self._driver), publisher_id=publisher_id
        )
        self._events = events
        self._queue: queue.Queue[tuple[str, str, dict[str, Any]]] = queue.Queue(QUEUE_MAX)
        self._drops = False
        threading.Thread(target=self._run, name='notifications', daemon=True).start()

    @override
    def handle(self, event: types.Event) -> None:
        match event:
            case types.RequestStarted(method, request, request_id):
                self._send('info', f'{method}.start', started(request, request_id))
            case types.CheckEnded(request, reply, _, request_id):
                self._send('info', 'policy_check.end', ended(request, reply, request_id))
            case types.BindingEnded(method, binding, bound, request_id=request_id):
                self._send('info', f'{method}.end', ended(binding, bound, request_id))
            case types.RequestFailed(method, error, request_id) if method in _NOTIFIED:
                self._send('error', f'{method}.error', failed(error, request_id))

    def close(self) -> None:
        """Empty the queue within `STOP_S`, and log how many notifications are lost."""
        end = time.monotonic() + STOP_S
        while self._queue.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.02)
        self._stopping.set()
        lost = self._queue.unfinished_tasks
        if lost:
            text = 'Lost %d notifications: the worker stopped before the broker accepted them'
            LOG.error(text, lost)
        self._driver.cleanup()

    def _send(self, priority: str, event_type: str, payload: dict[str, Any]) -> None:
        try:
            self._queue.put_nowait((priority, event_type, payload))
        except queue.Full:
            if not self._drops:
                LOG.warning(
                    'Dropping notifications: %d wait for the broker, which accepts none; a metric '
                    'counts the dropped ones',
                    QUEUE_MAX,
                )
            self._drops = True
            if self._events:
                self._events.handle(types.NotificationDropped())

    def _run(self) -> None:
        while not self._stopping.is_set():
            priority, event_type, payload = self._queue.get()
            try:
                getattr(self._notifier, priority)({}, event_type, payload)
            except Exception:  # of a driver that is not part of oslo.messaging
                LOG.exception('Failed to send notification %s', event_type)
            self._queue.task_done()
            if self._queue.empty():
                self._drops = False


class _PersistentDriver:
    """The members of a driver that a `NotificationTransport` uses; it persists until a success."""

    def __init__(self, transport: Callable[[], Any], stopping: threading.Event) -> None:
        self._create = transport
        self._stopping = stopping
        self._transport = transport()
        self.conf = self._transport.conf
        self._is_refused = False

    def send_notification(self, *args: Any, **kwargs: Any) -> None:
        while True:
            try:
                driver_of(self._transport).send_notification(*args, **kwargs)
            except NOT_PUBLISHED as exc:
                cause = amqp_cause(exc, (PreconditionFailed,))
                if cause is not None and TOO_LARGE in str(cause):
                    LOG.error('Dropped a notification that the broker refuses: %s', cause)
                    return
                if not self._is_refused:
                    LOG.warning('Retrying a notification until the broker accepts it: %s', exc)
                self._is_refused = True
                self.cleanup()
                if self._stopping.wait(RETRY_S):
                    return
                self._transport = self._create()
            else:
                if self._is_refused:
                    LOG.info('The broker accepts notifications again')
                self._is_refused = False
                return

    def cleanup(self) -> None:
        """Close the connections in a thread, since a broker that is away delays that."""
        threading.Thread(target=self._transport.cleanup, daemon=True).start()


def started(request: CheckRequest | BindRequest, request_id: str | None) -> dict[str, Any]:
    about = {'request_id': request_id, 'cluster': {'id': request.cluster.id}}
    if isinstance(request, BindRequest):
        policy = request.policy
        return {
            **about,
            'policy': {'id': policy.id, 'name': policy.name, 'type': policy.spec.type_name},
        }
    action = {'id': request.action.id, 'action': request.action.action}
    return {**about, 'target': request.target, 'action': action}


def ended(
    request: CheckRequest | BindRequest, reply: CheckReply | BindReply, request_id: str | None
) -> dict[str, Any]:
    fields = msgspec.to_builtins(reply)
    phase = {'target': request.target} if isinstance(request, CheckRequest) else {}
    cluster = {'id': request.cluster.id, **(fields['cluster'] or {})}
    return {**fields, 'request_id': request_id, **phase, 'cluster': cluster}


def failed(error: Exception, request_id: str | None) -> dict[str, Any]:
    reported = errors.error_object(error)['error']
    return {'request_id': request_id, 'class': reported['type'], 'message': reported['message']}


def create(
    conf: cfg.ConfigOpts, host: str, events: Listener | None = None
) -> NotificationSender | None:
    _notification_transport(conf)  # registers the options
    if set(conf.oslo_messaging_notifications.driver) <= {'noop'}:
        return None
    publisher_id = f'placement-worker.{host}'
    return NotificationSender(lambda: _notification_transport(conf), publisher_id, events)


def check(conf: cfg.ConfigOpts) -> None:
    """Check the options in the parent, before processes are forked."""
    _notification_transport(conf).cleanup()
    installed = metadata.entry_points(group=DRIVERS).names
    drivers = conf.oslo_messaging_notifications.driver
    missing = [name for name in drivers if name and name not in installed]
    if missing:
        raise errors.ConfigurationError(
            f'{SECTION} driver: Unknown driver {", ".join(missing)}; '
            f'installed drivers: {", ".join(sorted(installed))}'
        )


def _notification_transport(conf: cfg.ConfigOpts) -> Any:
    # The first call registers the options of notifications.
    oslo_messaging.get_notification_transport(conf, url=load_transport_url(conf))
    try:
        target = transport_url(conf, conf.oslo_messaging_notifications.transport_url)
        with driver_errors():
            return oslo_messaging.get_notification_transport(conf, url=shuffled(target))
    except errors.ConfigurationError as exc:
        raise errors.ConfigurationError(f'{SECTION} transport_url: {exc}') from exc
