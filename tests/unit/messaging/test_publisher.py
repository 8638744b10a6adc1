"""Notifications: what of their options is seen before a process is forked."""

import pytest
from oslo_config import cfg

from placement_worker import config
from placement_worker.errors import ConfigurationError
from placement_worker.messaging import publisher


@pytest.fixture
def configured(tmp_path):
    """A configuration with options of notifications."""

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
    ('options', 'told'),
    [
        (
            'transport_url = foo',
            'transport_url: The transport URL is not valid: No scheme specified',
        ),
        (
            'transport_url = rabbit://audit:Sec/ret@127.0.0.1:5672/',
            'transport_url: The transport URL is not valid: after host and colon it needs a number',
        ),
        (
            'transport_url = rabbit://audit:Secret@127.0.0.1/?ssl=perhaps',
            "transport_url: The transport URL cannot be used: Unexpected boolean value 'perhaps'",
        ),
        (
            'driver = messagingv2\ndriver = messagingv3',
            'driver: There is no messagingv3; there are log, messaging, messagingv2, noop, routing, test',
        ),
    ],
)
def test_an_address_or_a_driver_that_cannot_be_used_is_told_in_one_line_without_the_password(
    options, told, configured
):
    with pytest.raises(ConfigurationError) as raised:
        publisher.check(configured(options))

    assert str(raised.value) == f'[oslo_messaging_notifications] {told}'


@pytest.mark.parametrize(
    'options',
    [
        '',
        'driver =',
        'driver = messagingv2\ntransport_url = rabbit://audit:pw@127.0.0.1:1/?ssl=true',
    ],
)
def test_options_that_can_be_used_pass_while_their_broker_is_away(options, configured):
    publisher.check(configured(options))
