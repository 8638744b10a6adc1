"""A queue of notifications, so that a slow destination does not delay decisions for long."""

import collections
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import oslo_messaging

LOG = logging.getLogger(__name__)
WAIT_S = 1
"""The longest wait of a request's thread for the confirmation of its notifications."""
QUEUE_MAX = 64
"""The number of notifications that wait in memory; each may be as large as a reply."""
BATCH_MAX = 16
"""The number of notifications that are sent together."""
HOLD_S = 0.02
"""The longest time for which a notification waits for others, to be sent with them.

Most of its cost is the same for several: the write, the confirmation, and the switches between
threads and programs. The start of a slow check is sent while it runs.
"""
GROUP_MAX = 4
"""The number of requests that wait for each other's notifications before they are acknowledged."""


class _Notification(NamedTuple):
    priority: str
    event: str
    payload: dict[str, Any]
    due_at: float
    sent: threading.Event

    def __str__(self) -> str:
        return f'notification {self.event} of request {self.payload["request_id"]}'


class NotificationQueue:
    """A queue of notifications and the thread that sends them in order.

    The driver retries a notification until the destination accepts it
    (`[oslo_messaging_notifications] retry`). While the destination confirms notifications within
    `WAIT_S`, `wait` returns after the confirmation, so that a request is acknowledged after its
    notifications are safe, and `send` waits for a place in the queue. Once a confirmation is late,
    both return at once, and notifications that the queue cannot hold are dropped. They wait again
    as soon as the queue is empty.
    """

    def __init__(
        self,
        notifier: oslo_messaging.Notifier,
        flush: Callable[[], None] | None = None,
        threads: int = 1,
    ) -> None:
        """Create the queue; the first notification starts the thread.

        :param threads: the number of threads that handle requests. At most half of them wait for
            others.
        :param flush: sends the notifications that the driver of the notifier keeps; None if it
            sends each one at once.
        """
        self._notifier = notifier
        self._flush = flush
        self._group = max(1, min(threads // 2, GROUP_MAX))
        self._waiting = 0
        self._queue: collections.deque[_Notification] = collections.deque()
        self._batch: Sequence[_Notification] = ()
        self._is_late = self._is_asleep = self._is_due = False
        self._last = threading.local()
        self._lock = threading.Lock()
        self._wakes = threading.Condition(self._lock)
        self._has_room = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None

    def send(self, priority: str, event: str, payload: dict[str, Any]) -> None:
        """Queue a notification; the decision goes on while it is sent.

        A message of 100 checks has more notifications than the queue holds.

        :param priority: a method of oslo.messaging's notifier, for example `info`.
        :param payload: contains `request_id`.
        """
        notification = _Notification(
            priority, event, payload, time.monotonic() + HOLD_S, threading.Event()
        )
        with self._lock:
            self._start_thread()
            if self._waits_for_room():
                self._queue.append(notification)
                if self._is_asleep:
                    self._is_asleep = False
                    self._wakes.notify()
                self._last.notification = notification
                return
            self._is_late = True
        LOG.error(
            'Dropped %s: the destination rejects or blocks notifications, and %d are queued',
            notification,
            QUEUE_MAX,
        )

    def wait(self) -> None:
        """Wait until the notifications of this thread are confirmed, unless they are late."""
        last: _Notification | None = getattr(self._last, 'notification', None)
        self._last.notification = None
        if last is None or last.sent.is_set():
            return
        with self._lock:
            self._waiting += 1
            if self._waiting >= self._group:
                self._send_now()
        # Notifications are sent in order, so the last one of a request is confirmed last.
        if self._is_late or last.sent.wait(WAIT_S):
            return
        with self._lock:
            is_first = not (self._is_late or last.sent.is_set())
            self._is_late |= is_first
        if is_first:
            LOG.error(
                'The destination has not confirmed %s within %d s; '
                'the worker queues up to %d notifications and drops further ones',
                last,
                WAIT_S,
                QUEUE_MAX,
            )

    def close(self) -> None:
        """Log the notifications that are lost when the process ends."""
        with self._lock:
            lost = [one for one in (*self._batch, *self._queue) if not one.sent.is_set()]
            self._queue.clear()
        for notification in lost:
            LOG.error('Lost %s: the worker stopped before it was confirmed', notification)

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name='notifications', daemon=True)
            self._thread.start()

    def _waits_for_room(self) -> bool:
        """Wait for a place in the queue, and return whether there is one."""
        if len(self._queue) < QUEUE_MAX:
            return True
        self._send_now()
        return self._has_room.wait_for(
            lambda: len(self._queue) < QUEUE_MAX, 0 if self._is_late else WAIT_S
        )

    def _send_now(self) -> None:
        self._is_due, self._is_asleep = True, False
        self._wakes.notify()

    def _run(self) -> None:
        while True:
            self._take()
            self._send_batch()

    def _take(self) -> None:
        """Wait until notifications are due, and take them from the queue."""
        with self._lock:
            self._batch = ()
            if not self._queue:
                self._is_late = False
            # A busy worker sends the next notification soon, and need not wake this thread for it.
            timeout_s: float | None = HOLD_S
            while not self._queue or not self._is_due:
                if self._queue:
                    timeout_s = self._queue[0].due_at - time.monotonic()
                    if timeout_s <= 0:
                        break
                self._is_due = False
                self._is_asleep = timeout_s is None
                if not self._wakes.wait(timeout_s):
                    timeout_s = None
            count = min(len(self._queue), BATCH_MAX if self._flush else 1)
            self._batch = [self._queue.popleft() for _ in range(count)]
            self._is_due = bool(self._queue) and self._is_due
            if not self._queue:
                self._waiting = 0
            self._has_room.notify(count)

    def _send_batch(self) -> None:
        for notification in self._batch:
            try:
                getattr(self._notifier, notification.priority)(
                    {}, notification.event, notification.payload
                )
            except Exception:
                LOG.exception('Failed to send %s', notification)
            if self._flush is None:
                notification.sent.set()
        if self._flush is None:
            return
        try:
            self._flush()
        except Exception:
            LOG.exception('Failed to send %s', ', '.join(map(str, self._batch)))
        for notification in self._batch:
            notification.sent.set()
