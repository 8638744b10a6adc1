"""The queue of notifications: confirmations, late destinations and lost notifications."""

import threading
import time

import pytest

from placement_worker.messaging import notification_queue
from placement_worker.messaging.notification_queue import NotificationQueue

PAYLOAD = {'request_id': 'req-1'}


class Notifier:
    """A notifier of oslo.messaging whose destination can be blocked."""

    def __init__(self):
        self.sent = []
        self.is_asked = threading.Event()
        self.accepts = threading.Event()
        self.accepts.set()

    def info(self, context, event_type, payload):
        """Wait until the destination accepts."""
        self.is_asked.set()
        self.accepts.wait(30)
        self.sent.append(('info', event_type))

    def error(self, context, event_type, payload):
        """Fail."""
        raise OSError('no route')


@pytest.fixture
def notifier():
    notifier = Notifier()
    yield notifier
    notifier.accepts.set()


@pytest.fixture
def notifications(notifier, monkeypatch):
    monkeypatch.setattr(notification_queue, 'WAIT_S', 10)
    monkeypatch.setattr(notification_queue, 'QUEUE_MAX', 2)
    return NotificationQueue(notifier)


@pytest.fixture
def blocked(notifications, notifier, monkeypatch):
    """Block the destination when it has received notification a; its confirmation is late."""
    notifier.accepts.clear()
    with monkeypatch.context() as patched:
        patched.setattr(notification_queue, 'WAIT_S', 0)
        send(notifications, 'a')
    assert notifier.is_asked.wait(10)


def wait_for(condition):
    """Wait until a condition is true, for 10 s at most."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert condition()


def send(notifications, *names):
    for name in names:
        notifications.send('info', name, PAYLOAD)
        notifications.wait()


def test_notifications_to_a_prompt_destination_are_sent_when_wait_returns(notifications, notifier):
    """`wait` returns after the confirmation of all notifications of its thread."""
    notifications.send('info', 'a.start', PAYLOAD)
    notifications.send('info', 'a.end', PAYLOAD)
    notifications.wait()

    assert notifier.sent == [('info', 'a.start'), ('info', 'a.end')]


def test_send_does_not_wait_for_the_destination(notifications, notifier, caplog):
    """A decision goes on while its notification is sent, and other threads do not wait for it."""
    notifier.accepts.clear()

    notifications.send('info', 'a', PAYLOAD)
    other = threading.Thread(target=notifications.wait)
    other.start()
    other.join()

    assert caplog.messages == []


@pytest.mark.usefixtures('blocked')
def test_notifications_to_a_late_destination_are_queued_and_sent_in_order(
    notifications, notifier, caplog
):
    """After a late confirmation `wait` returns at once, and no notification is lost."""
    send(notifications, 'b', 'c')
    notifier.accepts.set()

    wait_for(lambda: notifier.sent == [('info', name) for name in ('a', 'b', 'c')])
    assert [record.getMessage() for record in caplog.get_records('setup')] == [
        'The destination has not confirmed notification a of request req-1 within 0 s; '
        'the worker queues up to 2 notifications and drops further ones'
    ]


@pytest.mark.usefixtures('blocked')
def test_notification_beyond_the_queue_is_dropped_and_logged(notifications, caplog):
    """A notification that the queue cannot hold is dropped; the log names it."""
    send(notifications, 'b', 'c', 'd')

    assert caplog.messages == [
        'Dropped notification d of request req-1: '
        'the destination rejects or blocks notifications, and 2 are queued'
    ]


def test_send_to_a_full_queue_waits_for_a_place(notifications, notifier, caplog):
    """A message with more notifications than the queue holds loses none."""
    notifier.accepts.clear()
    for name in 'abc':
        notifications.send('info', name, PAYLOAD)
        assert notifier.is_asked.wait(10)  # the thread has taken the first one
    sending = threading.Thread(target=notifications.send, args=('info', 'd', PAYLOAD))
    sending.start()
    sending.join(0.05)
    assert sending.is_alive()

    notifier.accepts.set()
    sending.join()

    wait_for(lambda: notifier.sent == [('info', name) for name in 'abcd'])
    assert caplog.messages == []


def test_send_to_a_blocked_queue_waits_once(notifications, notifier, monkeypatch):
    """After one vain wait for a place, further notifications are dropped without a wait."""
    notifier.accepts.clear()
    for name in 'abc':
        notifications.send('info', name, PAYLOAD)
        assert notifier.is_asked.wait(10)
    monkeypatch.setattr(notification_queue, 'WAIT_S', 0)
    notifications.send('info', 'd', PAYLOAD)
    monkeypatch.setattr(notification_queue, 'WAIT_S', 3600)

    notifications.send('info', 'e', PAYLOAD)

    notifier.accepts.set()
    wait_for(lambda: notifier.sent == [('info', name) for name in 'abc'])


@pytest.mark.usefixtures('blocked')
def test_wait_after_a_late_destination_recovers_waits_again(notifications, notifier):
    """When the queue is empty again, `wait` returns after the confirmation."""
    notifier.accepts.set()
    wait_for(lambda: not notifications._is_late)

    send(notifications, 'b')

    assert notifier.sent[-1] == ('info', 'b')


def test_notification_that_cannot_be_sent_is_logged_and_the_next_one_is_sent(
    notifications, notifier, caplog
):
    """A failure of the notifier is logged and does not end the thread."""
    notifications.send('error', 'a.error', PAYLOAD)
    send(notifications, 'b')

    assert caplog.messages == ['Failed to send notification a.error of request req-1']
    assert notifier.sent == [('info', 'b')]


@pytest.mark.usefixtures('blocked')
def test_close_with_unsent_notifications_logs_each(notifications, caplog):
    """The log names each notification that is lost when the process ends."""
    send(notifications, 'b')

    notifications.close()

    assert caplog.messages == [
        f'Lost notification {name} of request req-1: the worker stopped before it was confirmed'
        for name in ('a', 'b')
    ]
