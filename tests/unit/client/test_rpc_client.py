"""The RPC client: routes, errors, and the modules that it loads."""

import re
import subprocess
import sys

import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.rpc import EXCHANGE, SLOW_TOPIC, TOPIC
from tests.factories import changed
from tests.malformed_requests import GOOD

PROTECTED = changed(GOOD, lambda check: check['cluster']['nodes'][0].update(data={'protected': 1}))
LOADED = """
import sys
import placement_worker.client.rpc_client
print([name for name in sys.modules if name.partition('.')[0] == 'placement_worker'])
"""


class FakeRpcClient:
    """Record what is sent, and raise `failure` if it is set."""

    def __init__(self):
        self.sent = []
        self.failure = None

    def prepare(self, **options):
        self.options = options
        return self

    def call(self, context, method, **arguments):
        self.sent.append((self.options['topic'], context, method))
        if self.failure:
            raise self.failure
        return '[]'

    def cast(self, context, method, **arguments):
        self.sent.append((self.options['topic'], context, method))


@pytest.fixture
def sender(monkeypatch):
    sender = FakeRpcClient()
    monkeypatch.setattr(oslo_messaging, 'get_rpc_client', lambda *_, **__: sender)
    return sender


@pytest.fixture
def client(sender):
    client = PolicyClient('rabbit://')
    yield client
    client.close()


def test_client_import_loads_few_modules():
    """An engine that imports the client loads at most 16 modules of this package."""
    run = subprocess.run([sys.executable, '-c', LOADED], check=True, capture_output=True, text=True)
    loaded = eval(run.stdout)  # noqa: S307  # a list of strings, printed above

    assert len(loaded) <= 16, sorted(loaded)


def test_client_of_a_url_for_other_libraries_names_the_expected_one():
    """The amqp:// of pika and kombu is refused with the beginning that a transport URL needs."""
    with pytest.raises(errors.ConfigurationError, match=r'; it must begin with rabbit://$'):
        PolicyClient('amqp://guest:guest@h/', conf=cfg.ConfigOpts())


def test_call_sends_the_ids_of_the_context_alone(client, sender):
    """Passwords and tokens of the caller's context stay in the engine."""
    client.policy_type_list({'request_id': 'r1', 'user_id': 'u1', 'auth_token': 'secret'})

    assert sender.sent == [(TOPIC, {'request_id': 'r1', 'user_id': 'u1'}, 'policy_type_list')]


def test_call_without_a_request_id_gets_one(client, sender):
    """Each call has an id in the log of the worker, the decision log and the parking lot."""
    client.policy_type_list()
    client.policy_type_list({'user_id': 'u1', 'request_id': None})

    (_, one, _), (_, other, _) = sender.sent
    ids = [one['request_id'], other.pop('request_id')]
    assert other == {'user_id': 'u1'}
    assert len(set(ids)) == 2
    assert all(re.fullmatch('req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', one) for one in ids)


@pytest.mark.parametrize('context', [{}, {'request_id': 'r1'}], ids=['generated', 'given'])
def test_failed_call_has_its_request_id_as_a_note(client, sender, context):
    """The traceback of a failed call leads to the lines of the request in the worker's log."""
    sender.failure = oslo_messaging.MessagingTimeout()

    with pytest.raises(errors.NoWorkerAnswered) as raised:
        client.policy_type_list(context)

    ((_, sent, _),) = sender.sent
    assert raised.value.__notes__ == [f'request id: {sent["request_id"]}']


def test_cast_without_a_request_id_gets_one_and_returns_it(client, sender):
    """The reply to each cast can be recognized by the request id that `cast_check` returns."""
    one, other = client.cast_check(GOOD), client.cast_check(GOOD, context={'user_id': 'u1'})

    assert one != other
    assert [context for _, context, _ in sender.sent] == [
        {'request_id': one},
        {'request_id': other, 'user_id': 'u1'},
    ]


def test_cast_with_a_request_id_keeps_it(client, sender):
    """The id of the caller's context names the request."""
    assert client.cast_check(GOOD, context={'request_id': 'r1'}) == 'r1'
    assert sender.sent[0][1] == {'request_id': 'r1'}


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('exchange', ''),
        ('exchange', 'amq.topic'),
        ('exchange', EXCHANGE),
        ('topic', TOPIC),
        ('topic', f'{TOPIC}-parked'),
        ('topic', f'{SLOW_TOPIC}.testhost'),
    ],
)
def test_cast_with_a_reply_to_that_workers_refuse_raises_and_sends_nothing(
    client, sender, name, value
):
    """A forbidden exchange or topic is found before the request is sent, with its path."""
    reply_to = {'exchange': 'engine', 'topic': 'replies', 'method': 'm', name: value}

    with pytest.raises(errors.InvalidRequest, match=rf'got `{value}` - at `\$\.reply_to\.{name}`'):
        client.cast_check(GOOD, reply_to)

    assert sender.sent == []


@pytest.mark.parametrize(
    'send', [lambda client: client.policy_check(GOOD), lambda client: client.cast_check(GOOD)]
)
def test_request_of_a_closed_client_raises_an_error_of_the_client(client, sender, send):
    """Neither an AttributeError nor the blame of a worker follows the use of a closed client."""
    client.close()

    with pytest.raises(errors.ClientClosed, match=r'^The client is closed: create another one$'):
        send(client)

    assert sender.sent == []


@pytest.mark.parametrize(
    'send',
    [
        lambda client, context: client.policy_check(GOOD, context),
        lambda client, context: client.cast_check(GOOD, context=context),
    ],
)
def test_request_with_an_invalid_context_raises_and_sends_nothing(client, sender, send):
    """Calls and casts check their context before they send a request."""
    with pytest.raises(errors.InvalidRequest, match=r' - at `context\.requestid`$'):
        send(client, {'requestid': 'r1'})

    assert sender.sent == []


def test_callback_that_cannot_be_called_is_refused(client):
    """A receiver whose callback would fail for each reply does not start."""
    with pytest.raises(
        errors.InvalidRequest, match=r'^Expected a function, got `str` - at `callback`$'
    ):
        client.serve_replies('engine', 'replies', 'notcallable')


def test_call_with_a_slow_request_uses_the_slow_topic(client, sender):
    """A request to attach a policy goes to the slow topic."""
    sender.failure = errors.WorkerFailed('')
    policy = {**GOOD['policies'][0], 'enabled': True}

    with pytest.raises(errors.WorkerFailed):
        client.policy_attach({'cluster': GOOD['cluster'], 'policy': policy})

    assert sender.sent[0][0] == SLOW_TOPIC


@pytest.mark.parametrize(
    ('failure', 'kind', 'message'),
    [
        (
            oslo_messaging.MessagingTimeout(),
            errors.NoWorkerAnswered,
            'No worker replied on topic placement-worker within 60 s: '
            'no worker runs, or all threads are occupied',
        ),
        (
            oslo_messaging.RemoteError('KeyError', "'x'", []),
            errors.WorkerFailed,
            "policy_type_list failed in the worker: KeyError: 'x'",
        ),
        (errors.InvalidRequest('no name'), errors.InvalidRequest, 'no name'),
    ],
)  # fmt: skip
def test_call_that_fails_raises_an_error_of_the_package(failure, kind, message, client, sender):
    """Each failure of a call reaches the engine as an error of `placement_worker.errors`."""
    sender.failure = failure

    with pytest.raises(errors.PlacementWorkerError) as raised:
        client.policy_type_list()

    assert type(raised.value) is kind
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ('asked', 'text'),
    [
        (
            lambda client: client.policy_rebalance({'cluster': GOOD['cluster'], 'policies': []}),
            'This worker knows no policy_rebalance (contract 1.1): upgrade it, and all other '
            'workers of its topic',
        ),
        (
            lambda client: client.policy_check(PROTECTED),
            'This worker knows no protection of nodes (contract 1.1): upgrade it, and all other '
            'workers of its topic',
        ),
    ],
)
def test_call_that_an_older_worker_refuses_says_what_it_lacks(client, sender, asked, text):
    """The refusal of a version becomes an error that names the cause and the remedy."""
    sender.failure = oslo_messaging.RemoteError('UnsupportedVersion', 'no', [])

    with pytest.raises(errors.WorkerTooOld) as old:
        asked(client)

    assert str(old.value) == text
    assert sender.options['version'] == '1.1'


def test_call_of_an_older_method_needs_the_first_version(client, sender):
    """A request that version 1.0 can carry out is sent with version 1.0."""
    client.policy_type_list()

    assert sender.options['version'] == '1.0'
