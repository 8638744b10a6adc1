"""The worker's outbox on the broker: notifications for auditing, and the replies to casts."""

import contextlib
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import oslo_messaging
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.connection import driver_errors, load_transport_url, transport_url
from placement_worker.contract.model import ReplyTo
from placement_worker.handlers.ports import Reply, Request, ended_payload, started_payload
from placement_worker.messaging.notifications import Notifications
from placement_worker.messaging.replies import Replies, cast_of

DRIVERS = 'oslo.messaging.notify.drivers'
"""Entry points that can be named as `driver`."""
SECTION = '[oslo_messaging_notifications]'


class Publisher:
    """As `Outbox`. Without a driver in `[oslo_messaging_notifications]` no notification is made or
    sent.
    """

    def __init__(self, conf: cfg.ConfigOpts, replies: Replies) -> None:
        """Prepare.

        :param replies: sends the replies to casts.
        """
        self._replies = replies
        notifier = oslo_messaging.Notifier(
            _notification_transport(conf), publisher_id=f'placement-worker.{conf.worker.host}'
        )
        self._notifies = not set(conf.oslo_messaging_notifications.driver) <= {'noop'}
        self._notifications = Notifications(notifier)

    @contextlib.contextmanager
    def errors_of(self, method: str, request_id: str | None) -> Iterator[None]:
        """As `Outbox.errors_of`: class and message of the exception; of a fault of ours only that
        it was one.
        """
        try:
            yield
        except Exception as exc:
            if self._notifies:
                told = errors.error_object(exc)['error']
                payload = {
                    'request_id': request_id,
                    'class': told['type'],
                    'message': told['message'],
                }
                self._notifications.send('error', f'{method}.error', payload)
            raise

    def started(self, method: str, request: Request, request_id: str | None) -> None:
        """As `Outbox.started`."""
        if self._notifies:
            self._notifications.send(
                'info', f'{method}.start', started_payload(request, request_id)
            )

    def ended(self, method: str, request: Request, reply: Reply, request_id: str | None) -> None:
        """As `Outbox.ended`."""
        if self._notifies:
            self._notifications.send(
                'info', f'{method}.end', ended_payload(request, reply, request_id)
            )

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """Cast the reply to `to` until the broker confirms it; the log names a reply that is given
        up.

        :raises ReplyPending: the reply did not go out, but may later.
        """
        what = f'the reply to request {request_id} (exchange {to.exchange}, topic {to.topic})'
        self._replies.send(
            what,
            cast_of(to.method, request_id=request_id, reply=reply),
            to.exchange,
            to.topic,
            left_s,
        )

    def close(self) -> None:
        """Close the connections for replies, and report the notifications that are lost."""
        self._replies.close()
        self._notifications.close()


def check(conf: cfg.ConfigOpts) -> None:
    """See that a `Publisher` can be made, so that no process is forked that ends of it at once.

    :raises ConfigurationError: address or driver of notifications cannot be used.
    """
    _notification_transport(conf).cleanup()
    there = metadata.entry_points(group=DRIVERS).names
    missing = [
        name for name in conf.oslo_messaging_notifications.driver if name and name not in there
    ]
    if missing:
        raise errors.ConfigurationError(
            f'{SECTION} driver: There is no {", ".join(missing)}; there are {", ".join(sorted(there))}'
        )


def _notification_transport(conf: cfg.ConfigOpts) -> Any:
    """On the broker for notifications alone, if the configuration names one, else on the one for
    requests.

    :raises ConfigurationError: the address cannot be used.
    """
    oslo_messaging.get_notification_transport(
        conf, url=load_transport_url(conf)
    )  # makes the options known
    url = conf.oslo_messaging_notifications.transport_url
    try:
        target = transport_url(conf, url)
        with driver_errors():
            return oslo_messaging.get_notification_transport(conf, url=target)
    except errors.ConfigurationError as exc:
        raise errors.ConfigurationError(f'{SECTION} transport_url: {exc}') from exc
