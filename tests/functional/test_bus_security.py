"""Permissions and TLS of doc/source/bus-security.rst, on a real RabbitMQ."""

import json
import queue
import re
import shlex
import subprocess
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode

import amqp
import msgspec
import pytest
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client import reply_receiver
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.client.transport import connect, transport_url
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE, PARKING_SUFFIX, SLOW_TOPIC, TOPIC
from placement_worker.late_ack import parking
from placement_worker.late_ack.request import enveloped
from tests.broker import Broker
from tests.factories import request, zone_policy
from tests.functional import conftest
from tests.functional.conftest import CLOUD, Worker, run
from tests.functional.copies import copies
from tests.functional.engine import StockEngine
from tests.malformed_requests import GOOD
from tests.waiting import DEADLINE_S, wait_for

pytestmark = pytest.mark.long

MANUAL = Path(__file__).parents[2] / 'doc' / 'source' / 'bus-security.rst'
VHOST, PASSWORD = 'placement', 'hunter2'
WORKER, ENGINE, OPERATOR = 'placement-worker', 'engine', 'operator'
TOPICS = {'topic': TOPIC, 'slow_topic': SLOW_TOPIC}
NOTIFICATIONS = '[oslo_messaging_notifications]\ndriver = messagingv2\n'


def commands():
    """Return the rabbitmqctl commands of the manual, split as a shell does."""
    lines = MANUAL.read_text().replace('\\\n', '').splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith('    rabbitmqctl ')]


@pytest.fixture(scope='module')
def secured(own_broker):
    """Set up a broker as the manual says, with a foreign exchange and a foreign queue."""
    for command in commands():
        own_broker.control(*command, *([PASSWORD] if command[0] == 'add_user' else []))
    own_broker.control('set_permissions', '-p', VHOST, 'guest', '.*', '.*', '.*')
    with channel_of(own_broker, 'guest', 'guest') as channel:
        channel.exchange_declare('foreign', 'topic', durable=True, auto_delete=False)
        channel.queue_declare('foreign', durable=True, auto_delete=False)
    return own_broker


@pytest.fixture(scope='module')
def worker(secured, tmp_path_factory):
    """Start a worker as the worker user of the manual; its clients use the engine user."""
    worker = Worker(
        tmp_path_factory.mktemp('worker'), url_of(secured, WORKER), CLOUD, NOTIFICATIONS, **TOPICS
    )
    worker.url = url_of(secured, ENGINE)
    try:
        worker.wait_until_ready()
        yield worker
    finally:
        worker.stop()


@pytest.fixture
def client(worker):
    with closing(worker.client()) as client:
        yield client


def url_of(broker, user, password=PASSWORD, vhost=VHOST):
    return f'rabbit://{user}:{password}@127.0.0.1:{broker.port}/{vhost}'


@contextmanager
def channel_of(broker, user, password=PASSWORD):
    with conftest.amqp(url_of(broker, user, password)) as connection:
        yield connection.channel()


def publish(channel, exchange, topic, message=None):
    """Publish, and wait for the confirmation."""
    message = message or amqp.Message()
    channel.basic_publish_confirm(message, exchange=exchange, routing_key=topic)


def refusal(folder, url, settings=''):
    worker = Worker(folder, url, CLOUD, settings, **TOPICS)
    try:
        assert worker.process.wait(DEADLINE_S) == 2
    finally:
        worker.process.kill()  # a worker that waits for its broker stops slowly
        worker.process.wait(DEADLINE_S)
    (line,) = worker.stderr.read_text().splitlines()
    assert PASSWORD not in line
    return line.removeprefix('placement-worker: ')


@pytest.mark.parametrize(
    ('user', 'settings', 'access', 'remedy'),
    [
        (WORKER, '', "access to queue 'reply_",
         '; the broker runs, but this user lacks a permission; use the broker user of an '
         'operator ("Configuration of operators" in the manual)'),
        (OPERATOR, '[worker]\ntopic = other\n', "access to topic 'other' in exchange",
         'compare the topic with "rabbitmqctl list_topic_permissions"'),
    ],
    ids=['worker', 'topic'],
)  # fmt: skip
def test_command_without_a_permission_prints_one_error_with_the_remedy(
    user, settings, access, remedy, secured, worker, tmp_path
):
    """The error tells topic permissions apart; oslo.messaging logs nothing beside."""
    config = tmp_path / 'worker.conf'
    config.write_text(f'[DEFAULT]\ntransport_url = {url_of(secured, user)}\n{settings}')

    done = run('placement-policy', 'ping', '--config-file', config)

    (line,) = done.stderr.splitlines()
    assert line.startswith('placement-policy ping: The request could not be delivered: ')
    assert access in line
    assert line.endswith(remedy)


@pytest.fixture(scope='module')
def operator_config(secured, tmp_path_factory):
    """Write the file of operators as the manual shows it, for a broker without TLS."""
    (line,) = re.findall('\n +(transport_url = rabbit://operator:.*)\n', MANUAL.read_text())
    assert line.endswith('@rabbit.example.org:5671/placement')
    config = tmp_path_factory.mktemp('operator') / 'operator.conf'
    config.write_text(f'[DEFAULT]\ntransport_url = {url_of(secured, OPERATOR)}\n')
    return config


def placement_policy(config, *arguments):
    done = run('placement-policy', *arguments, '--config-file', config)
    assert done.returncode == 0, done.stderr
    return done.stdout


def park(secured, ident, request_id):
    """Put a request of the method get_capabilities into the parking lot."""
    call = {'method': 'get_capabilities', 'args': {}, 'version': '1.0'}
    parked = enveloped({**call, '_context_request_id': request_id})
    headers = {parking.PARKED_ID: ident, parking.PARKED_AT: 'at', parking.PARKED_FROM: TOPIC}
    parked.properties['application_headers'] = headers
    with channel_of(secured, 'guest', 'guest') as channel:
        publish(channel, '', f'{TOPIC}{PARKING_SUFFIX}', parked)


def test_ping_and_check_as_operator_get_a_reply(operator_config, worker, tmp_path):
    """The permissions of an operator suffice for `ping`, `worker list` and `check`."""
    assert 'testhost' in placement_policy(operator_config, 'worker', 'list')
    assert 'hostname' in placement_policy(operator_config, 'ping', '--server', 'testhost')
    assert 'hostname' in placement_policy(operator_config, 'ping')
    (tmp_path / 'request.json').write_bytes(msgspec.json.encode(GOOD))
    assert 'OK' in placement_policy(operator_config, 'check', tmp_path / 'request.json')


def test_parked_requests_as_operator_are_listed_shown_retried_and_dropped(
    operator_config, secured, worker
):
    """The permissions of an operator suffice for each command on the parking lot."""
    park(secured, 'parked-1', 'req-parked-1')
    park(secured, 'parked-2', 'req-parked-2')

    listed = placement_policy(operator_config, 'parked', 'list', '-f', 'json')
    shown = placement_policy(operator_config, 'parked', 'show', 'parked-1')
    retried = placement_policy(operator_config, 'parked', 'retry', 'parked-1')
    dropped = placement_policy(operator_config, 'parked', 'drop', 'parked-2')

    assert all(request_id in listed for request_id in ('req-parked-1', 'req-parked-2'))
    assert '"method": "get_capabilities"' in shown
    assert retried == f'Sent parked-1 to {TOPIC}; if it is parked again, its ID changes.\n'
    assert dropped == 'Deleted parked-2.\n'
    assert placement_policy(operator_config, 'parked', 'list') == 'No parked requests.\n'


def test_call_to_each_queue_of_a_worker_gets_a_reply(worker):
    """The permissions of the manual suffice for both topics and the queues of one host."""
    for topic in (TOPIC, SLOW_TOPIC, f'{TOPIC}.testhost', f'{SLOW_TOPIC}.testhost'):
        with closing(worker.client(topic=topic)) as client:
            assert client.get_capabilities().policy_types


def test_cast_with_the_permissions_of_the_manual_gets_its_reply(worker, client):
    """The permissions of the manual suffice for the reply to a cast."""
    to, received = ReplyTo('engine', 'replies', 'policy_checked'), {}
    with closing(StockEngine(worker.url, to, 'engine-1.example.org', received.__setitem__)):
        client.cast_check(GOOD, to, {'request_id': 'request-1'})
        wait_for(lambda: received)

    assert json.loads(received['request-1'])['action']['data']['status'] == 'OK'


def test_serve_replies_with_the_permissions_of_the_manual_gets_replies(client):
    """The permissions of the manual suffice for the receiver of the client."""
    received = queue.SimpleQueue()
    to = ReplyTo('engine', 'replies', 'policy_checked')

    with client.serve_replies('engine', 'replies', lambda *reply: received.put(reply)):
        client.cast_check(GOOD, to, {'request_id': 'request-served'})
        request_id, reply = received.get(timeout=DEADLINE_S)

    assert (request_id, reply.action.data['status']) == ('request-served', 'OK')


def test_dropped_reply_is_kept_by_the_policy_of_the_manual(client, monkeypatch):
    """A reply that a receiver drops reaches the next receiver of the dead letters."""
    monkeypatch.setattr(reply_receiver, 'RETRY_S', 0.01)
    monkeypatch.setattr(reply_receiver, 'DELIVERIES', 2)
    tried, kept = queue.SimpleQueue(), queue.SimpleQueue()
    to = ReplyTo('engine', 'replies', 'policy_checked')

    def fail(request_id, _):
        tried.put(request_id)
        raise ValueError('no')

    client.serve_replies('engine', 'replies.dropped', kept.put).stop()  # declares the queue
    with client.serve_replies('engine', 'replies', fail):
        client.cast_check(GOOD, to, {'request_id': 'request-dropped'})
        assert [tried.get(timeout=DEADLINE_S) for _ in range(2)] == ['request-dropped'] * 2
        with client.serve_replies('engine', 'replies.dropped', lambda *reply: kept.put(reply)):
            request_id, reply = kept.get(timeout=DEADLINE_S)

    assert (request_id, reply.action.data['status']) == ('request-dropped', 'OK')
    assert tried.empty()


def test_receiver_without_a_permission_is_refused_with_the_page_to_read(secured, worker, client):
    """A missing permission ends `serve_replies` at once, and names resource and page."""
    with pytest.raises(errors.BrokerRefused) as refused:
        client.serve_replies('engine', 'other-replies', print)

    assert "access to queue 'other-replies' in vhost 'placement' refused" in str(refused.value)
    assert 'the page "Security of the bus and of the cloud" of the manual' in str(refused.value)


def test_notifications_are_sent_with_the_permissions_of_the_manual(secured, client):
    """The permissions of the manual suffice for notifications."""
    url = url_of(secured, 'guest', 'guest')
    info, error = 'notifications.info', 'notifications.error'
    with copies(url, info) as take_info, copies(url, error) as take_error:
        client.policy_check(GOOD, {'request_id': 'request-2'})
        with pytest.raises(errors.InvalidSpec):
            client.policy_check(request('CLUSTER_SCALE_IN', [zone_policy(('a', 0))]))

        assert take_info(1, text='request-2')
        assert take_error(1, text='InvalidSpec')


def test_reply_without_write_permission_is_logged_and_the_worker_continues(worker, client):
    """A cast that names a forbidden exchange costs its reply alone; the log names the exchange."""
    client.cast_check(GOOD, ReplyTo('foreign', 'replies', 'm'), {'request_id': 'request-3'})

    dropped = 'Dropped the reply to request request-3 (exchange foreign, topic replies) after '
    wait_for(lambda: dropped in worker.log.read_text())
    assert "access to exchange 'foreign' in vhost 'placement' refused" in worker.log.read_text()
    assert client.policy_check(GOOD).action.data['status'] == 'OK'


def test_queue_that_the_engine_must_not_bind_is_reported_as_unbound(client, secured):
    """An engine learns that the queue lost its binding, and that a start of a worker repairs it."""
    with channel_of(secured, 'guest', 'guest') as channel:
        channel.queue_unbind(TOPIC, EXCHANGE, TOPIC)
        with pytest.raises(errors.NoWorkerAnswered, match=f'^Queue {TOPIC} exists, but is not bou'):
            client.policy_check(GOOD)
        channel.queue_bind(TOPIC, EXCHANGE, TOPIC)

    assert client.policy_check(GOOD).action.data['status'] == 'OK'


REPLIES = f'reply_{"1" * 32}'
FORBIDDEN_TO_ALL = {
    'declare another queue': lambda channel: channel.queue_declare('other', durable=True),
    'declare another exchange': lambda channel: channel.exchange_declare('other', 'topic'),
    'declare a queue with a longer name': lambda channel: channel.queue_declare(f'{TOPIC}x'),
    'read a foreign queue': lambda channel: channel.basic_get('foreign'),
    'consume a foreign queue': lambda channel: channel.basic_consume('foreign'),
    'empty a foreign queue': lambda channel: channel.queue_purge('foreign'),
    'delete a foreign queue': lambda channel: channel.queue_delete('foreign'),
    'write to a foreign exchange': lambda channel: publish(channel, 'foreign', 'x'),
    'delete a foreign exchange': lambda channel: channel.exchange_delete('foreign'),
    'read the notifications': lambda channel: channel.basic_get('notifications.info'),
}
FORBIDDEN_TO_OPERATORS = {
    **FORBIDDEN_TO_ALL,
    'declare a queue of the workers': lambda channel: channel.queue_declare(f'{TOPIC}.other'),
    'read requests': lambda channel: channel.basic_get(TOPIC),
    'consume requests': lambda channel: channel.basic_consume(TOPIC),
    'consume slow requests': lambda channel: channel.basic_consume(SLOW_TOPIC),
    'consume the requests of one host': lambda channel: channel.basic_consume(f'{TOPIC}.testhost'),
    'empty the queue of requests': lambda channel: channel.queue_purge(TOPIC),
    'delete the queue of requests': lambda channel: channel.queue_delete(TOPIC),
    'take the queue of requests from the exchange': lambda channel: channel.queue_unbind(
        TOPIC, EXCHANGE, TOPIC
    ),
    'get a copy of requests': lambda channel: (
        channel.queue_declare(f'reply_{"0" * 32}', durable=True, auto_delete=False),
        channel.queue_bind(f'reply_{"0" * 32}', EXCHANGE, '#'),
    ),
    'forge a notification': lambda channel: publish(channel, EXCHANGE, 'notifications.info'),
}
FORBIDDEN = {
    OPERATOR: FORBIDDEN_TO_OPERATORS,
    ENGINE: {
        **FORBIDDEN_TO_OPERATORS,
        'write to a queue past the exchange': lambda channel: publish(channel, '', TOPIC),
    },
    WORKER: {
        **FORBIDDEN_TO_ALL,
        'read replies': lambda channel: channel.basic_get(REPLIES),
        'declare the exchange of an engine': lambda channel: channel.exchange_declare(
            'engine', 'topic', auto_delete=False
        ),
        'declare a reply queue': lambda channel: channel.queue_declare(f'reply_{"2" * 32}'),
        'read the replies to casts': lambda channel: channel.basic_get('replies'),
    },
}


@pytest.mark.parametrize(
    ('user', 'operation'),
    [(user, operation) for user, operations in FORBIDDEN.items() for operation in operations],
)
def test_user_without_permission_is_refused(user, operation, secured, worker):
    """No user reads messages that are not for it, or touches resources of others."""
    with channel_of(secured, 'guest', 'guest') as channel:
        for queue in (REPLIES, 'replies'):
            arguments = {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
            channel.queue_declare(queue, durable=True, auto_delete=False, arguments=arguments)
    with channel_of(secured, user) as channel, pytest.raises(amqp.exceptions.AccessRefused):
        FORBIDDEN[user][operation](channel)


@pytest.mark.parametrize('user', [WORKER, ENGINE, OPERATOR])
def test_users_of_the_manual_are_refused_in_another_virtual_host(user, secured):
    """The users of the manual have no access to another virtual host."""
    with (
        pytest.raises(amqp.exceptions.NotAllowed, match="access to vhost '/' refused for user"),
        conftest.amqp(f'rabbit://{user}:{PASSWORD}@127.0.0.1:{secured.port}/') as connection,
    ):
        connection.connect()


QUEUES = r'placement-worker(-slow|-suspects|-parked)?(\..+)?'


@pytest.mark.parametrize(
    ('configure', 'write', 'read', 'permission', 'resource'),
    [
        ('^other$', '.*', '.*', 'configure', f"exchange '{EXCHANGE}'"),
        (f'^{EXCHANGE}$', '.*', '.*', 'configure', f"queue '{TOPIC}'"),
        (f'^({EXCHANGE}|{TOPIC})$', '.*', '.*', 'configure', f"queue '{TOPIC}.testhost'"),
        ('.*', r'^amq\.default$', '.*', 'write', f"queue '{TOPIC}'"),
        ('.*', f'^{QUEUES}$', '.*', 'write', "exchange 'amq.default'"),
        ('.*', '.*', f'^{QUEUES}$', 'read', f"exchange '{EXCHANGE}'"),
        ('.*', '.*', f'^{EXCHANGE}$', 'read', f"queue '{TOPIC}'"),
    ],
)
def test_worker_without_a_permission_names_it_at_start(
    configure, write, read, permission, resource, secured, worker, tmp_path
):
    """A worker that lacks a permission does not start, and names permission and resource."""
    secured.control('set_permissions', '-p', VHOST, lesser(secured), configure, write, read)

    line = refusal(tmp_path, url_of(secured, 'lesser'))

    assert line.replace(f'- {permission} access', '- access') == (  # RabbitMQ 4.3 names it
        f'The {permission} permission is missing on the broker: '
        f"ACCESS_REFUSED - access to {resource} in vhost 'placement' refused for user 'lesser'; "
        'the page "Security of the bus and of the cloud" of the manual has the rabbitmqctl '
        'command that grants it'
    )


def test_upgrade_check_before_a_first_start_checks_the_permissions_and_creates_nothing(
    secured, tmp_path
):
    """The check fails for each permission without which the worker would not start."""
    vhost = 'fresh'
    secured.control('add_vhost', vhost)
    (granted,) = [command[4:] for command in commands() if command[3:4] == [WORKER]]
    config = tmp_path / 'worker.conf'
    config.write_text(
        f'[DEFAULT]\ntransport_url = {url_of(secured, lesser(secured), vhost=vhost)}\n'
        f'[cloud]\nbackend = inventory\n[worker]\nhost = testhost\n'
    )

    def check(*permissions):
        secured.control('set_permissions', '-p', vhost, 'lesser', *permissions)
        command = ('--config-file', config, 'upgrade', 'check', '--json')
        checks = json.loads(run('placement-worker-status', *command).stdout)['checks']
        return next(row['details'] for row in checks if row['check'] == 'Exchange and queues')

    refused = [check(*granted[:lost], 'none', *granted[lost + 1 :]) for lost in range(3)]

    missing = [text.partition(' permission is missing')[0] for text in refused]
    assert missing == ['The configure', 'The write', 'The read']
    assert check(*granted).startswith('Not declared yet; a worker declares: exchange ')
    assert secured.control('list_queues', '-p', vhost, 'name') == ''
    assert EXCHANGE not in secured.control('list_exchanges', '-p', vhost, 'name')


def lesser(broker):
    """Return a user whose permissions a test can change."""
    if 'lesser' not in broker.control('list_users'):
        broker.control('add_user', 'lesser', PASSWORD)
    return 'lesser'


class Certificates:
    """An authority with a certificate for 127.0.0.1, and an unrelated authority."""

    def __init__(self, folder):
        self.folder = folder
        for name in ('authority', 'other'):
            self._openssl('req', '-x509', *self._key(name), '-out', f'{name}.pem', '-days', '2')
        self._openssl('req', '-new', *self._key('server'), '-out', 'server.csr')
        (folder / 'names').write_text('subjectAltName = IP:127.0.0.1\n')
        authority = ('-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial')
        self._openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', *authority,
                      '-days', '2', '-extfile', 'names')  # fmt: skip
        self.authority, self.other = folder / 'authority.pem', folder / 'other.pem'
        self.server = {
            'cacertfile': self.authority,
            'certfile': folder / 'server.pem',
            'keyfile': folder / 'server.key',
        }

    def _key(self, name):
        kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
        return [*kind, '-keyout', f'{name}.key', '-subj', f'/CN={name}']

    def _openssl(self, *arguments):
        options = {'cwd': self.folder, 'capture_output': True, 'timeout': DEADLINE_S}
        subprocess.run(['openssl', *arguments], check=True, **options)


@pytest.fixture(scope='module')
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp('certificates'))


@pytest.fixture(scope='module')
def tls_broker(certificates):
    with closing(Broker(tls=certificates.server)) as broker:
        yield broker.start()


def tls(**files):
    options = {'[oslo_messaging_rabbit]\nssl': 'true', **files}
    return ''.join(f'{name} = {value}\n' for name, value in options.items())


def test_worker_and_client_with_the_authority_of_the_broker_use_tls(
    tls_broker, certificates, tmp_path
):
    """A worker and a client that trust the authority of the broker communicate over TLS."""
    worker = Worker(
        tmp_path, tls_broker.url, CLOUD, tls(ssl_ca_file=certificates.authority), **TOPICS
    )
    worker.url += '?' + urlencode({'ssl': 'true', 'ssl_ca_file': certificates.authority})
    try:
        worker.wait_until_ready()
        with closing(worker.client()) as client:
            assert client.policy_check(GOOD).action.data['status'] == 'OK'
    finally:
        assert worker.stop() == 0


UNTRUSTED = 'certificate verify failed'
OTHER_HOST = "certificate is not valid for 'localhost'"


@pytest.mark.parametrize(
    ('host', 'authority', 'more', 'cause'),
    [
        ('127.0.0.1', 'other', {}, UNTRUSTED),
        # TLS without ssl_ca_file verifies the certificate with the authorities of the system.
        ('127.0.0.1', None, {}, f'{UNTRUSTED}: self-signed certificate'),
        ('localhost', 'authority', {}, OTHER_HOST),
        ('localhost', 'authority', {'ssl_enforce_hostname_verification': 'false'}, OTHER_HOST),
    ],
    ids=['another authority', 'authorities of the system', 'another host', 'not enforced'],
)
def test_worker_refuses_a_certificate_that_it_does_not_trust(
    tls_broker, certificates, tmp_path, host, authority, more, cause
):
    """A worker does not connect to a broker of another authority or with another host name."""
    files = {'ssl_ca_file': getattr(certificates, authority)} if authority else {}

    line = refusal(tmp_path, tls_broker.url.replace('127.0.0.1', host), tls(**files, **more))

    assert line.startswith(f'No TLS with the broker at {host}:{tls_broker.port}: ')
    assert cause in line


def test_worker_at_a_broker_without_tls_reports_it(own_broker, certificates, tmp_path):
    """A worker with TLS at a port without TLS does not start, and its error names the cause."""
    line = refusal(tmp_path, own_broker.url, tls(ssl_ca_file=certificates.authority))

    assert line == (
        f'No TLS with the broker at 127.0.0.1:{own_broker.port}: [SSL: WRONG_VERSION_NUMBER] wrong '
        'version number; this port may be without TLS: check port and ssl'
    )


HOSTS, NOWHERE = '/etc/hosts', '/nonexistent'


@pytest.mark.parametrize(
    ('files', 'message'),
    [
        ({'ssl_ca_file': NOWHERE}, 'ssl_ca_file cannot be read: /nonexistent: No such file'),
        ({'ssl_ca_file': '/'}, 'ssl_ca_file cannot be read: /: Is a directory'),
        ({'ssl_ca_file': HOSTS}, 'ssl_ca_file = /etc/hosts cannot be used: '),
        ({'ssl_cert_file': HOSTS, 'ssl_key_file': HOSTS},
         'ssl_cert_file = /etc/hosts cannot be used: '),
        ({'ssl_cert_file': HOSTS, 'ssl_key_file': NOWHERE},
         'ssl_key_file cannot be read: /nonexistent'),
    ],
)  # fmt: skip
def test_tls_file_that_cannot_be_used_is_reported_with_its_option(
    files, message, tls_broker, tmp_path
):
    """The error about a TLS file names the option and the file."""
    assert refusal(tmp_path, tls_broker.url, tls(**files)).startswith(message)


@pytest.mark.parametrize('kind', ['other', 'none'])
def test_client_refuses_an_untrusted_certificate(kind, tls_broker, certificates):
    """A client does not send requests to a broker that it does not trust."""
    query = {'ssl': 'true', **({'ssl_ca_file': certificates.other} if kind == 'other' else {})}

    refusal = rf'No TLS with the broker at .* {UNTRUSTED}'
    with (
        closing(PolicyClient(f'{tls_broker.url}?{urlencode(query)}', timeout_s=60)) as client,
        pytest.raises(errors.BrokerRefused, match=refusal),
    ):
        client.get_capabilities()


def test_manual_names_existing_tls_options():
    """The TLS options in the examples of the manual are options of oslo.messaging."""
    connect(cfg.CONF, transport_url(cfg.CONF, 'rabbit://')).cleanup()  # registers the options
    named = set(re.findall(r'\bssl_[a-z_]+\b(?!\.)', MANUAL.read_text()))

    assert {'ssl_ca_file', 'ssl_cert_file', 'ssl_key_file'} <= named
    assert named <= set(cfg.CONF.oslo_messaging_rabbit)
