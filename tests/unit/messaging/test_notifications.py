"""Notifications: their payloads, and the validation of their options."""

import time

import oslo_messaging
import pytest
from amqp.exceptions import PreconditionFailed
from kombu.exceptions import OperationalError
from oslo_config import cfg
from oslo_messaging.transport import NotificationTransport

from placement_worker.client import transport
from placement_worker.config.options import register
from placement_worker.errors import ConfigurationError, InvalidRequest
from placement_worker.events.types import CloudCalled, NotificationDropped, RequestFailed
from placement_worker.messaging import notifications
from placement_worker.messaging.notifications import NotificationSender
from tests.events import Events


@pytest.fixture
def configured(tmp_path):
    def make(written):
        file = tmp_path / 'worker.conf'
        file.write_text(
            f'[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n[oslo_messaging_notifications]\n{written}'
        )
        conf = cfg.ConfigOpts()
        register(conf)
        conf(['--config-file', str(file)])
        return conf

    return make


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('transport_url = foo',
         'transport_url: The transport URL is not valid: No scheme specified; '
         'expected rabbit://user:password@host:port/vhost'),
        ('transport_url = rabbit://audit:Sec/ret@127.0.0.1:5672/',
         'transport_url: The transport URL is not valid: after host and colon it needs a '
         f'number; {transport.ENCODING}'),
        ('transport_url = rabbit://audit:Secret@127.0.0.1/?ssl=perhaps',
         "transport_url: The transport URL cannot be used: Unexpected boolean value 'perhaps'"),
        ('driver = messagingv2\ndriver = messagingv3',
         'driver: Unknown driver messagingv3; '
         'installed drivers: log, messaging, messagingv2, noop, routing, test'),
    ],
)  # fmt: skip
def test_options_that_cannot_be_used_are_refused_without_the_password(options, message, configured):
    """The parent refuses an unusable address or driver in one line that shows no password."""
    with pytest.raises(ConfigurationError) as raised:
        notifications.check(configured(options))

    assert str(raised.value) == f'[oslo_messaging_notifications] {message}'


@pytest.mark.parametrize(
    'options',
    [
        '',
        'driver =',
        'driver = noop',
        'driver = messagingv2\ntransport_url = rabbit://audit:pw@127.0.0.1:1/?ssl=true',
    ],
)
def test_options_that_can_be_used_pass_while_the_broker_is_away(options, configured):
    """The check of the options needs no broker; without a driver there is no listener."""
    notifications.check(configured(options))

    is_none = notifications.create(configured(options), 'host-1') is None
    assert is_none == (options in ('', 'driver = noop'))


class Driver:
    """A driver of oslo.messaging that keeps notifications, or raises what it is given."""

    def __init__(self, failures):
        self.sent = []
        self._failures = failures
        self.transports = 0

    def send_notification(self, target, context, message, version, retry):
        if self._failures:
            raise self._failures.pop(0)
        self.sent.append((target.topic, message['event_type'], message['payload']))

    def transport(self):
        self.transports += 1
        return NotificationTransport(self)

    def cleanup(self):
        pass


@pytest.fixture
def create(monkeypatch):
    """Create a sender with a driver that raises failures first."""
    monkeypatch.setattr(notifications, 'RETRY_S', 0.01)
    monkeypatch.setattr(notifications, 'STOP_S', 1)
    conf = Driver.conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    oslo_messaging.get_notification_transport(conf, url='fake://')
    conf.set_override('driver', ['messagingv2'], 'oslo_messaging_notifications')

    def creating(*failures, events=None):
        driver = Driver(list(failures))
        return driver, NotificationSender(driver.transport, 'placement-worker.h', events)

    return creating


@pytest.fixture
def sent(create):
    """Send the notifications of events; return them as priority, event and payload."""
    driver, sender = create()

    def sending(*events):
        for event in events:
            sender.handle(event)
        sender.close()
        return [(topic.rpartition('.')[2], *rest) for topic, *rest in driver.sent]

    return sending


@pytest.mark.parametrize(
    'failure',
    [oslo_messaging.MessageDeliveryFailure('nacked'), OperationalError('away'), OSError('reset')],
)
def test_notification_that_the_driver_refuses_is_sent_again_on_a_fresh_connection(
    create, caplog, failure
):
    """An outage delays notifications, keeps their order, and is logged once."""
    caplog.set_level('INFO')
    driver, sender = create(failure, failure)
    for method in ('policy_attach', 'policy_detach'):
        sender.handle(RequestFailed(method, InvalidRequest('no'), 'r1'))
    sender.close()

    assert [event for _, event, _ in driver.sent] == ['policy_attach.error', 'policy_detach.error']
    assert driver.transports == 3
    assert [text for text in caplog.messages if 'otification' in text] == [
        f'Retrying a notification until the broker accepts it: {failure}',
        'The broker accepts notifications again',
    ]


def test_notification_that_is_too_large_for_the_broker_is_dropped(create, caplog):
    """A notification that no retry can send holds up no other one."""
    failure = oslo_messaging.MessageDeliveryFailure('closed')
    failure.__context__ = PreconditionFailed('message size 9 is larger than configured max size 8')
    driver, sender = create(failure)
    for request_id in ('r1', 'r2'):
        sender.handle(RequestFailed('policy_check', InvalidRequest('no'), request_id))
    sender.close()

    assert [payload['request_id'] for _, _, payload in driver.sent] == ['r2']
    assert caplog.messages == [
        'Dropped a notification that the broker refuses: message size 9 is larger than '
        'configured max size 8'
    ]


def test_notifications_beyond_the_queue_are_dropped_counted_and_logged_once(
    create, monkeypatch, caplog
):
    """A check never waits for its notifications; an outage is one warning and a metric."""
    monkeypatch.setattr(notifications, 'QUEUE_MAX', 2)
    monkeypatch.setattr(notifications, 'STOP_S', 0)
    counted = Events()
    driver, sender = create(*[OSError('away')] * 1000, events=counted)
    began = time.monotonic()
    for _ in range(10):
        sender.handle(RequestFailed('policy_check', InvalidRequest('no'), 'r1'))
    took = time.monotonic() - began
    sender.close()

    assert took < 5
    assert driver.sent == []
    assert 6 < len(counted.received) < 9
    assert set(map(type, counted.received)) == {NotificationDropped}
    (warning,) = [text for text in caplog.messages if text.startswith('Dropping')]
    assert warning.startswith('Dropping notifications: 2 wait for the broker, which accepts none')
    (lost,) = [text for text in caplog.messages if text.startswith('Lost')]
    assert lost.endswith('notifications: the worker stopped before the broker accepted them')


@pytest.mark.parametrize(
    ('error', 'name', 'text'),
    [
        (InvalidRequest('no id'), 'InvalidRequest', 'no id'),
        (KeyError('hunter2'), 'WorkerFailed', 'The worker failed; its log has the traceback.'),
    ],
)
def test_failed_request_is_sent_as_an_error_without_internal_texts(sent, error, name, text):
    """`.error` has the class and text that the caller sees, and hides those of internal errors."""
    payload = {'request_id': 'req-1', 'class': name, 'message': text}

    assert sent(RequestFailed('policy_check', error, 'req-1')) == [
        ('error', 'policy_check.error', payload)
    ]


def test_event_of_no_decision_is_not_sent(sent):
    """Calls of the cloud and a rebalance, which changes nothing, are no notifications."""
    failed = RequestFailed('policy_rebalance', InvalidRequest('no'), None)

    assert sent(CloudCalled('compute', 'zones', 'OK', 1.0), failed) == []
