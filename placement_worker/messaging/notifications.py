"""Send notifications without holding the threads that decide."""

import contextlib
import logging
import queue
import threading
from typing import Any, NamedTuple

import oslo_messaging

LOG = logging.getLogger(__name__)
WAIT_S = 1
"""Limit for waiting until a notification is confirmed; after that notifications are sent in the
background.
"""
KEPT = 64
"""Notifications that wait in memory; each may be as large as a reply."""


class _Notification(NamedTuple):
    priority: str
    event: str
    payload: dict[str, Any]
    sent: threading.Event

    def __str__(self) -> str:
        return f'notification {self.event} of request {self.payload["request_id"]}'


class Notifications:
    """Sends notifications in order, from a thread of its own.

    The driver of oslo.messaging 18.3.1 retries a notification until its destination takes it
    (`[oslo_messaging_notifications] retry`). As long as notifications are confirmed in time, `send`
    waits for the confirmation: a request is acknowledged after its notifications are safe. Once one
    is late, `send` waits no longer until all of them are out, and drops what exceeds `KEPT`.
    """

    def __init__(self, notifier: oslo_messaging.Notifier) -> None:
        """Prepare; the thread begins with the first notification."""
        self._notifier = notifier
        self._queue: queue.Queue[_Notification] = queue.Queue(KEPT)
        self._is_late = False
        self._current: _Notification | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def send(self, priority: str, event: str, payload: dict[str, Any]) -> None:
        """Send a notification, or keep it while earlier ones are late.

        :param priority: a method of oslo.messaging's notifier, e.g. `info`.
        :param payload: has `request_id`.
        """
        self._begin()
        notification = _Notification(priority, event, payload, threading.Event())
        try:
            self._queue.put_nowait(notification)
        except queue.Full:
            LOG.error(
                'Dropped %s: %d others wait, since their destination rejects or blocks them',
                notification,
                KEPT,
            )
            return
        if not self._is_late and not notification.sent.wait(WAIT_S):
            self._is_late = True
            LOG.error(
                'The %s is not confirmed after %d s; until its destination takes it, up to %d notifications are kept, '
                'and later ones are dropped',
                notification,
                WAIT_S,
                KEPT,
            )

    def close(self) -> None:
        """Report the notifications that the end of the process loses."""
        lost = [] if self._current is None else [self._current]
        with contextlib.suppress(queue.Empty):
            while True:
                lost.append(self._queue.get_nowait())
        for notification in lost:
            LOG.error('Lost %s: the worker stops before its destination takes it', notification)

    def _begin(self) -> None:
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
                LOG.exception('Could not send %s', notification)
            self._current = None
            notification.sent.set()
