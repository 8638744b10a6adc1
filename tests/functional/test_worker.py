"""placement-worker on a real RabbitMQ, as its callers see it."""

import datetime
import json
import os
import re
import signal
from contextlib import closing
from pathlib import Path

import msgspec
import oslo_messaging
import pytest

from placement_worker import errors
from placement_worker.client.rpc_client import PolicyClient
from tests.factories import changed, zone_policy
from tests.functional.conftest import CALL_S, CLOUD, raw_client, run
from tests.functional.copies import copies
from tests.malformed_requests import GOOD, TABLE
from tests.waiting import DEADLINE_S, wait_for

NOTIFIED = ('test-notifications.info', 'test-notifications.error')


@pytest.fixture(scope='module')
def worker(start_worker):
    notifications = (
        '[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = test-notifications\n'
    )
    return start_worker(notifications)


@pytest.fixture
def client(worker):
    client = worker.client()
    yield client
    client.close()


@pytest.fixture
def raw(worker):
    with raw_client(worker) as client:
        yield client


def test_reply_over_the_wire_equals_that_of_the_in_process_worker(client, check):
    """Messaging does not change a decision."""
    reply = msgspec.to_builtins(client.policy_check(GOOD))
    expected = check(GOOD, **CLOUD)

    for decision in (*reply['decisions'], *expected['decisions']):
        del decision['elapsed_ms']
    assert reply == expected


@pytest.mark.parametrize(
    'row', [row for row in TABLE if isinstance(row.sent, dict)], ids=lambda row: row.name
)
def test_refused_request_raises_the_same_error_at_the_caller(raw, row):
    """The caller receives the class and the text of the error."""
    with pytest.raises(getattr(errors, row.error)) as refused:
        raw.call({}, 'policy_check', request=row.sent)

    assert refused.value.args == (row.message,)


def test_call_sends_the_time_at_which_it_expires(client, worker):
    """The worker does not decide for a caller that has given up."""
    timeout = datetime.timedelta(seconds=CALL_S)
    with copies(worker.url, worker.topic) as take:
        earliest = datetime.datetime.now(datetime.UTC) + timeout
        client.policy_check(GOOD)
        latest = datetime.datetime.now(datetime.UTC) + timeout
        ((_, sent),) = take(1)

    expires_at = datetime.datetime.fromisoformat(json.loads(sent['args']['request'])['expires_at'])
    assert earliest <= expires_at <= latest


def test_other_methods_reply(client):
    """Validation, lists and capabilities work over the wire."""
    spec = client.policy_validate(zone_policy('a')['spec'], check_resources=True)

    assert spec.properties == {'zones': [{'name': 'a', 'weight': 100}]}
    assert 'senlin.policy.deletion-1.1' in [
        policy_type.name for policy_type in client.policy_type_list()
    ]
    assert client.policy_type_get('senlin.policy.deletion-1.1').schema
    assert client.get_capabilities().pid != os.getpid()


NO_METHOD, NEWER = ('NoSuchMethod', ''), ('UnsupportedVersion', '; this worker has contract 1.1')


@pytest.mark.parametrize(
    ('method', 'version', 'refusal'),
    [
        *((name, '1.0', NO_METHOD) for name in ('_endpoints', '__init__', 'target', 'nothing')),
        ('policy_check', '1.3', NEWER),
    ],
)
def test_call_outside_the_contract_is_refused(raw, method, version, refusal):
    """Callers reach no internals of the worker; an older worker refuses newer versions."""
    with pytest.raises(oslo_messaging.RemoteError) as refused:
        raw.prepare(version=version).call({}, method, request=GOOD)

    assert refused.value.exc_type == refusal[0]
    assert refused.value.value.endswith(refusal[1])


def test_worker_list_has_each_process_and_counts_those_that_did_not_reply(start_worker, tmp_path):
    """An operator sees the processes of all workers, how many hang, and that a topic has none."""
    first = start_worker(host='one', workers=2)
    second = start_worker(host='two', topic=first.topic)

    def listed(*arguments):
        done = run('placement-policy', 'worker', 'list', '--config-file', first.config, *arguments)
        assert done.returncode < 2, done.stderr
        rows = json.loads(done.stdout)
        assert all('senlin.policy.deletion-1.1' in row['types'] for row in rows)
        return done, sorted((row['host'], row['pid']) for row in rows)

    wait_for(lambda: len(first.children() + second.children()) == 3, DEADLINE_S)
    one, other, alone = *first.children(), *second.children()
    everything = [('one', one), ('one', other), ('two', alone)]
    slow = ('-f', 'json', '--timeout', '30')
    wait_for(lambda: listed(*slow)[1] == everything, DEADLINE_S)
    os.kill(one, signal.SIGSTOP)
    try:
        done, rows = listed('-f', 'json')
    finally:
        os.kill(one, signal.SIGCONT)

    assert rows == everything[1:]
    assert done.returncode == 1
    assert '1 of 3 processes did not reply within 2 s: ' in done.stderr
    other_topic = tmp_path / 'operator.conf'
    other_topic.write_text(f'[DEFAULT]\ntransport_url = {first.url}\n[worker]\ntopic = unserved\n')
    unserved = run('placement-policy', 'worker', 'list', '--config-file', other_topic)
    assert unserved.returncode == 2
    assert 'There is no queue for topic unserved' in unserved.stderr


def test_log_has_request_id_user_project_and_outcome_on_one_line(client, worker):
    """An operator finds the outcome of a request by its id."""
    context = {'request_id': 'request-17', 'user_id': 'user-17', 'project_id': 'project-17'}
    context['global_request_id'] = 'global-17'

    client.policy_check(GOOD, context)

    (line,) = [
        line
        for line in worker.log.read_text().splitlines()
        if 'request-17' in line and ' INFO ' in line
    ]
    assert '[global-17 request-17 user-17 project-17' in line
    assert "BEFORE CLUSTER_SCALE_IN 'act-1' of cluster 'c1': OK in " in line


@pytest.mark.parametrize(
    'context', [{'request_id': 7}, {'request_id': 'a\nb'}, {'user_id': ['x']}, {'password': 'p'}]
)
def test_request_with_a_malformed_context_is_handled(raw, context):
    """A malformed context fails no request."""
    assert raw.call(context, 'policy_check', request=GOOD)['action']['data']['status'] == 'OK'


def test_notifications_report_start_end_and_error(worker, client, raw):
    """Other services can follow each check."""
    with copies(worker.url, *NOTIFIED) as take:
        reply = client.policy_check(GOOD, {'request_id': 'request-notified'})
        with pytest.raises(errors.InvalidRequest):
            raw.call({'request_id': 'request-notified-error'}, 'policy_check', request={})
        received = take(3, text='request-notified')

    assert [topic for topic, _ in received] == [NOTIFIED[0], NOTIFIED[0], NOTIFIED[1]]
    start, end, error = [notification for _, notification in received]
    assert {n['publisher_id'] for n in (start, end, error)} == {'placement-worker.testhost'}
    events = [n['event_type'] for n in (start, end, error)]
    assert events == ['policy_check.start', 'policy_check.end', 'policy_check.error']
    about = {'request_id': 'request-notified', 'target': 'BEFORE', 'cluster': {'id': 'c1'}}
    action = {'id': 'act-1', 'action': 'CLUSTER_SCALE_IN'}
    assert start['payload'] == {**about, 'action': action}
    assert end['payload'] == {**msgspec.to_builtins(reply), **about}
    assert error['payload'] == {
        'request_id': 'request-notified-error',
        'class': 'InvalidRequest',
        'message': 'Object missing required field `target` - at `$`',
    }


SECRETS = ('hunter2-admin', 'hunter2-data', 'hunter2-trust', 'hunter2-token', 'hunter2-node')


def test_secrets_are_not_in_queue_log_notifications_or_replies(worker, client, raw, broker_url):
    """Neither client nor worker passes on more than they need of profiles and contexts."""
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

    with copies(broker_url, worker.topic) as take, copies(broker_url, *NOTIFIED) as take_notified:
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
        queued = repr(take(1)[0])
        notifications = take_notified(5, text='request-23')

    seen = {'log': worker.log.read_text(), 'replies': replies, 'notifications': notifications}
    for place, text in seen.items():
        for word in SECRETS:
            assert word not in str(text), f'{word} is in {place}'
    assert SECRETS[2] in queued, 'the worker needs the trust to act for the owner'
    for word in (SECRETS[0], SECRETS[1], SECRETS[3], SECRETS[4]):
        assert word not in queued, f'{word} is on the queue'


def test_sample_logging_configuration_shows_request_end_of_a_process_and_stop(start_worker):
    """The sample shows times, request ids and ends of processes, and no debug lines."""
    sample = Path(__file__).parents[2] / 'conf' / 'logging.conf'
    worker = start_worker(f'log_config_append = {sample}')
    before = worker.children()
    os.kill(before[0], signal.SIGKILL)
    killed = 'Process 0 of the worker was killed by SIGKILL; another process takes its place'
    wait_for(lambda: killed in worker.stderr.read_text())
    with closing(worker.client()) as client:
        client.policy_check(GOOD, {'request_id': 'request-31', 'user_id': 'user-31'})

    assert len(worker.children()) == 1
    assert worker.children() != before
    assert worker.stop() == 0
    lines = worker.stderr.read_text().splitlines()
    asked = [line for line in lines if 'request-31 user-31' in line]
    assert [line for line in asked if "of cluster 'c1': OK" in line]
    assert all(re.match(r'[\d-]{10} [\d:]{8}\.\d{3} ', line) for line in asked), asked
    assert not [line for line in lines if ' DEBUG ' in line]
    (begun,) = [number for number, line in enumerate(lines) if 'Stopping after SIGTERM' in line]
    (ended,) = [number for number, line in enumerate(lines) if line.endswith('Stopped')]
    assert begun < ended


# A timeout that no test waits for.
NEVER_S = 3600


def test_call_to_a_topic_without_a_queue_fails_at_once(broker_url):
    """A misspelled topic does not use up the timeout."""
    with (
        closing(PolicyClient(broker_url, topic='test-never', timeout_s=NEVER_S)) as client,
        pytest.raises(errors.NoWorkerAnswered, match='There is no queue for topic test-never'),
    ):
        client.get_capabilities()


def test_stopped_worker_exits_with_0_and_calls_fail(start_worker):
    """A caller without a worker receives NoWorkerAnswered."""
    worker = start_worker()

    assert worker.stop() == 0
    unanswered = r'No worker replied on topic .* within 1 s: no worker runs'
    with (
        pytest.raises(errors.NoWorkerAnswered, match=unanswered),
        closing(worker.client(timeout_s=1)) as client,
    ):
        client.get_capabilities()


BROKER = '[DEFAULT]\ntransport_url = {}\n[cloud]\nbackend = inventory\ninventory_file = CLOUD\n'


@pytest.mark.parametrize(
    ('config', 'message'),
    [
        (BROKER.format('hello'), 'The transport URL is not valid: No scheme specified'),
        (BROKER.format('nope://x/'),
         'The transport URL cannot be used: Failed to load transport driver "nope"'),
        (BROKER.format('WRONG'), 'The broker at 127.0.0.1:'),
        ('[oslo_messaging_tracing]\ntracing_enabled = true\notlp_protocol = grpc\n',
         '[oslo_messaging_tracing] tracing_enabled needs opentelemetry.exporter.otlp.proto.grpc, '
         'which is not installed: '),
        ('hello', 'Failed to parse '),
        ('[worker]\nworkers = 0\n', 'Value for option [worker] workers from '),
    ],
)  # fmt: skip
def test_worker_with_an_invalid_configuration_exits_with_2_and_one_line(
    config, message, tmp_path, broker_url
):
    """The line names the cause and holds no password."""
    (tmp_path / 'cloud').write_text('zones: {a: true}')
    wrong = re.sub('//.*@', '//guest:hunter2@', broker_url)
    config = config.replace('CLOUD', str(tmp_path / 'cloud')).replace('WRONG', wrong)
    (tmp_path / 'c').write_text(config)

    done = run('placement-worker', '--config-file', tmp_path / 'c')

    assert done.returncode == 2
    assert done.stderr.startswith(f'placement-worker: {message}'), done.stderr
    assert done.stderr.count('\n') == 1
    assert 'hunter2' not in done.stderr
