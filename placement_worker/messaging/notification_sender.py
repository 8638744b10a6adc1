"""The listener that turns events into notifications: start, end and error of each decision."""

from importlib import metadata
from typing import Any

import msgspec
import oslo_messaging
from oslo_config import cfg
from oslo_messaging.transport import NotificationTransport
from typing_extensions import override

from placement_worker import errors
from placement_worker.client.transport import driver_errors, load_transport_url, transport_url
from placement_worker.contract import rpc
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.events.listener import Listener
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    Event,
    MessageSettled,
    RequestFailed,
)
from placement_worker.messaging.notification_queue import NotificationQueue
from placement_worker.messaging.rabbit_notifications import RabbitNotifications

DRIVERS = 'oslo.messaging.notify.drivers'
"""The entry points that `driver` can name."""
UNAUDITED = (rpc.POLICY_REBALANCE.name, rpc.POLICY_CHECK_MANY.name)
"""The methods without notifications of their own.

A rebalance changes nothing, and each of several checks has those of `policy_check`.
"""
SECTION = '[oslo_messaging_notifications]'


class NotificationSender(Listener):
    """Listener that sends a notification per start, end and error of a decision.

    Their confirmations are awaited before the message of the request is settled.
    """

    def __init__(self, notifications: NotificationQueue) -> None:
        """Choose the queue that sends the notifications."""
        self._notifications = notifications

    @override
    def handle(self, event: Event) -> None:
        match event:
            case CheckStarted(request, request_id):
                self._send('info', 'policy_check.start', started(request, request_id))
            case CheckEnded(request, reply, _, request_id):
                self._send('info', 'policy_check.end', ended(request, reply, request_id))
            case BindingStarted(method, binding, request_id):
                self._send('info', f'{method}.start', started(binding, request_id))
            case BindingEnded(method, binding, bound, request_id=request_id):
                self._send('info', f'{method}.end', ended(binding, bound, request_id))
            case RequestFailed(method, error, request_id) if method not in UNAUDITED:
                self._send('error', f'{method}.error', failed(error, request_id))
            case MessageSettled():
                self._notifications.wait()

    def close(self) -> None:
        """Log the notifications that are lost."""
        self._notifications.close()

    def _send(self, priority: str, event_type: str, payload: dict[str, Any]) -> None:
        self._notifications.send(priority, event_type, payload)


def started(request: CheckRequest | BindRequest, request_id: str | None) -> dict[str, Any]:
    """Return the payload of `.start`: the ids of request and cluster, and the action or policy."""
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
    """Return the payload of `.end`: the reply, the ids, and the phase of a check."""
    fields = msgspec.to_builtins(reply)
    phase = {'target': request.target} if isinstance(request, CheckRequest) else {}
    cluster = {'id': request.cluster.id, **(fields['cluster'] or {})}
    return {**fields, 'request_id': request_id, **phase, 'cluster': cluster}


def failed(error: Exception, request_id: str | None) -> dict[str, Any]:
    """Return the payload of `.error`: the class and text that a caller sees."""
    shown = errors.error_object(error)['error']
    return {'request_id': request_id, 'class': shown['type'], 'message': shown['message']}


def create(conf: cfg.ConfigOpts) -> NotificationSender | None:
    """Return the listener, or None without a driver in `[oslo_messaging_notifications]`."""
    transport = _notification_transport(conf)  # registers the options, too
    if set(conf.oslo_messaging_notifications.driver) <= {'noop'}:
        return None
    flush = None
    target = _target(conf)
    options = {**conf.oslo_messaging_rabbit, **target.query}
    if target.transport.startswith('rabbit') and not options['kombu_compression']:
        driver = RabbitNotifications(conf, target)
        transport, flush = NotificationTransport(driver), driver.flush
    notifier = oslo_messaging.Notifier(
        transport, publisher_id=f'placement-worker.{conf.worker.host}'
    )
    return NotificationSender(NotificationQueue(notifier, flush, conf.worker.threads))


def check(conf: cfg.ConfigOpts) -> None:
    """Check the options of notifications in the parent, before processes are forked.

    :raises ConfigurationError: the address or a driver cannot be used.
    """
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
    """Return a transport to the broker of notifications.

    It is the broker of requests unless `transport_url` names another one.

    :raises ConfigurationError: the address cannot be used.
    """
    # The first call registers the options of notifications.
    oslo_messaging.get_notification_transport(conf, url=load_transport_url(conf))
    try:
        target = _target(conf)
        with driver_errors():
            return oslo_messaging.get_notification_transport(conf, url=target)
    except errors.ConfigurationError as exc:
        raise errors.ConfigurationError(f'{SECTION} transport_url: {exc}') from exc


def _target(conf: cfg.ConfigOpts) -> Any:
    """Return the TransportURL of notifications."""
    return transport_url(conf, conf.oslo_messaging_notifications.transport_url)
