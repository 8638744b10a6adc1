"""The driver of notifications: retries and dropped messages.

Its messages are compared with those of oslo.messaging in tests/functional.
"""

from types import SimpleNamespace

import pytest
from amqp.exceptions import AccessRefused, NotFound
from oslo_config import cfg

from placement_worker import config
from placement_worker.client.transport import load_transport_url
from placement_worker.errors import BrokerRefused, QueueMismatch
from placement_worker.messaging import rabbit_notifications
from placement_worker.messaging.rabbit_notifications import RabbitNotifications


class Broker:
    """Connections whose publications fail as a test says."""

    def __init__(self):
        self.opened = 0
        self.failures = []
        self.rejections = 0
        self.unrouted = set()
        self.routed = {'n.info', 'm.info'}
        self.sent = []
        self.forbidden = set()
        self.pauses = []
        self.bound = []
        self.connection = self

    def connect(self, _):
        self.opened += 1
        return self

    def publish(self, batch):
        if self.failures:
            raise self.failures.pop(0)
        if self.rejections:
            self.rejections -= 1
            return
        self.unrouted = {one.routing_key for one in batch} - set(self.routed)
        if self.unrouted:
            self.routed |= self.unrouted
            return
        for one in list(batch):
            if one.routing_key in self.forbidden:
                raise AccessRefused(f'no access to {one.routing_key}')
        self.sent += [one.name.split()[1] for one in batch]
        batch.clear()

    def drop(self):
        pass


class Topology:
    """The topology of a broker, where a test decides which declarations fail."""

    def __init__(self, failures, bound):
        self.exchange = 'exchange'
        self.failures = failures
        self.bound = bound

    def declare_exchange(self, connection):
        self._declare('exchange')

    def declare_queue(self, connection, queue):
        self._declare(queue)

    def bind_queue(self, connection, queue):
        self.bound.append(queue)

    def _declare(self, name):
        if name in self.failures:
            raise self.failures[name]


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def failures():
    """The failures of declarations, by name of exchange or queue."""
    return {}


@pytest.fixture
def driver(broker, failures, monkeypatch, tmp_path):
    file = tmp_path / 'worker.conf'
    file.write_text('[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n')
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf(['--config-file', str(file)])
    monkeypatch.setattr(rabbit_notifications, 'BatchConnection', broker.connect)
    monkeypatch.setattr(
        rabbit_notifications, 'Topology', lambda *_: Topology(failures, broker.bound)
    )
    return RabbitNotifications(conf, load_transport_url(conf), broker.pauses.append)


def send(driver, *events, retry=-1, topic='n.info'):
    for event in events:
        message = {'event_type': event, 'payload': {'request_id': 'req-1'}}
        driver.send_notification(SimpleNamespace(topic=topic), {}, message, 2.0, retry)


def test_batch_is_declared_once_per_connection_and_published(broker, driver):
    """Exchange and queue are declared for the first notification of a topic."""
    for event in 'ab':
        send(driver, event)
        driver.flush()

    assert broker.sent == ['a', 'b']
    assert broker.bound == ['n.info']


@pytest.mark.parametrize('failure', [OSError('reset'), BrokerRefused('no'), NotFound('exchange')])
def test_failed_batch_is_sent_again_on_a_new_connection(broker, driver, failure, caplog):
    """Without a bound, a lost connection or a deleted exchange loses no notification."""
    broker.failures = [failure] * 4
    send(driver, 'a', 'b')
    driver.flush()

    assert broker.sent == ['a', 'b']
    assert broker.opened == 5
    assert len(broker.bound) == 5
    assert broker.pauses == [0, 1, 1, 1]
    assert caplog.messages == [f'Retrying notification a of request req-1 and 1 more: {failure}']


def test_notification_that_no_queue_takes_is_sent_after_its_queue_is_declared_again(
    broker, driver, caplog
):
    """A queue or a binding that is deleted loses no notification, and requests do not wait."""
    send(driver, 'a')
    driver.flush()
    broker.routed.clear()
    send(driver, 'b')
    driver.flush()

    assert broker.sent == ['a', 'b']
    assert broker.bound == ['n.info', 'n.info']
    assert broker.pauses == [0]
    assert caplog.messages == ['Retrying notification b of request req-1: no queue is bound']


def test_pauses_between_retries_of_a_rejected_batch_grow(broker, driver):
    """The pauses are those of the rabbit driver; the longest is `rabbit_interval_max`."""
    broker.rejections = 20
    send(driver, 'a')
    driver.flush()

    assert broker.pauses[:4] == [1, 3, 5, 7]
    assert max(broker.pauses) == broker.pauses[-1] == 30
    assert broker.opened == 1


@pytest.mark.parametrize(('retry', 'attempts'), [(0, 1), (2, 3)])
def test_batch_after_the_last_retry_is_dropped_and_logged(broker, driver, retry, attempts, caplog):
    """The log names each notification that `retry` drops, and the cause."""
    broker.failures = [OSError('reset')] * 9
    send(driver, 'a', 'b', retry=retry)
    driver.flush()

    assert 9 - len(broker.failures) == attempts
    assert broker.pauses == [1, 3][:retry]
    assert caplog.messages[-2:] == [
        f'Dropped notification {name} of request req-1 without a further retry: reset'
        for name in 'ab'
    ]


def test_forbidden_notification_of_a_batch_is_dropped_and_the_others_are_sent(
    broker, driver, caplog
):
    """A refusal for good names no message, so each one is published by itself."""
    broker.forbidden = {'m.info'}
    send(driver, 'a')
    send(driver, 'b', topic='m.info')
    send(driver, 'c')
    driver.flush()

    assert broker.sent == ['a', 'c']
    assert broker.pauses == []
    assert [line.partition(': ')[0] for line in caplog.messages] == [
        'Dropped notification b of request req-1 without a further retry'
    ]


def test_forbidden_destination_drops_its_notifications_alone(broker, driver, failures, caplog):
    """A missing permission on one queue holds up no notification for another one."""
    failures['m.info'] = BrokerRefused('The configure permission is missing')
    send(driver, 'a')
    send(driver, 'b', topic='m.info')
    driver.flush()

    assert broker.sent == ['a']
    assert caplog.messages == [
        'Dropped notification b of request req-1 without a further retry: '
        'The configure permission is missing'
    ]


def test_destination_with_other_options_is_used(broker, driver, failures, caplog):
    """An exchange or a queue of an operator gets notifications; the log has a warning."""
    failures['exchange'] = failures['n.info'] = QueueMismatch('It has other options')
    send(driver, 'a')
    driver.flush()

    assert broker.sent == ['a']
    assert broker.bound == ['n.info']
    assert caplog.messages == ['Notifications use what exists: It has other options'] * 2


def test_flush_without_notifications_opens_no_connection(broker, driver):
    """A worker whose drivers are others needs no connection for notifications."""
    driver.flush()

    assert broker.opened == 0


def test_cleanup_before_the_first_notification_does_nothing(driver):
    """The transport can be cleaned up before it was used."""
    driver.cleanup()
