"""placement-worker on a real RabbitMQ: what callers see of it."""

import datetime
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import kombu
import msgspec
import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.connection import connect, transport_url
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import CheckReply, ReplyTo
from placement_worker.contract.topics import EXCHANGE
from tests.factories import changed, nodes, request, zone_policy
from tests.functional.conftest import amqp
from tests.malformed_requests import GOOD, TABLE

CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}


@pytest.fixture(scope='module')
def worker(start_worker):
    notifications = (
        '[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = test-notifications\n'
    )
    return start_worker(CLOUD, notifications)


@pytest.fixture
def client(worker):
    client = worker.client()
    yield client
    client.close()


@pytest.fixture
def raw(worker):
    """An oslo.messaging client of no help: what other engines would write."""
    connection = connect(cfg.CONF, transport_url(cfg.CONF, worker.url))
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=worker.topic, version='1.0')
    yield oslo_messaging.get_rpc_client(connection, target, timeout=20)
    connection.cleanup()


def test_the_reply_over_the_wire_is_that_of_the_worker_called_directly(client, check):
    reply = msgspec.to_builtins(client.policy_check(GOOD))
    expected = check(GOOD, **CLOUD)

    for decision in (*reply['decisions'], *expected['decisions']):
        del decision['elapsed_ms']
    assert reply == expected


def test_a_request_may_be_an_object_and_the_reply_is_one_then(raw):
    reply = raw.call({}, 'policy_check', request=GOOD)

    assert reply['action']['data']['status'] == 'OK'
    assert isinstance(raw.call({}, 'policy_check', request=json.dumps(GOOD)), str)


@pytest.mark.parametrize(
    'row', [row for row in TABLE if isinstance(row.sent, dict)], ids=lambda row: row.name
)
def test_a_refused_request_raises_the_same_error_at_the_caller_in_the_same_words(raw, row):
    with pytest.raises(getattr(errors, row.error)) as refused:
        raw.call({}, 'policy_check', request=row.sent)

    assert refused.value.args == (row.message,)


def test_a_call_says_until_when_it_waits(client, worker):
    with amqp(worker.url) as connection:
        spy = _spy(connection, worker)
        client.policy_check(GOOD)
        sent = json.loads(json.loads(spy.get(no_ack=True).body)['oslo.message'])
        spy.delete()

    expires_at = datetime.datetime.fromisoformat(json.loads(sent['args']['request'])['expires_at'])
    assert 10 < (expires_at - datetime.datetime.now(datetime.UTC)).total_seconds() <= 20


def test_the_clients_errors_carry_no_traceback_of_the_worker(client):
    with pytest.raises(errors.InvalidSpec) as refused:
        client.policy_check(request('CLUSTER_SCALE_IN', [zone_policy(('a', 0))]))

    assert (
        str(refused.value)
        == 'Expected `int` >= 1, got `0` - at `$.policies[0].spec.properties.zones[0].weight`'
    )


def test_the_other_methods_answer_too(client):
    spec = client.policy_validate(zone_policy('a')['spec'], check_resources=True)

    assert spec.properties == {'zones': [{'name': 'a', 'weight': 100}]}
    assert 'senlin.policy.deletion-1.1' in [one.name for one in client.policy_type_list()]
    assert client.policy_type_get('senlin.policy.deletion-1.1').schema
    assert client.get_capabilities().pid != os.getpid()


def test_only_the_methods_of_the_contract_can_be_called(raw):
    for method in ('_endpoints', '__init__', 'target', 'nothing'):
        with pytest.raises(oslo_messaging.RemoteError) as refused:
            raw.call({}, method, request={})
        assert refused.value.exc_type == 'NoSuchMethod'


def test_a_newer_minor_version_is_refused_with_oslo_messagings_own_error(raw):
    with pytest.raises(oslo_messaging.RemoteError) as refused:
        raw.prepare(version='1.1').call({}, 'policy_check', request=GOOD)

    assert refused.value.exc_type == 'UnsupportedVersion'


def test_a_client_capped_below_what_its_request_needs_sends_nothing(worker):
    with (
        pytest.raises(oslo_messaging.RPCVersionCapError),
        closing(worker.client(version_cap='0.9')) as client,
    ):
        client.get_capabilities()
    with closing(worker.client(version_cap='1.3')) as client:
        assert client.get_capabilities()


def test_one_worker_can_be_addressed_alone(raw):
    alone = raw.prepare(server='testhost')

    assert alone.call({}, 'get_capabilities', request={})['policy_types']


def test_slow_requests_have_a_topic_of_their_own(worker):
    with closing(PolicyClient(worker.url, topic=f'{worker.topic}-slow', timeout_s=20)) as slow:
        assert slow.policy_check(GOOD).action.data['status'] == 'OK'


def test_the_log_joins_request_id_user_and_project_with_the_outcome(client, worker):
    context = {'request_id': 'request-17', 'user_id': 'user-17', 'project_id': 'project-17'}
    context['global_request_id'] = 'global-17'

    client.policy_check(GOOD, context)

    (line,) = [
        line
        for line in worker.log.read_text().splitlines()
        if 'request-17' in line and ' INFO ' in line
    ]
    assert '[global-17 request-17 user-17 project-17' in line
    assert "BEFORE CLUSTER_SCALE_IN of cluster 'c1': OK in " in line


@pytest.mark.parametrize(
    'context', [{'request_id': 7}, {'request_id': 'a\nb'}, {'user_id': ['x']}, {'password': 'p'}]
)
def test_a_context_of_any_kind_is_put_up_with(raw, context):
    assert raw.call(context, 'policy_check', request=GOOD)['action']['data']['status'] == 'OK'


GARBAGE = [
    b'',
    b'\0\xff\xfe',
    b'{',
    b'null',
    b'[]',
    b'7',
    b'{}',
    b'{"oslo.version": "2.0"}',
    b'{"oslo.version": "9.0", "oslo.message": "{}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{"}',
    b'{"oslo.version": "2.0", "oslo.message": "[]"}',
    b'{"oslo.version": "2.0", "oslo.message": "{}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": 7}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": \\"policy_check\\", \\"args\\": []}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": \\"policy_check\\", \\"args\\": {}}"}',
    b'[' * 100000,
]


def test_garbage_on_the_queue_is_dropped_and_the_next_request_answered(worker, client):
    with amqp(worker.url) as connection:
        producer = connection.Producer()
        for body in GARBAGE:
            for content_type in ('application/json', 'application/octet-stream', 'nonsense/x'):
                producer.publish(
                    body,
                    exchange=EXCHANGE,
                    routing_key=worker.topic,
                    content_type=content_type,
                    content_encoding='utf-8' if content_type == 'application/json' else 'binary',
                )

    assert client.policy_check(GOOD).action.data['status'] == 'OK'
    with amqp(worker.url) as connection:
        assert (
            connection.default_channel.queue_declare(worker.topic, passive=True).message_count == 0
        )
    assert worker.process.poll() is None


def test_a_cast_is_decided_and_its_reply_goes_to_where_it_is_wanted(worker, client):
    received = []
    arrived = threading.Semaphore(0)

    class Engine:
        @oslo_messaging.expose
        def policy_checked(self, context, request_id, reply):
            received.append((request_id, reply))
            arrived.release()

    connection = connect(cfg.CONF, transport_url(cfg.CONF, worker.url))
    target = oslo_messaging.Target(exchange='test-engine', topic='test-replies', server='engine-1')
    engine = oslo_messaging.get_rpc_server(connection, target, [Engine()])
    engine.start()
    to = ReplyTo('test-engine', 'test-replies', 'policy_checked')
    client.cast_check(GOOD, to, {'request_id': 'request-18'})
    assert arrived.acquire(timeout=20)
    wrong = request(
        'CLUSTER_SCALE_IN', [{**zone_policy('a'), 'spec': {'type': 'x', 'version': '1.0'}}]
    )
    client.cast_check(wrong, to, {'request_id': 'request-19'})
    assert arrived.acquire(timeout=20)
    engine.stop()
    engine.wait()
    connection.cleanup()

    (first_id, first), (second_id, second) = received
    assert (first_id, second_id) == ('request-18', 'request-19')
    assert msgspec.json.decode(first, type=CheckReply).action.data['status'] == 'OK'
    assert json.loads(second)['error']['type'] == 'PolicyTypeNotFound'


def test_where_a_reply_goes_may_be_plain_data_and_is_checked_before_anything_is_sent(client):
    client.cast_check(GOOD, {'exchange': 'test-engine', 'topic': 'test-nobody', 'method': 'm'})

    with pytest.raises(errors.InvalidRequest, match='missing required field `topic`'):
        client.cast_check(GOOD, {'exchange': 'test-engine'})


def test_a_cast_that_is_refused_is_logged(worker, raw):
    raw.cast({'request_id': 'request-24'}, 'policy_check', request={'target': 'NOW'})

    _wait_for(
        lambda: 'policy_check refused: InvalidRequest: Expected one of' in worker.log.read_text()
    )


def test_a_reply_that_nobody_takes_is_logged_and_the_worker_goes_on(worker, client):
    client.cast_check(
        GOOD, ReplyTo('test-engine', 'test-nobody', 'm'), {'request_id': 'request-20'}
    )

    given_up = (
        'Gave up the reply to request request-20 (exchange test-engine, topic test-nobody) after '
    )
    _wait_for(lambda: given_up in worker.log.read_text())
    assert client.policy_check(GOOD).action.data['status'] == 'OK'


def test_a_request_that_expired_is_answered_with_an_error(client):
    expired = changed(GOOD, lambda r: r.update(expires_at='2020-01-01T00:00:00Z'))

    assert client.policy_check(expired).action.data['reason'] == 'Request expired'


def _spy(connection, worker):
    """A queue that gets a copy of each request to a worker."""
    queue = kombu.Queue('test-spy', kombu.Exchange(EXCHANGE, 'topic'), worker.topic)(
        connection.default_channel
    )
    queue.queue_declare()
    queue.queue_bind()
    return queue


def _notified(url, topic):
    """All notifications that wait on a topic."""
    with amqp(url) as connection:
        channel = connection.default_channel
        while (message := channel.basic_get(topic, no_ack=True)) is not None:
            yield json.loads(json.loads(message.body)['oslo.message'])


def _wait_for(condition, timeout_s=20):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, 'it did not come about in time'
        time.sleep(0.05)


def test_notifications_tell_of_start_end_and_error(worker, client, raw):
    list(_notified(worker.url, 'test-notifications.info'))
    list(_notified(worker.url, 'test-notifications.error'))

    reply = client.policy_check(GOOD, {'request_id': 'request-21'})
    with pytest.raises(errors.InvalidRequest):
        raw.call({'request_id': 'request-22'}, 'policy_check', request={})

    start, end = _notified(worker.url, 'test-notifications.info')
    (error,) = _notified(worker.url, 'test-notifications.error')
    assert {n['publisher_id'] for n in (start, end, error)} == {'placement-worker.testhost'}
    assert (start['event_type'], end['event_type'], error['event_type']) == (
        'policy_check.start',
        'policy_check.end',
        'policy_check.error',
    )
    assert start['payload']['request_id'] == 'request-21'
    assert end['payload'] == {
        **msgspec.to_builtins(reply),
        'request_id': 'request-21',
        'target': 'BEFORE',
        'cluster': {'id': 'c1'},
    }
    assert error['payload'] == {
        'request_id': 'request-22',
        'class': 'InvalidRequest',
        'message': 'Object missing required field `target` - at `$`',
    }


SECRETS = ('hunter2-admin', 'hunter2-data', 'hunter2-trust', 'hunter2-token', 'hunter2-node')


def test_no_secret_is_on_the_queue_in_the_log_in_notifications_or_in_replies(
    worker, client, raw, broker_url
):
    """Of a profile only two properties travel, and of a context only ids; the worker drops what
    others send.
    """
    secret = {
        'availability_zone': None,
        'admin_pass': SECRETS[0],
        'user_data': SECRETS[1],
        'context': {'region_name': None, 'password': SECRETS[0]},
    }
    asked = changed(GOOD, lambda r: r['cluster']['profile'].update(properties=secret))
    asked['credentials'] = {'trust_id': SECRETS[2]}
    asked['cluster']['nodes'][0].update(
        profile={'type': 'os.nova.server-1.0', 'properties': secret},
        details={'adminPass': SECRETS[4]},
    )
    context = {
        'request_id': 'request-23',
        'password': SECRETS[0],
        'trusts': [SECRETS[2]],
        'auth_token': SECRETS[3],
    }
    failing = changed(asked, lambda r: r['cluster']['nodes'][0].update(index='x'))

    with amqp(broker_url) as connection:
        spy = _spy(connection, worker)
        replies = [
            repr(client.policy_check(asked, context)),
            repr(raw.call(context, 'policy_check', request=asked)),
        ]
        for caller in (
            lambda: client.policy_check(failing, context),
            lambda: raw.call(context, 'policy_check', request=failing),
        ):
            with pytest.raises(errors.InvalidRequest) as refused:
                caller()
            replies.append(str(refused.value))
        queued = str(spy.get(no_ack=True).body)
        spy.delete()

    notifications = [
        *_notified(broker_url, 'test-notifications.info'),
        *_notified(broker_url, 'test-notifications.error'),
    ]
    assert len(notifications) >= 5
    seen = {
        'log': worker.log.read_text(),
        'replies': repr(replies),
        'notifications': repr(notifications),
    }
    for place, text in seen.items():
        for word in SECRETS:
            assert word not in text, f'{word} stands in {place}'
    assert SECRETS[2] in queued, 'the trust has to travel, or the worker cannot act for the owner'
    for word in (SECRETS[0], SECRETS[1], SECRETS[3], SECRETS[4]):
        assert word not in queued, f'{word} stands on the queue'


def test_two_processes_share_the_load(start_worker):
    worker = start_worker(CLOUD, workers=2)
    asked = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=20, b=8))

    def pid(_):
        return client.get_capabilities().pid

    with closing(worker.client()) as client, ThreadPoolExecutor(8) as callers:
        pids = set(callers.map(pid, range(40)))
        replies = list(callers.map(lambda _: client.policy_check(asked).action.data, range(100)))

    assert len(pids) == 2
    assert all(reply == replies[0] for reply in replies)


def test_the_command_line_asks_running_workers(worker, tmp_path):
    file = tmp_path / 'request.json'
    file.write_text(json.dumps(GOOD))
    for who in (['--config-file', str(worker.config)],):
        done = subprocess.run(
            [sys.executable, '-m', 'placement_worker', 'check', str(file), '-f', 'json', *who],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, '')
        assert json.loads(done.stdout)['action']['data']['status'] == 'OK'


def test_the_sample_logging_configuration_shows_whose_request_it_was(start_worker):
    sample = Path(__file__).parents[2] / 'conf' / 'logging.conf'
    worker = start_worker(CLOUD, f'log_config_append = {sample}')

    with closing(worker.client()) as client:
        client.policy_check(GOOD, {'request_id': 'request-31', 'user_id': 'user-31'})

    lines = worker.stderr.read_text().splitlines()
    assert [
        line for line in lines if 'request-31 user-31' in line and "of cluster 'c1': OK" in line
    ]
    assert not [line for line in lines if ' DEBUG ' in line]


def test_a_topic_that_no_worker_ever_served_is_told_at_once(broker_url):
    started = time.monotonic()
    with (
        closing(PolicyClient(broker_url, topic='test-never', timeout_s=30)) as client,
        pytest.raises(errors.NoWorkerAnswered, match='There is no queue for topic test-never'),
    ):
        client.get_capabilities()
    assert time.monotonic() - started < 10


def test_a_stopped_worker_ends_with_status_0_and_its_callers_are_told(start_worker):
    worker = start_worker(CLOUD)

    assert worker.stop() == 0
    with (
        pytest.raises(
            errors.NoWorkerAnswered,
            match=r'No worker answered on topic .* within 1 s: is placement-worker',
        ),
        closing(worker.client(timeout_s=1)) as client,
    ):
        client.get_capabilities()


@pytest.mark.parametrize(
    ('config', 'message'),
    [
        (
            '',
            '[service_auth] auth_type is not set: [cloud] backend = openstack needs a service user',
        ),
        ('[cloud]\nbackend = inventory\n', '[cloud] backend = inventory needs inventory_file'),
        (
            '[cloud]\nbackend = inventory\ninventory_file = /nonexistent\n',
            '[cloud] inventory_file: The cloud ',
        ),
        ('[cloud]\nbackend = aws\n', 'Value for option backend from '),
        (
            '[worker]\ntopic = t\nslow_topic = t\n',
            '[worker] topic and slow_topic must differ, both are t',
        ),
        (
            '[DEFAULT]\ntransport_url = hello\n[cloud]\nbackend = inventory\ninventory_file = CLOUD\n',
            'The transport URL is not valid: No scheme specified',
        ),
        (
            '[DEFAULT]\ntransport_url = nope://x/\n[cloud]\nbackend = inventory\ninventory_file = CLOUD\n',
            'The transport URL cannot be used: Failed to load transport driver "nope"',
        ),
        (
            '[DEFAULT]\ntransport_url = WRONG\n[cloud]\nbackend = inventory\ninventory_file = CLOUD\n',
            'The broker at 127.0.0.1:',
        ),
        (
            '[oslo_messaging_tracing]\ntracing_enabled = true\notlp_protocol = grpc\n',
            '[oslo_messaging_tracing] tracing_enabled needs opentelemetry.exporter.otlp.proto.grpc, which is not '
            'installed: ',
        ),
        ('hello', 'Failed to parse '),
        ('\xff\xfe', 'Failed to parse '),
        ('[worker]\nworkers = 0\n', 'Value for option workers from '),
        (
            '[worker]\nengine_timeout_s = 900\n',
            '[worker] engine_timeout_s (900 s) must be less than [DEFAULT] graceful_shutdown_timeout (900 s)',
        ),
        (
            '[DEFAULT]\ngraceful_shutdown_timeout = 0\n',
            '[DEFAULT] graceful_shutdown_timeout (endless) must be less than [worker] consumer_timeout_s (1800 s)',
        ),
    ],
)
def test_a_configuration_that_cannot_work_is_told_in_a_line(config, message, tmp_path, broker_url):
    (tmp_path / 'cloud').write_text('zones: {a: true}')
    wrong = re.sub('//.*@', '//guest:hunter2@', broker_url)
    config = config.replace('CLOUD', str(tmp_path / 'cloud')).replace('WRONG', wrong)
    (tmp_path / 'c').write_text(config)
    program = Path(sys.executable).with_name('placement-worker')

    done = subprocess.run(
        [program, '--config-file', tmp_path / 'c'],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 2
    assert done.stderr.startswith(f'placement-worker: {message}'), done.stderr
    assert done.stderr.count('\n') == 1
    assert 'hunter2' not in done.stderr
