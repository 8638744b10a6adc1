"""The URL of the broker, the transports of oslo.messaging, and connections outside of them."""

import math
import re
import socket
import ssl
import sys
from types import SimpleNamespace
from unittest.mock import Mock, call
from urllib.parse import quote

import pytest
from amqp.exceptions import AccessRefused, NotAllowed
from kombu.utils.url import parse_url
from oslo_config import cfg
from oslo_messaging._drivers import impl_rabbit

from placement_worker.client.transport import (
    Connection,
    drop,
    load_transport_url,
    obstacle,
    open_connection,
    shuffled,
    transport_url,
)
from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError

PLAIN_PORT = ssl.SSLError(1, '[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)')
PLAIN_PORT.reason = 'WRONG_VERSION_NUMBER'


@pytest.fixture
def connections(monkeypatch):
    """Replace kombu's connection; each attempt to connect raises `failures[host]`, if any."""

    class FakeConnection(Connection):
        attempts = []
        failures = {}
        connection = SimpleNamespace(sock=Mock())

        def ensure_connection(self, **_):
            self.attempts.append(self)
            if self.hostname in self.failures:
                raise self.failures[self.hostname]

    monkeypatch.setattr('placement_worker.client.transport.Connection', FakeConnection)
    return FakeConnection


def read(file, text):
    file.write_text(text)
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(file)])
    return conf


def test_transport_url_with_an_option_in_its_query_keeps_it(conf):
    """An option in the URL takes precedence over the defaults and over the arguments."""
    target = transport_url(
        conf, 'rabbit://h?heartbeat_timeout_threshold=30', heartbeat_timeout_threshold=5
    )

    assert target.query['heartbeat_timeout_threshold'] == '30'
    assert target.query['rabbit_quorum_queue'] == 'true'
    assert transport_url(conf, 'fake://').query == {}


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
    ],
)
def test_connect_with_an_invalid_option_in_a_file_names_section_and_file(line, cause, tmp_path):
    """An invalid value is found before the driver uses it, and is not blamed on the URL."""
    file = tmp_path / 'operator.conf'
    conf = read(file, f'[oslo_messaging_rabbit]\n{line}\n')

    with pytest.raises(ConfigurationError) as raised:
        load_transport_url(conf, 'rabbit://u:secret@127.0.0.1:1/')

    expected = f'Value for option [oslo_messaging_rabbit] {cause.format(file=file)}'
    assert str(raised.value) == expected


@pytest.mark.parametrize('scheme', ['kafka', 'http', 'amqp'])
def test_connect_with_a_url_of_another_protocol_names_the_expected_one(scheme, conf, monkeypatch):
    """A driver for Kafka without its library is no reason to install that."""
    monkeypatch.setitem(sys.modules, 'confluent_kafka', None)

    with pytest.raises(ConfigurationError, match=r'; it must begin with rabbit://$'):
        load_transport_url(conf, f'{scheme}://h/')


SLASH = 'cannot connect with a / in user or password'
VHOST = 'cannot connect to a virtual host with'


@pytest.mark.parametrize(
    ('rest', 'text'),
    [
        *((rest, 'percent-encode each of ? # @ , : % [ ] and $ in user, password') for rest in (
            'u:s3@cr/3t:cr@h:1/v', 'u:s3@cr/3t#x@h:1/v', 'u:s3/cr3t@h:1/v', 'u:3/cr3t@h:1/v',
            'u:s3#cr3t@h:1/v', 'u:3?cr3t@h:1/v', 'u:s3,cr3t@h:1/v',
        )),
        # These reach oslo.messaging, which does not pass them on, encoded or not.
        ('u:s3%2Fcr3t@h:1/v', SLASH),
        ('s3%2F:cr3t@h:1/v', SLASH),
        ('u:p@h:1,u:s3%2Fcr3t@i:1/v', SLASH),
        ('u:p@h:1/s3%23cr3t', VHOST),
        ('u:p@h:1/s3%3Fcr3t', VHOST),
        ('u:p@h:1/s3%2541', VHOST),
        ('u:p@h:65535,u:p@i:65536/v', 'a port is above 65535'),
    ],
)  # fmt: skip
def test_transport_url_that_kombu_would_not_get_is_refused_with_the_remedy(rest, text, conf):
    """A worker would retry it for ever; the error shows no part of the password."""
    with pytest.raises(ConfigurationError, match=re.escape(text)) as raised:
        transport_url(conf, f'rabbit://{rest}')

    assert not [part for part in ('s3', 'cr', '3t') if part in str(raised.value)]


def test_transport_url_with_a_reference_to_no_option_hides_the_password(tmp_path):
    """oslo.config's error about a $ in a password would deny the option, or name a part of it."""
    url = 'transport_url = rabbit://u:s3$cr3t@h:1/v'
    conf = read(tmp_path / 'w.conf', f'[DEFAULT]\n{url}\n')

    with pytest.raises(ConfigurationError, match=r'^transport_url .* percent-encode') as raised:
        transport_url(conf)

    assert 'cr3t' not in str(raised.value)


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
    ('query', 'method'), [('', 'AMQPLAIN'), ('?rabbit_login_method=EXTERNAL', 'EXTERNAL')]
)
def test_open_connection_uses_the_login_method_of_the_driver(query, method, conf, connections):
    """Connections outside of oslo.messaging log in as those of its driver do."""
    open_connection(conf, load_transport_url(conf, f'rabbit://u:p@127.0.0.1:1/{query}'))

    assert [connection.login_method for connection in connections.attempts] == [method]


@pytest.mark.parametrize('failure', [ConnectionRefusedError('refused'), ssl.SSLEOFError(8, 'EOF')])
def test_open_connection_tries_the_next_host_when_one_does_not_answer(failure, conf, connections):
    """The connection is made to the first host that responds."""
    connections.failures = {'h1': failure}

    connection = open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert connection.hostname == 'h2'


def test_open_connection_without_an_answer_names_each_host(conf, connections):
    """If no host responds, the error names each host with its cause."""
    connections.failures = {'h1': ConnectionResetError('reset'), 'h2': TimeoutError('timeout')}

    with pytest.raises(BrokerUnreachable) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert str(raised.value) == (
        'No broker responded: h1:1: reset; this port may need TLS: check port and ssl; '
        'h2:2: timeout'
    )


@pytest.mark.parametrize(
    ('failure', 'remedy'),
    [
        (AccessRefused('login refused'), '; check user and password'),
        (NotAllowed('NOT_ALLOWED - vhost p not found'), '; check the virtual host'),
        (NotAllowed("NOT_ALLOWED - access to vhost '/' refused for user 'u'"),
         '; append the name of the virtual host to the URL: it names none, or /'),
        (PLAIN_PORT, 'wrong version number; this port may be without TLS: check port and ssl'),
        (NotAllowed("NOT_ALLOWED - access to vhost 'p' refused for user 'u'"),
         '; grant the user permissions on it with "rabbitmqctl set_permissions"; the page '
         '"Security of the bus and of the cloud" of the manual has the commands'),
    ],
)  # fmt: skip
def test_open_connection_that_a_host_refuses_names_the_remedy(failure, remedy, conf, connections):
    """A refusal is permanent: no other host is tried, and the error says what to check."""
    connections.failures = {'h1': failure}

    with pytest.raises(BrokerRefused) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert str(raised.value).startswith(('The broker at h1:1 refused access: ', 'No TLS with '))
    assert str(raised.value).endswith(remedy)
    assert len(connections.attempts) == 1


@pytest.mark.parametrize(('left_s', 'timeout_s'), [(1000, 30), (7, 7), (-1, 0.5)])
def test_open_connection_bounds_the_waits_of_the_socket(left_s, timeout_s, conf, connections):
    """A green socket of eventlet ignores the timeouts in the kernel that py-amqp sets."""
    opened = open_connection(conf, load_transport_url(conf, 'rabbit://h/'), left_s=left_s)

    opened.connection.sock.settimeout.assert_called_once_with(timeout_s)


@pytest.mark.parametrize(('left_s', 'timeouts'), [(0, [0.5]), (6, [2, 3, 5]), (math.inf, [5] * 3)])
def test_open_connection_shares_its_time_among_the_hosts(left_s, timeouts, conf, connections):
    """A first host that does not respond leaves time for the others, as far as there is any."""
    connections.failures = dict.fromkeys('abc', TimeoutError('no response'))

    with pytest.raises(BrokerUnreachable):
        open_connection(conf, load_transport_url(conf, 'rabbit://a,b,c/'), left_s=left_s)

    connected = [connection.connect_timeout for connection in connections.attempts]
    assert connected == pytest.approx(timeouts, abs=0.1)


def test_drop_of_a_connection_waits_for_no_response():
    """TLS waits for the end of the other side, which a frozen broker does not send."""

    connection = Mock(connected=True)
    drop(connection)

    assert connection.mock_calls == [call.connection.sock.settimeout(0.1), call.collect()]


def test_shuffled_connects_processes_to_different_hosts(conf):
    """Each process has all hosts, in an order of its own; the URL of others does not change."""
    target = load_transport_url(conf, 'rabbit://u:p@a,u:p@b,u:p@c/')
    orders = {tuple(host.hostname for host in shuffled(target).hosts) for _ in range(200)}

    assert {tuple(sorted(order)) for order in orders} == {('a', 'b', 'c')}
    assert {order[0] for order in orders} == {'a', 'b', 'c'}
    assert [host.hostname for host in target.hosts] == ['a', 'b', 'c']


def test_obstacle_tells_a_silent_broker_from_one_that_is_away(conf):
    """The cause differs if a broker accepts connections and never responds, or is away."""
    away = load_transport_url(conf, 'rabbit://127.0.0.1:1,127.0.0.1:2/')
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        found = obstacle(conf, load_transport_url(conf, f'rabbit://127.0.0.1:{port}/'), 'e')

    none, refused = 'the broker is away or silent: No broker responded', 'Connection refused'
    assert found == f'{none}: 127.0.0.1:{port}: timed out'
    assert obstacle(conf, away, 'e') == (
        f'{none}: 127.0.0.1:1: [Errno 111] {refused}; 127.0.0.1:2: [Errno 111] {refused}'
    )
