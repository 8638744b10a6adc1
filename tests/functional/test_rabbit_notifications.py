"""Notifications in batches on a real RabbitMQ: their form, and brokers and queues that fail."""

import contextlib
import json
import os
import signal
import threading
import uuid

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.transport import NotificationTransport

from placement_worker import config
from placement_worker.client.transport import load_transport_url
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.messaging.rabbit_notifications import RabbitNotifications
from tests.functional.conftest import amqp
from tests.waiting import wait_for

PAYLOAD = {'request_id': 'req-1', 'name': 'Füße'}
VARIABLE = ('message_id', '_unique_id', 'timestamp')
NO_RETRY = '[oslo_messaging_notifications]\nretry = 0\n'


class Destination:
    """A notifier with the driver under test, and the queue of its notifications."""

    def __init__(self, url, folder, driver='messagingv2', settings=''):
        self.url = url
        self.topic = f'test-notified-{uuid.uuid4().hex}'
        self.queue = f'{self.topic}.info'
        self.pauses = []
        self.on_pause = lambda: None
        file = folder / 'worker.conf'
        file.write_text(
            f'[DEFAULT]\ntransport_url = {url}\ncontrol_exchange = {EXCHANGE}\n{settings}'
        )
        conf = cfg.ConfigOpts()
        config.register(conf)
        conf(['--config-file', str(file)])
        self.target = load_transport_url(conf)
        self.stock = oslo_messaging.get_notification_transport(conf, url=self.target)
        self.driver = RabbitNotifications(conf, self.target, self._sleep)
        self.notifier = self.notifier_with(NotificationTransport(self.driver), driver)

    def notifier_with(self, transport, driver='messagingv2'):
        return oslo_messaging.Notifier(transport, 'host', driver=driver, topics=[self.topic])

    def _sleep(self, seconds):
        self.pauses.append(seconds)
        self.on_pause()

    def send(self, *events):
        """Send notifications in one batch."""
        for event in events:
            self.notifier.info({}, event, PAYLOAD)
        self.driver.flush()

    def take(self):
        """Return the messages in the queue."""
        with amqp(self.url) as connection:
            channel = connection.default_channel
            return list(iter(lambda: channel.basic_get(self.queue, no_ack=True), None))

    def events(self):
        """Return the events in the queue."""
        messages = [json.loads(json.loads(one.body)['oslo.message']) for one in self.take()]
        return [one['event_type'] for one in messages]

    def declare(self, **arguments):
        """Declare the queue before the driver does."""
        with amqp(self.url) as connection:
            connection.default_channel.queue_declare(
                self.queue, durable=True, auto_delete=False, arguments=arguments
            )


@pytest.fixture
def create(tmp_path):
    made = []

    def make(*arguments, **options):
        made.append(Destination(*arguments, tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.driver.cleanup()
        one.stock.cleanup()


@pytest.fixture
def killable(own_broker, create):
    destination = create(own_broker.url)
    destination.send('first')
    own_broker.flush()
    return destination


def content(message, driver):
    """Return what a consumer reads, without ids and times, and the properties of the message."""
    body = json.loads(message.body)
    if driver == 'messagingv2':
        body['oslo.message'] = json.loads(body['oslo.message'])
    found = body.get('oslo.message', body)
    for name in VARIABLE:
        assert found.pop(name)
    properties = message.properties
    return body, [
        properties[name] for name in ('content_type', 'content_encoding', 'delivery_mode')
    ]


@pytest.mark.parametrize('driver', ['messagingv2', 'messaging'])
def test_notification_is_the_same_as_that_of_the_stock_driver(broker_url, create, driver):
    """Consumers find the same message in the same queue, which both drivers can declare."""
    destination = create(broker_url, driver=driver)

    destination.send('a')
    destination.notifier_with(destination.stock, driver).info({}, 'a', PAYLOAD)
    own, stock = destination.take()

    assert content(own, driver) == content(stock, driver)
    assert own.delivery_info['exchange'] == stock.delivery_info['exchange'] == EXCHANGE


def test_queue_of_the_stock_driver_can_be_declared(broker_url, create, caplog):
    """A worker that is updated finds the queue as an earlier version declared it."""
    destination = create(broker_url)
    destination.notifier_with(destination.stock).info({}, 'a', PAYLOAD)

    destination.send('b')

    assert destination.events() == ['a', 'b']
    assert caplog.messages == []


def test_batches_are_confirmed_in_order_on_one_connection(broker_url, create):
    """Notifications of several batches arrive once, and in order."""
    destination = create(broker_url)
    destination.send('1', '2', '3')
    connection = destination.driver._connection
    destination.send('4', '5')

    assert destination.events() == list('12345')
    assert destination.driver._connection is connection


def test_batch_after_the_connection_was_lost_is_sent_on_a_new_one(killable, own_broker):
    """A connection that the broker closed loses no notification."""
    own_broker.control('close_all_connections', 'test')

    killable.send('second', 'third')

    assert killable.events() == ['first', 'second', 'third']


def test_batch_during_an_outage_is_sent_when_the_broker_is_back(killable, own_broker, caplog):
    """Without a bound of retries, a broker that dies between two batches loses no notification.

    The log names the cause once. The first retry comes at once, since an outage may be over, and
    others each second.
    """
    own_broker.kill()
    killable.on_pause = lambda: len(killable.pauses) == 3 and own_broker.start()

    killable.send('second', 'third')

    assert killable.pauses[:3] == [0, 1, 1]
    assert killable.events() == ['first', 'second', 'third']
    (line,) = [one for one in caplog.messages if one.startswith('Retrying')]
    assert line.startswith('Retrying notification second of request req-1 and 1 more: ')


def test_broker_that_dies_before_the_confirmation_loses_no_notification(killable, own_broker):
    """Notifications that a frozen broker has taken, and not confirmed, are sent again."""
    with contextlib.suppress(ProcessLookupError), own_broker.frozen():
        sending = threading.Thread(target=killable.send, args=('second', 'third'))
        sending.start()
        sending.join(0.5)
        assert sending.is_alive()
        os.kill(own_broker.pid, signal.SIGKILL)  # it confirms nothing any more
    own_broker.kill()
    own_broker.start()
    sending.join(60)

    assert list(dict.fromkeys(killable.events())) == ['first', 'second', 'third']


def test_batch_during_an_outage_is_dropped_after_the_last_retry(own_broker, create, caplog):
    """With a bound of retries, each notification that is dropped has a line with its cause."""
    destination = create(own_broker.url, settings=NO_RETRY)
    own_broker.kill()
    try:
        destination.send('a', 'b')
    finally:
        own_broker.start()

    assert destination.pauses == []
    assert [line.split(': ')[:2] for line in caplog.messages] == [
        [
            f'Dropped notification {name} of request req-1 without a further retry',
            'No broker responded',
        ]
        for name in 'ab'
    ]


def test_rejected_notification_is_sent_when_its_queue_accepts(broker_url, create):
    """Only notifications that a full queue rejects are sent again, until the queue has room."""
    destination = create(broker_url)
    destination.declare(**{'x-max-length': 1, 'x-overflow': 'reject-publish'})
    taken = []
    destination.on_pause = lambda: taken.extend(destination.events())

    destination.send('a', 'b', 'c')

    assert taken + destination.events() == ['a', 'b', 'c']


def test_queue_with_other_options_is_used_and_logged(broker_url, create, caplog):
    """A queue that an operator declared gets the notifications; the log says how it differs."""
    destination = create(broker_url)
    destination.declare(**{'x-max-length': 10})

    destination.send('a')
    destination.send('b')

    assert destination.events() == ['a', 'b']
    (line,) = caplog.messages
    assert line.startswith(
        f'Notifications use what exists: Queue {destination.queue} exists on the broker with other '
    )


def test_notification_after_its_exchange_was_deleted_is_sent(killable):
    """A missing exchange is declared again."""
    with amqp(killable.url) as connection:
        connection.default_channel.exchange_delete(EXCHANGE)

    killable.send('second', 'third')

    assert killable.events() == ['first', 'second', 'third']


@pytest.mark.parametrize('deleted', ['queue', 'exchange'])
def test_notification_that_no_queue_takes_is_sent_once_one_does(killable, deleted):
    """A queue is declared again, and bound to an exchange that another program declares again."""
    with amqp(killable.url) as connection:
        channel = connection.default_channel
        if deleted == 'queue':
            channel.queue_delete(killable.queue)
        else:
            channel.exchange_delete(EXCHANGE)
            channel.exchange_declare(EXCHANGE, 'topic', durable=True, auto_delete=False)

    killable.send('second', 'third')

    assert [one for one in killable.events() if one != 'first'] == ['second', 'third']
    assert killable.pauses == [0]


def test_notification_that_the_broker_forbids_is_dropped_without_a_retry(
    own_broker, create, caplog
):
    """A missing permission is logged for each notification, and holds up no other one."""
    user = f'user-{uuid.uuid4().hex}'
    own_broker.control('add_user', user, 'pw')
    own_broker.control('set_permissions', user, '^(placement_worker|allowed.*)$', '.*', '.*')
    destination = create(own_broker.url.replace('guest:guest', f'{user}:pw'))
    forbidden, destination.queue = destination.queue, f'allowed-{destination.topic}.info'

    destination.notifier.info({}, 'a', PAYLOAD)
    notifier = oslo_messaging.Notifier(
        destination.notifier.transport,
        'host',
        driver='messagingv2',
        topics=[f'allowed-{destination.topic}'],
    )
    notifier.info({}, 'b', PAYLOAD)
    destination.driver.flush()
    destination.url = own_broker.url

    assert destination.pauses == []
    assert destination.events() == ['b']
    (line,) = caplog.messages
    assert line.startswith(
        'Dropped notification a of request req-1 without a further retry: '
        'The configure permission is missing'
    )
    assert forbidden in line


def test_notification_larger_than_a_frame_is_sent_in_a_batch(broker_url, create):
    """Notifications of a reply with many nodes take several frames."""
    destination = create(broker_url)
    large = {**PAYLOAD, 'nodes': ['x' * 36] * 20_000}

    destination.notifier.info({}, 'a', large)
    destination.send('b')

    assert destination.events() == ['a', 'b']


@pytest.mark.long
def test_batch_waits_for_a_broker_that_blocks_publishers(killable, own_broker, caplog):
    """A memory alarm delays notifications and loses none."""
    own_broker.control('set_vm_memory_high_watermark', 'absolute', '1')
    sending = threading.Thread(target=killable.send, args=('second', 'third'))
    sending.start()
    try:
        wait_for(lambda: 'The broker blocks a connection' in caplog.text)
    finally:
        own_broker.control('set_vm_memory_high_watermark', '0.6')
    sending.join(60)

    assert list(dict.fromkeys(killable.events())) == ['first', 'second', 'third']
