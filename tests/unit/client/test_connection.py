"""Connections to the broker outside of oslo.messaging."""

import ssl
from types import SimpleNamespace

import pytest
from amqp.exceptions import AccessRefused, NotAllowed

from placement_worker.client.connection import (
    Connection,
    drop,
    heartbeat_connector,
    is_true,
    open_connection,
    shuffled,
)
from placement_worker.client.transport import load_transport_url
from placement_worker.errors import BrokerRefused, BrokerUnreachable

PLAIN_PORT = ssl.SSLError(1, '[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)')
PLAIN_PORT.reason = 'WRONG_VERSION_NUMBER'


class Socket:
    """A socket that keeps its timeout."""

    def settimeout(self, seconds):
        self.timeout_s = seconds


@pytest.fixture
def connections(monkeypatch):
    """Replace kombu's connection; each attempt to connect raises `failures[host]`, if any."""

    class FakeConnection(Connection):
        attempts = []
        failures = {}
        transport = SimpleNamespace(_quick_recv=None)
        connection = SimpleNamespace(sock=Socket(), transport=transport, blocking_read=None)

        def ensure_connection(self, **_):
            self.attempts.append(self)
            if self.hostname in self.failures:
                raise self.failures[self.hostname]

    monkeypatch.setattr('placement_worker.client.connection.Connection', FakeConnection)
    return FakeConnection


@pytest.mark.parametrize(
    ('query', 'method'), [('', 'AMQPLAIN'), ('?rabbit_login_method=EXTERNAL', 'EXTERNAL')]
)
def test_open_connection_uses_the_login_method_of_the_driver(query, method, conf, connections):
    """Connections outside of oslo.messaging log in as those of its driver do."""
    open_connection(conf, load_transport_url(conf, f'rabbit://u:p@127.0.0.1:1/{query}'))

    assert [connection.login_method for connection in connections.attempts] == [method]


def test_open_connection_tries_the_next_host_when_one_does_not_answer(conf, connections):
    """The connection is made to the first host that responds."""
    connections.failures = {'h1': ConnectionRefusedError('refused')}

    connection = open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert connection.hostname == 'h2'


def test_open_connection_without_an_answer_names_each_host(conf, connections):
    """If no host responds, the error names each host with its cause."""
    connections.failures = {'h1': ConnectionRefusedError('refused'), 'h2': TimeoutError('timeout')}

    with pytest.raises(BrokerUnreachable) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert str(raised.value) == 'No broker responded: h1:1: refused; h2:2: timeout'


@pytest.mark.parametrize(
    ('failure', 'message'),
    [
        (
            AccessRefused('login refused', (0, 0)),
            'The broker at h1:1 refused access: (403) login refused; check user and password',
        ),
        (ssl.SSLCertVerificationError(1, 'verify failed'), 'No TLS with the broker at h1:1: '),
    ],
)
def test_open_connection_that_a_host_refuses_tries_no_other_host(
    failure, message, conf, connections
):
    """A refused login and an untrusted certificate are permanent errors."""
    connections.failures = {'h1': failure}

    with pytest.raises(BrokerRefused) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert str(raised.value).startswith(message)
    assert len(connections.attempts) == 1


@pytest.mark.parametrize(
    ('failure', 'remedy'),
    [
        (AccessRefused('login refused'), '; check user and password'),
        (NotAllowed('NOT_ALLOWED - vhost p not found'), '; check the virtual host'),
        (
            NotAllowed("NOT_ALLOWED - access to vhost '/' refused for user 'u'"),
            '; append the name of the virtual host to the URL: it names none, or /',
        ),
        (PLAIN_PORT, 'wrong version number; this port may be without TLS: check port and ssl'),
        (
            NotAllowed("NOT_ALLOWED - access to vhost 'p' refused for user 'u'"),
            '; grant the user permissions on it with "rabbitmqctl set_permissions"; the page '
            '"Security of the bus" of the manual has the commands',
        ),
    ],
)
def test_open_connection_that_a_host_refuses_names_the_remedy(failure, remedy, conf, connections):
    """The error says which part of the transport URL to check."""
    connections.failures = {'h1': failure}

    with pytest.raises(BrokerRefused) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1/'))

    assert str(raised.value).endswith(remedy)


def test_open_connection_that_a_host_resets_suggests_tls(conf, connections):
    """RabbitMQ resets a connection without TLS to a port that needs it."""
    connections.failures = {'h1': ConnectionResetError('Connection reset by peer')}

    with pytest.raises(BrokerUnreachable) as raised:
        open_connection(conf, load_transport_url(conf, 'rabbit://h1:1/'))

    assert str(raised.value) == (
        'No broker responded: h1:1: Connection reset by peer; this port may need TLS: check port '
        'and ssl'
    )


def test_open_connection_that_tls_ends_early_tries_the_next_host(conf, connections):
    """A TLS connection that ends during the handshake is a transient error."""
    connections.failures = {'h1': ssl.SSLEOFError(8, 'EOF')}

    connection = open_connection(conf, load_transport_url(conf, 'rabbit://h1:1,h2:2/'))

    assert connection.hostname == 'h2'


@pytest.mark.parametrize(
    ('option', 'value'), [('true', True), ('On', True), (True, True), ('0', False), (False, False)]
)
def test_is_true_reads_the_values_of_options_and_queries(option, value):
    """Boolean options read alike from the configuration and from a URL."""
    assert is_true(option) is value


@pytest.mark.parametrize(('left_s', 'timeout_s'), [(1000, 30), (7, 7), (-1, 0.5)])
def test_open_connection_bounds_the_waits_of_the_socket(left_s, timeout_s, conf, connections):
    """A green socket of eventlet ignores the timeouts in the kernel that py-amqp sets."""
    opened = open_connection(conf, load_transport_url(conf, 'rabbit://h/'), left_s=left_s)

    assert opened.connection.sock.timeout_s == timeout_s


def test_open_connection_begins_no_attempt_after_its_time(conf, connections):
    """Hosts that do not respond take the time of the first ones alone."""
    connections.failures = dict.fromkeys('abc', TimeoutError('no response'))

    with pytest.raises(BrokerUnreachable):
        open_connection(conf, load_transport_url(conf, 'rabbit://a,b,c/'), left_s=0)

    assert [connection.hostname for connection in connections.attempts] == ['a']
    assert connections.attempts[0].connect_timeout == 0.5


def test_heartbeat_connector_negotiates_the_heartbeat_of_the_url(conf, connections):
    """A connection without heartbeats would not notice a silent broker."""
    url = load_transport_url(conf, 'rabbit://h/?heartbeat_timeout_threshold=7')

    assert heartbeat_connector(conf, url)().transport_options['heartbeat'] == 7


def test_drop_of_a_connection_waits_for_no_response(connections):
    """TLS waits for the end of the other side, which a frozen broker does not send."""

    class Connected(connections):
        connected = True

        def collect(self):
            assert self.connection.sock.timeout_s < 1
            self.is_collected = True

    connection = Connected()
    drop(connection)

    assert connection.is_collected


def test_shuffled_connects_processes_to_different_hosts(conf):
    """Each process has all hosts, in an order of its own; the URL of others does not change."""
    target = load_transport_url(conf, 'rabbit://u:p@a,u:p@b,u:p@c/')
    orders = {tuple(host.hostname for host in shuffled(target).hosts) for _ in range(200)}

    assert {tuple(sorted(order)) for order in orders} == {('a', 'b', 'c')}
    assert {order[0] for order in orders} == {'a', 'b', 'c'}
    assert [host.hostname for host in target.hosts] == ['a', 'b', 'c']
