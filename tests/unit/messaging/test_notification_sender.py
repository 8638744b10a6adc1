"""Notifications: their payloads, and the validation of their options."""

import json

import msgspec
import pytest
from oslo_config import cfg
from oslo_messaging.transport import NotificationTransport

from placement_worker import config
from placement_worker.client import transport
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.errors import ConfigurationError, InvalidRequest
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    CloudCalled,
    MessageSettled,
    RequestFailed,
)
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.messaging import notification_sender
from placement_worker.messaging.notification_sender import NotificationSender
from placement_worker.policies.registry import Registry
from tests.factories import bind, deletion_policy, request


@pytest.fixture
def configured(tmp_path):
    """Return a configuration with options of notifications."""

    def make(options):
        file = tmp_path / 'worker.conf'
        file.write_text(
            f'[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n[oslo_messaging_notifications]\n{options}'
        )
        conf = cfg.ConfigOpts()
        config.register(conf)
        conf(['--config-file', str(file)])
        return conf

    return make


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            'transport_url = foo',
            'transport_url: The transport URL is not valid: No scheme specified; '
            'expected rabbit://user:password@host:port/vhost',
        ),
        (
            'transport_url = rabbit://audit:Sec/ret@127.0.0.1:5672/',
            'transport_url: The transport URL is not valid: after host and colon it needs a '
            f'number; {transport.ENCODING}',
        ),
        (
            'transport_url = rabbit://audit:Secret@127.0.0.1/?ssl=perhaps',
            "transport_url: The transport URL cannot be used: Unexpected boolean value 'perhaps'",
        ),
        (
            'driver = messagingv2\ndriver = messagingv3',
            'driver: Unknown driver messagingv3; '
            'installed drivers: log, messaging, messagingv2, noop, routing, test',
        ),
    ],
)
def test_options_that_cannot_be_used_are_refused_without_the_password(options, message, configured):
    """The parent refuses an unusable address or driver in one line that shows no password."""
    with pytest.raises(ConfigurationError) as raised:
        notification_sender.check(configured(options))

    assert str(raised.value) == f'[oslo_messaging_notifications] {message}'


@pytest.mark.parametrize(
    'options',
    [
        '',
        'driver =',
        'driver = messagingv2\ntransport_url = rabbit://audit:pw@127.0.0.1:1/?ssl=true',
    ],
)
def test_options_that_can_be_used_pass_while_the_broker_is_away(options, configured):
    """The check of the options needs no broker."""
    notification_sender.check(configured(options))


@pytest.mark.parametrize('options', ['', 'driver = noop'])
def test_configuration_without_a_driver_creates_no_listener(options, configured):
    """Without a driver no notification is built."""
    assert notification_sender.create(configured(options)) is None


def test_configuration_with_a_driver_creates_a_listener(configured):
    """With a driver the worker sends notifications."""
    listener = notification_sender.create(configured('driver = messagingv2'))

    assert isinstance(listener, NotificationSender)


@pytest.mark.parametrize(
    ('options', 'is_own'),
    [
        ('driver = messagingv2', True),
        ('driver = messagingv2\n[oslo_messaging_rabbit]\nkombu_compression = gzip', False),
        ('driver = messagingv2\ntransport_url = fake://', False),
    ],
)
def test_notifications_to_rabbitmq_are_sent_in_batches(options, is_own, configured, monkeypatch):
    """Other brokers, and compressed messages, have the driver of oslo.messaging."""
    created = []
    monkeypatch.setattr(
        notification_sender, 'NotificationQueue', lambda *args: created.append(args)
    )
    notification_sender.create(configured(options))

    ((notifier, flush, threads),) = created
    assert (flush is not None) == is_own
    assert isinstance(notifier.transport, NotificationTransport)
    assert threads > 1


class Sent:
    """Notifications that are kept."""

    def __init__(self):
        self.sent = []

    def send(self, priority, event_type, payload):
        self.sent.append((priority, event_type, payload))

    def wait(self):
        self.sent.append('confirmed')


@pytest.fixture
def sent():
    return Sent()


def decided(kind, asked, method):
    """Return a request and the reply of a worker to it."""
    endpoints = Endpoints(Inventory(), Registry.installed(), clock=lambda: 0.0)
    reply = getattr(endpoints, method)(json.dumps(asked))
    return msgspec.convert(asked, kind), reply


def test_events_of_a_check_are_sent_as_start_and_end(sent):
    """`.start` names request, phase, action and cluster; `.end` adds them to the reply."""
    asked, text = decided(
        CheckRequest, request('CLUSTER_SCALE_IN', [], inputs={'count': 1}), 'policy_check'
    )
    listener = NotificationSender(sent)

    listener.handle(CheckStarted(asked, 'req-1'))
    listener.handle(CheckEnded(asked, msgspec.json.decode(text, type=CheckReply), 1.0, 'req-1'))

    about = {'request_id': 'req-1', 'target': 'BEFORE', 'cluster': {'id': 'c1'}}
    action = {'id': asked.action.id, 'action': 'CLUSTER_SCALE_IN'}
    assert sent.sent == [
        ('info', 'policy_check.start', {**about, 'action': action}),
        ('info', 'policy_check.end', {**json.loads(text), **about}),
    ]


def test_events_of_a_binding_are_sent_as_start_and_end(sent):
    """`.start` names request, policy and cluster; `.end` adds request and cluster to the reply."""
    asked, text = decided(BindRequest, bind(deletion_policy()), 'policy_attach')
    listener = NotificationSender(sent)
    reply = msgspec.json.decode(text, type=BindReply)

    listener.handle(BindingStarted('policy_attach', asked, 'req-1'))
    listener.handle(BindingEnded('policy_attach', asked, reply, 'name', 'type', 1.0, 'req-1'))

    about = {'request_id': 'req-1', 'cluster': {'id': 'c1'}}
    policy = {
        'id': asked.policy.id,
        'name': asked.policy.name,
        'type': asked.policy.spec.type_name,
    }
    assert sent.sent == [
        ('info', 'policy_attach.start', {**about, 'policy': policy}),
        ('info', 'policy_attach.end', {**json.loads(text), **about}),
    ]


@pytest.mark.parametrize(
    ('error', 'payload'),
    [
        (InvalidRequest('no id'), {'class': 'InvalidRequest', 'message': 'no id'}),
        (
            KeyError('password hunter2'),
            {
                'class': 'WorkerFailed',
                'message': 'The worker failed; its log has the traceback.',
            },
        ),
    ],
)
def test_failed_request_is_sent_as_an_error_without_internal_texts(sent, error, payload):
    """`.error` has the class and text that the caller sees, and hides those of internal errors."""
    NotificationSender(sent).handle(RequestFailed('policy_check', error, 'req-1'))

    assert sent.sent == [('error', 'policy_check.error', {'request_id': 'req-1', **payload})]


def test_message_is_settled_after_its_notifications_are_confirmed(sent):
    """A worker that crashes before the confirmation leaves the request to another worker."""
    NotificationSender(sent).handle(MessageSettled('topic'))

    assert sent.sent == ['confirmed']


def test_event_of_a_cloud_call_is_not_sent(sent):
    """Only the start, the end and the error of a decision are notifications."""
    NotificationSender(sent).handle(CloudCalled('compute', 'zones', 'OK', 1.0))

    assert sent.sent == []


@pytest.mark.parametrize('method', ['policy_rebalance', 'policy_check_many'])
def test_error_of_a_method_without_notifications_sends_none(sent, method):
    """A rebalance changes nothing, and each of several checks has notifications of its own."""
    NotificationSender(sent).handle(RequestFailed(method, InvalidRequest('no'), None))

    assert sent.sent == []
