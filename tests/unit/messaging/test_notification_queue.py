"""The queue of notifications: confirmations, late destinations and lost notifications."""

import queue
import threading

import pytest

from placement_worker.messaging import notification_queue
from placement_worker.messaging.notification_queue import NotificationQueue
from tests.waiting import wait_for

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


class Batches(Notifier):
    """A notifier whose driver keeps notifications until they are flushed."""

    def __init__(self):
        super().__init__()
        self.kept = []
        self.flushed = queue.SimpleQueue()

    def info(self, context, event_type, payload):
        """Keep the notification."""
        self.kept.append(event_type)

    def flush(self):
        """Send what is kept, when the destination accepts."""
        self.is_asked.set()
        self.accepts.wait(30)
        self.flushed.put(self.kept)
        self.kept = []


@pytest.fixture
def batches():
    batches = Batches()
    yield batches
    batches.accepts.set()


@pytest.fixture
def patient(monkeypatch):
    """Let notifications wait for others for longer than a test takes."""
    monkeypatch.setattr(notification_queue, 'HOLD_S', 3600)
    monkeypatch.setattr(notification_queue, 'WAIT_S', 10)


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


def test_late_confirmation_is_logged_once_for_all_threads(
    notifications, notifier, caplog, monkeypatch
):
    """Several threads that wait for one destination report it together."""
    notifier.accepts.clear()
    monkeypatch.setattr(notification_queue, 'WAIT_S', 0.1)
    threads = [threading.Thread(target=send, args=(notifications, name)) for name in 'ab']
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (line,) = caplog.messages
    assert line.startswith('The destination has not confirmed notification ')


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


@pytest.mark.usefixtures('patient')
def test_start_and_end_of_a_quick_check_are_sent_together(batches):
    """The start waits for the end, so that both cost one write and one confirmation."""
    notifications = NotificationQueue(batches, batches.flush)

    for name in ('start', 'end'):
        notifications.send('info', name, PAYLOAD)
    notifications.wait()

    assert batches.flushed.get_nowait() == ['start', 'end']


def test_start_of_a_slow_check_is_sent_while_it_runs(batches):
    """A notification is sent after a short time, though nothing waits for it."""
    notifications = NotificationQueue(batches, batches.flush)

    for name in ('first', 'second'):
        notifications.send('info', name, PAYLOAD)
        assert batches.flushed.get(timeout=10) == [name]


def test_notification_after_a_pause_of_the_worker_is_sent(batches):
    """The thread wakes up when it has slept because the worker had no requests."""
    notifications = NotificationQueue(batches, batches.flush)
    notifications.send('info', 'before', PAYLOAD)
    wait_for(lambda: notifications._is_asleep)

    notifications.send('info', 'after', PAYLOAD)

    assert [batches.flushed.get(timeout=10) for _ in range(2)] == [['before'], ['after']]


@pytest.mark.usefixtures('patient')
def test_requests_that_end_together_send_their_notifications_together(batches):
    """Half of the threads may wait for each other; the last of them sends for all."""
    notifications = NotificationQueue(batches, batches.flush, threads=4)
    first = threading.Thread(target=send, args=(notifications, 'first'))
    first.start()
    wait_for(lambda: notifications._waiting == 1)

    send(notifications, 'second')
    first.join()

    assert batches.flushed.get_nowait() == ['first', 'second']


@pytest.mark.usefixtures('patient')
def test_request_of_a_worker_with_one_thread_waits_for_no_other(batches):
    """The only thread does not wait for a request that no other thread can handle."""
    notifications = NotificationQueue(batches, batches.flush, threads=1)

    send(notifications, 'a')

    assert batches.flushed.get_nowait() == ['a']


@pytest.mark.usefixtures('patient')
def test_full_queue_is_sent_in_batches_without_a_wait(batches, monkeypatch):
    """A message of many checks does not wait for its end to send its first notifications."""
    monkeypatch.setattr(notification_queue, 'QUEUE_MAX', 3)
    monkeypatch.setattr(notification_queue, 'BATCH_MAX', 2)
    notifications = NotificationQueue(batches, batches.flush)

    for name in 'abcd':
        notifications.send('info', name, PAYLOAD)
    notifications.wait()

    sent = [batches.flushed.get_nowait() for _ in range(batches.flushed.qsize())]
    assert [name for one in sent for name in one] == list('abcd')
    assert max(map(len, sent)) == 2


@pytest.mark.usefixtures('patient')
def test_batch_that_cannot_be_sent_is_logged_and_the_next_one_is_sent(batches, caplog):
    """A failure of the driver is logged with its notifications and does not end the thread."""
    failures = [OSError('no route')]

    def flush():
        if failures:
            raise failures.pop()
        batches.flush()

    notifications = NotificationQueue(batches, flush)
    send(notifications, 'a', 'b')

    assert caplog.messages == ['Failed to send notification a of request req-1']
    assert batches.flushed.get_nowait()[-1] == 'b'


@pytest.mark.usefixtures('patient')
def test_close_during_a_batch_logs_each_of_its_notifications(batches, caplog, monkeypatch):
    """The log names the notifications that the destination has not confirmed, sent or not."""
    batches.accepts.clear()
    notifications = NotificationQueue(batches, batches.flush)
    for name in 'ab':
        notifications.send('info', name, PAYLOAD)
    monkeypatch.setattr(notification_queue, 'WAIT_S', 0)
    notifications.wait()
    assert batches.is_asked.wait(10)
    caplog.clear()

    notifications.close()

    assert caplog.messages == [
        f'Lost notification {name} of request req-1: the worker stopped before it was confirmed'
        for name in 'ab'
    ]
