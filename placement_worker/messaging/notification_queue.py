"""A queue of notifications, so that a slow destination does not delay decisions for long."""

import contextlib
import logging
import queue
import threading
from typing import Any, NamedTuple

import oslo_messaging

LOG = logging.getLogger(__name__)
WAIT_S = 1
"""The longest wait of a request's thread for the confirmation of its notifications."""
QUEUE_MAX = 64
"""The number of notifications that wait in memory; each may be as large as a reply."""


class _Notification(NamedTuple):
    priority: str
    event: str
    payload: dict[str, Any]
    sent: threading.Event

    def __str__(self) -> str:
        return f'notification {self.event} of request {self.payload["request_id"]}'


class NotificationQueue:
    """A queue of notifications and the thread that sends them in order.

    The driver of oslo.messaging 18.3.1 retries a notification until the destination accepts it
    (`[oslo_messaging_notifications] retry`). While the destination confirms notifications within
    `WAIT_S`, `wait` returns after the confirmation, so that a request is acknowledged after its
    notifications are safe, and `send` waits for a place in the queue. Once a confirmation is late,
    both return at once, and notifications that the queue cannot hold are dropped. They wait again
    as soon as the queue is empty.
    """

    def __init__(self, notifier: oslo_messaging.Notifier) -> None:
        """Create the queue; the first notification starts the thread."""
        self._notifier = notifier
        self._queue: queue.Queue[_Notification] = queue.Queue(QUEUE_MAX)
        self._is_late = False
        self._current: _Notification | None = None
        self._last = threading.local()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def send(self, priority: str, event: str, payload: dict[str, Any]) -> None:
        """Queue a notification; the decision goes on while it is sent.

        A message of 100 checks has more notifications than the queue holds.

        :param priority: a method of oslo.messaging's notifier, for example `info`.
        :param payload: contains `request_id`.
        """
        self._start_thread()
        notification = _Notification(priority, event, payload, threading.Event())
        try:
            self._queue.put(notification, timeout=0 if self._is_late else WAIT_S)
        except queue.Full:
            self._is_late = True
            LOG.error(
                'Dropped %s: the destination rejects or blocks notifications, and %d are queued',
                notification,
                QUEUE_MAX,
            )
        else:
            self._last.notification = notification

    def wait(self) -> None:
        """Wait until the notifications of this thread are confirmed, unless they are late."""
        last: _Notification | None = getattr(self._last, 'notification', None)
        self._last.notification = None
        # Notifications are sent in order, so the last one of a request is confirmed last.
        if last and not self._is_late and not last.sent.wait(WAIT_S):
            self._is_late = True
            LOG.error(
                'The destination has not confirmed %s within %d s; '
                'the worker queues up to %d notifications and drops further ones',
                last,
                WAIT_S,
                QUEUE_MAX,
            )

    def close(self) -> None:
        """Log the notifications that are lost when the process ends."""
        lost = [] if self._current is None else [self._current]
        with contextlib.suppress(queue.Empty):
            while True:
                lost.append(self._queue.get_nowait())
        for notification in lost:
            LOG.error('Lost %s: the worker stopped before it was confirmed', notification)

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='notifications', daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            if self._queue.empty():
                self._is_late = False
            self._current = notification = self._queue.get()
            try:
                getattr(self._notifier, notification.priority)(
                    {}, notification.event, notification.payload
                )
            except Exception:
                LOG.exception('Failed to send %s', notification)
            self._current = None
            notification.sent.set()
