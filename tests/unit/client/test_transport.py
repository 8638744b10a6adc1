"""The URL of the broker, and the transports of oslo.messaging."""

import sys
from urllib.parse import quote

import pytest
from kombu.utils.url import parse_url
from oslo_config import cfg
from oslo_messaging._drivers import impl_rabbit

from placement_worker.client.transport import load_transport_url, transport_url
from placement_worker.errors import ConfigurationError


def test_transport_url_of_rabbit_asks_for_quorum_queues(conf):
    """A URL without options declares queues that survive a restart of the broker."""
    assert transport_url(conf, 'rabbit://h').query['rabbit_quorum_queue'] == 'true'


def test_transport_url_with_an_option_in_its_query_keeps_it(conf):
    """An option in the URL takes precedence over the defaults and over the arguments."""
    target = transport_url(
        conf, 'rabbit://h?heartbeat_timeout_threshold=30', heartbeat_timeout_threshold=5
    )

    assert target.query['heartbeat_timeout_threshold'] == '30'


def test_transport_url_of_another_driver_gets_no_options(conf):
    """Options of the rabbit driver do not reach other drivers."""
    assert transport_url(conf, 'fake://').query == {}


def test_transport_url_with_a_malformed_port_hides_the_password(conf):
    """The error about a malformed port repeats no part of the URL."""
    with pytest.raises(ConfigurationError) as raised:
        transport_url(conf, 'rabbit://user:pa55@w0rd:secret/')

    assert 'secret' not in str(raised.value)
    assert 'w0rd' not in str(raised.value)


@pytest.mark.parametrize(
    ('query', 'cause'),
    [
        ('rabbit_quorum_queue=maybe', "Unexpected boolean value 'maybe'"),
        ('rabbit_qos_prefetch_count=many', "invalid literal for int() with base 10: 'many'"),
        ('colour=red', 'no such option colour in group [oslo_messaging_rabbit]'),
    ],
)
def test_transport_url_with_an_invalid_option_raises_configuration_error(query, cause, conf):
    """An option that the driver rejects is an error of the configuration, without the password."""
    with pytest.raises(ConfigurationError) as raised:
        load_transport_url(conf, f'rabbit://u:secret@127.0.0.1:1/?{query}')

    assert str(raised.value) == f'The transport URL cannot be used: {cause}'


@pytest.mark.parametrize(
    ('line', 'cause'),
    [
        ('ssl = maybe', "ssl from {file} is not valid: Unexpected boolean value 'maybe'"),
        (
            'kombu_reconnect_delay = abc',
            "kombu_reconnect_delay from {file} is not valid: expected a number, got 'abc'",
        ),
        (
            'heartbeat_timeout_threshold = abc',
            "heartbeat_timeout_threshold from {file} is not valid: expected a number, got 'abc'",
        ),
    ],
)
def test_connect_with_an_invalid_option_in_a_file_names_section_and_file(line, cause, tmp_path):
    """An invalid value is found before the driver uses it, and is not blamed on the URL."""
    file = tmp_path / 'operator.conf'
    file.write_text(f'[oslo_messaging_rabbit]\n{line}\n')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(file)])

    with pytest.raises(ConfigurationError) as raised:
        load_transport_url(conf, 'rabbit://u:secret@127.0.0.1:1/')

    expected = f'Value for option [oslo_messaging_rabbit] {cause.format(file=file)}'
    assert str(raised.value) == expected


def test_connect_with_a_driver_without_its_library_names_the_expected_one(conf, monkeypatch):
    """oslo.messaging's driver for Kafka is no reason to install its library."""
    monkeypatch.setitem(sys.modules, 'confluent_kafka', None)

    with pytest.raises(ConfigurationError, match=r'; it must begin with rabbit://$'):
        load_transport_url(conf, 'kafka://h/')


@pytest.mark.parametrize('scheme', ['http', 'amqp'])
def test_connect_with_a_url_of_another_protocol_names_the_expected_one(conf, scheme):
    """A URL such as http:// is refused with the beginning that a transport URL needs."""
    with pytest.raises(ConfigurationError, match=r'; it must begin with rabbit://$'):
        load_transport_url(conf, f'{scheme}://h/')


@pytest.mark.parametrize(
    'url',
    [
        'rabbit://u:s3@cr/3t#x@h:1/v',
        'rabbit://u:s3/cr3t@h:1/v',
        'rabbit://u:3/cr3t@h:1/v',
        'rabbit://u:s3#cr3t@h:1/v',
        'rabbit://u:3?cr3t@h:1/v',
        'rabbit://u:s3,cr3t@h:1/v',
    ],
)
def test_transport_url_with_an_unencoded_password_shows_the_remedy_and_no_part_of_it(url, conf):
    """The error asks for percent-encoding; a rest of the password is not taken for a host."""
    with pytest.raises(ConfigurationError) as raised:
        transport_url(conf, url)

    text = str(raised.value)
    assert 'percent-encode each of ? # @ , : % [ ] and $ in user, password' in text
    assert not [part for part in ('s3', 'cr', '3t') if part in text]


def test_transport_url_with_a_reference_to_no_option_hides_the_password(tmp_path):
    """oslo.config's error about a $ in a password would deny the option, or name a part of it."""
    file = tmp_path / 'w.conf'
    file.write_text('[DEFAULT]\ntransport_url = rabbit://u:s3$cr3t@h:1/v\n')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(file)])

    with pytest.raises(ConfigurationError, match=r'^transport_url .* percent-encode') as raised:
        transport_url(conf)

    assert 'cr3t' not in str(raised.value)


def test_transport_url_with_a_port_out_of_range_is_refused(conf):
    """A worker would try to connect for ever."""
    with pytest.raises(ConfigurationError, match='a port is above 65535'):
        transport_url(conf, 'rabbit://u:p@h:65535,u:p@i:65536/v')


@pytest.mark.parametrize('character', '@:?#,%[]$ ')
def test_transport_url_with_an_encoded_password_reaches_kombu_unchanged(character, conf):
    """The broker gets a password with separators as it is."""
    password = f's3{character}cr3t'
    target = transport_url(conf, f'rabbit://u:{quote(password, safe="")}@h:1/v%40w')
    (host,) = target.hosts

    passed = impl_rabbit.Connection._transform_transport_url(None, target, host)
    parts = parse_url(passed)

    assert (host.hostname, host.password) == ('h', password)
    assert (parts['password'], parts['virtual_host']) == (password, 'v@w')


@pytest.mark.parametrize(
    'url',
    [
        'rabbit://u:s3%2Fcr3t@h:1/v',
        'rabbit://s3%2F:cr3t@h:1/v',
        'rabbit://u:p@h:1,u:s3%2Fcr3t@i:1/v',
        'rabbit://u:p@h:1/s3%23cr3t',
        'rabbit://u:p@h:1/s3%3Fcr3t',
        'rabbit://u:p@h:1/s3%2541',
    ],
)
def test_transport_url_with_a_character_that_kombu_does_not_get_is_refused(url, conf):
    """Encoding does not help, because oslo.messaging decodes it: the worker would never connect."""
    with pytest.raises(ConfigurationError) as raised:
        transport_url(conf, url)

    assert 'oslo.messaging cannot connect' in str(raised.value)
    assert 's3' not in str(raised.value)
