"""The RPC client: routes, errors, and the modules that it loads."""

import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import MagicMock, Mock

import oslo_messaging
import pytest
from amqp.exceptions import AccessRefused, NotFound, PreconditionFailed

from placement_worker import errors
from placement_worker.client import rpc_client, transport
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.rpc import EXCHANGE, SLOW_TOPIC, TOPIC
from tests.factories import changed
from tests.malformed_requests import GOOD
from tests.waiting import wait_for

CLUSTER = GOOD['cluster']
ATTACHED = {'cluster': CLUSTER, 'policy': {**GOOD['policies'][0], 'enabled': True}}
REBALANCED = {'cluster': CLUSTER, 'policies': []}
PROTECTED = changed(GOOD, lambda check: check['cluster']['nodes'][0].update(data={'protected': 1}))


def refused(cause):
    """Return the error of the stock driver for an error of py-amqp."""
    failure = oslo_messaging.MessageDeliveryFailure()
    failure.__context__ = cause
    return failure


LOADED = """
import sys
import placement_worker.client.rpc_client
print([name for name in sys.modules if name.partition('.')[0] == 'placement_worker'])
"""


class FakeRpcClient:
    """Record what is sent, and raise `failure` if it is set."""

    def __init__(self):
        self.sent = []
        self.created = Mock(return_value=self)
        self.failure = None
        self.failures = []
        self.wait = lambda: None

    def prepare(self, **options):
        self.options = options
        return self

    def call(self, context, method, **arguments):
        self.sent.append((self.options['topic'], context, method))
        self.wait()
        failure = self.failures.pop(0) if self.failures else self.failure
        if failure:
            raise failure
        return '[]'

    def cast(self, context, method, **arguments):
        self.sent.append((self.options['topic'], context, method))


@pytest.fixture
def sender(monkeypatch):
    sender = FakeRpcClient()
    monkeypatch.setattr(oslo_messaging, 'get_rpc_client', sender.created)
    monkeypatch.setattr(transport, 'open_connection', lambda *_, **__: MagicMock())
    monkeypatch.setattr(transport, 'obstacle', lambda *_: None)
    monkeypatch.setattr(rpc_client, 'PAUSE_MAX_S', 0.01)
    return sender


@pytest.fixture
def client(sender):
    client = PolicyClient('rabbit://')
    yield client
    client.close()


def test_client_import_loads_few_modules():
    """An engine that imports the client loads at most 15 modules of this package."""
    run = subprocess.run([sys.executable, '-c', LOADED], check=True, capture_output=True, text=True)
    loaded = eval(run.stdout)  # noqa: S307  # a list of strings, printed above

    assert len(loaded) <= 15, sorted(loaded)


def test_call_sends_the_ids_of_the_context_alone(client, sender):
    """Passwords and tokens of the caller's context stay in the engine."""
    client.policy_type_list({'request_id': 'r1', 'user_id': 'u1', 'auth_token': 'secret'})

    assert sender.options['version'] == '1.0', 'the first that can carry it out'
    assert sender.sent == [(TOPIC, {'request_id': 'r1', 'user_id': 'u1'}, 'policy_type_list')]


def test_cast_returns_its_request_id_or_a_new_one(client, sender):
    """The reply to each cast can be recognized by the request id that `cast_check` returns."""
    one, other = client.cast_check(GOOD), client.cast_check(GOOD, context={'user_id': 'u1'})

    assert one != other
    assert client.cast_check(GOOD, context={'request_id': 'r1'}) == 'r1'
    assert [context for _, context, _ in sender.sent] == [
        {'request_id': one},
        {'request_id': other, 'user_id': 'u1'},
        {'request_id': 'r1'},
    ]


@pytest.mark.parametrize(
    ('name', 'value'),
    [('exchange', EXCHANGE), ('topic', f'{TOPIC}-parked'), ('topic', f'{SLOW_TOPIC}.testhost')],
)
def test_cast_with_a_reply_to_that_workers_refuse_raises_and_sends_nothing(
    client, sender, name, value
):
    """A forbidden or missing exchange or topic is found before the request is sent."""
    reply_to = {'exchange': 'engine', 'topic': 'replies', 'method': 'm', name: value}

    with pytest.raises(errors.InvalidRequest, match=rf'got `{value}` - at `\$\.reply_to\.{name}`'):
        client.cast_check(GOOD, reply_to)
    with pytest.raises(errors.InvalidRequest, match='missing required field `topic`'):
        client.cast_check(GOOD, {'exchange': 'engine'})

    assert sender.sent == []


@pytest.mark.parametrize('method', ['policy_check', 'cast_check'])
def test_request_with_an_invalid_context_or_of_a_closed_client_sends_nothing(
    client, sender, method
):
    """Calls and casts check their context first; a closed client raises an error of its own."""
    send = getattr(client, method)
    with pytest.raises(errors.InvalidRequest, match='did you mean `request_id`'):
        send(GOOD, context={'requestid': 'r1'})
    client.close()
    with pytest.raises(errors.ClientClosed, match=r'^The client is closed: create another one'):
        send(GOOD)

    assert sender.sent == []


def test_call_without_a_request_id_gets_one_that_a_failure_notes(client, sender):
    """Each call has an id in the log of the worker, and a traceback leads to it."""
    sender.failure = oslo_messaging.MessagingTimeout()
    notes = []
    for context in ({}, {'user_id': 'u1', 'request_id': None}, {'request_id': 'r1'}):
        with pytest.raises(errors.NoWorkerAnswered) as raised:
            client.policy_type_list(context)
        notes += raised.value.__notes__

    ids = [context.pop('request_id') for _, context, _ in sender.sent]
    assert notes == [f'request id: {request_id}' for request_id in ids]
    assert [context for _, context, _ in sender.sent] == [{}, {'user_id': 'u1'}, {}]
    assert len(set(ids)) == 3
    assert all(
        re.fullmatch('req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', request_id)
        for request_id in ids[:2]
    )


@pytest.mark.parametrize(
    ('failure', 'kind', 'message'),
    [
        (oslo_messaging.MessagingTimeout(), errors.NoWorkerAnswered,
         'No worker replied on topic placement-worker within 60 s: '
         'no worker runs, or all threads are occupied'),
        (oslo_messaging.RemoteError('KeyError', "'x'", []), errors.WorkerFailed,
         "policy_type_list failed in the worker: KeyError: 'x'"),
        (oslo_messaging.RemoteError('InvalidRequest', 'no name', []), errors.InvalidRequest,
         'no name'),
        (type('RuntimeError_Remote', (RuntimeError,), {})('no', 'result'), errors.WorkerFailed,
         'policy_type_list failed in the worker: RuntimeError: no, result'),
        (refused(AccessRefused('ACCESS_REFUSED - access to exchange')), errors.BrokerRefused,
         'The request could not be delivered: ACCESS_REFUSED - access to exchange'),
        (refused(PreconditionFailed('message size 9 is larger than configured max size 8')),
         errors.InvalidRequest,
         'The broker refused the request: message size 9 is larger than configured max size 8'),
        (refused(PreconditionFailed("inequivalent arg 'durable'")), errors.QueueMismatch,
         "The broker refused the request: inequivalent arg 'durable'"),
    ],
)  # fmt: skip
def test_call_that_fails_raises_an_error_of_the_package(failure, kind, message, client, sender):
    """Each failure of a call reaches the engine as an error of `placement_worker.errors`."""
    sender.failure = failure

    with pytest.raises(errors.PlacementWorkerError) as raised:
        client.policy_type_list()

    assert type(raised.value) is kind
    assert str(raised.value) == message


@pytest.fixture
def channel(monkeypatch, sender):
    """Return the channel on which the client looks for the queue of a request."""
    connection = MagicMock()
    monkeypatch.setattr(transport, 'open_connection', lambda *_, **__: connection)
    return connection.__enter__.return_value.channel.return_value


UNDELIVERABLE = oslo_messaging.MessageUndeliverable(None, 'e', 'k', None)


@pytest.mark.parametrize(
    ('failures', 'kind', 'message'),
    [
        ([NotFound('no queue')], errors.NoWorkerAnswered,
         'There is no queue for topic placement-worker.h: no worker with [worker] host = h has '
         'served this topic of exchange placement_worker; start one, or correct the topic or '
         'the exchange'),
        ([None, AccessRefused('access refused')], errors.NoWorkerAnswered,
         'Queue placement-worker.h exists, but is not bound to exchange placement_worker: '
         'start a worker again, which binds it or says why it cannot, or correct the exchange'),
        ([None, PreconditionFailed("inequivalent arg 'x-queue-type'")], errors.QueueMismatch,
         'Exchange placement_worker or queue placement-worker.h exists on the broker with '
         "other options than it needs: inequivalent arg 'x-queue-type'. Use other names, or "
         'delete it when it is not in use'),
    ],
)  # fmt: skip
def test_request_without_a_bound_queue_says_whether_the_queue_exists(
    failures, kind, message, sender, channel
):
    """A queue that is missing differs from one that does not fit, or is not bound."""
    sender.failure = UNDELIVERABLE
    channel.queue_declare.side_effect = failures

    with pytest.raises(errors.PlacementWorkerError) as raised:
        PolicyClient('rabbit://', server='h').policy_type_list()

    assert type(raised.value) is kind
    assert str(raised.value) == message
    channel.queue_bind.assert_not_called()


def test_queue_that_lost_its_binding_is_bound_and_gets_the_request(client, sender, channel, caplog):
    """An exchange that was deleted and declared again costs no request and no connection.

    The log has the binding: with a wrong exchange of the client it would last.
    """
    sender.failures = [UNDELIVERABLE]

    assert client.policy_type_list() == []
    assert len(sender.sent) == 2
    assert sender.created.call_count == 1
    assert caplog.messages == [f'Queue {TOPIC} was not bound to exchange {EXCHANGE}: bound it']
    channel.queue_bind.assert_called_once_with(TOPIC, EXCHANGE, TOPIC)


@pytest.mark.parametrize(
    ('method', 'asked', 'topic', 'lacks', 'version'),
    [
        ('policy_rebalance', REBALANCED, TOPIC, 'policy_rebalance', '1.1'),
        ('policy_check', PROTECTED, TOPIC, 'protection of nodes', '1.1'),
        ('policy_attach', ATTACHED, SLOW_TOPIC, 'policy_attach', '1.0'),
    ],
)
def test_call_that_an_older_worker_refuses_says_what_it_lacks(
    client, sender, method, asked, topic, lacks, version
):
    """The refusal of a version names the cause and the remedy; slow requests have a topic."""
    sender.failure = oslo_messaging.RemoteError('UnsupportedVersion', 'no', [])

    with pytest.raises(errors.WorkerTooOld) as old:
        getattr(client, method)(asked)

    assert str(old.value) == (
        f'This worker knows no {lacks} (contract {version}): upgrade it, and all other workers of '
        'its topic'
    )
    assert (sender.options['version'], sender.sent[0][0]) == (version, topic)


def test_call_whose_publication_fails_is_repeated_on_a_fresh_client(client, sender):
    """A channel that nacks each message is replaced, and the caller gets its reply."""
    failures = [oslo_messaging.MessageDeliveryFailure('nacked'), OSError('lost'), None]
    sender.failures = failures.copy()

    assert client.policy_type_list() == []
    assert len(sender.sent) == sender.created.call_count == len(failures)


def test_call_whose_publication_fails_until_its_timeout_names_the_cause(sender):
    """The last error of the broker reaches the caller within the timeout."""
    sender.failure = oslo_messaging.MessageDeliveryFailure('nacked')
    client = PolicyClient('rabbit://', timeout_s=1)
    began = time.monotonic()

    with pytest.raises(
        errors.BrokerUnreachable, match=r'^The request could not be delivered: nacked'
    ):
        client.policy_type_list()

    assert 1 <= time.monotonic() - began < 30


@pytest.fixture
def stuck(sender):
    """Keep stock calls in the driver until the end of the test."""
    ending = threading.Event()
    sender.wait = ending.wait
    yield ending
    ending.set()


@pytest.mark.parametrize(('renew_s', 'clients'), [(0, 2), (60, 1)])
def test_client_after_a_timeout_is_fresh_but_not_too_often(sender, monkeypatch, renew_s, clients):
    """A reply queue that receives nothing is replaced, and few queues are left behind."""
    monkeypatch.setattr(rpc_client, 'RENEW_S', renew_s)
    sender.failures = [oslo_messaging.MessagingTimeout()]
    client = PolicyClient('rabbit://')

    with pytest.raises(errors.NoWorkerAnswered):
        client.policy_type_list()
    assert client.policy_type_list() == []

    assert sender.created.call_count == clients
    client.close()


def test_timeout_of_a_call_retires_no_successor_of_its_client(stuck, sender, monkeypatch):
    """A call that began before a reconnection does not end the connection of later calls."""
    monkeypatch.setattr(rpc_client, 'RENEW_S', 0)
    sender.wait = lambda: len(sender.sent) == 1 and stuck.wait()
    client = PolicyClient('rabbit://', timeout_s=0.5)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(client.policy_type_list)
        wait_for(lambda: len(sender.sent) == 1)
        client._stock._current.is_retired = True  # as after a failed publication of another call
        assert client.policy_type_list() == []

    assert isinstance(first.exception(), errors.NoWorkerAnswered)
    assert not client._stock._current.is_retired


def test_calls_behind_many_stuck_ones_fail_at_once(stuck, monkeypatch):
    """Stock calls that wait for ever end at the timeout, and keep a bounded number of threads."""
    monkeypatch.setattr(rpc_client, 'LEFT_MAX', 2)
    monkeypatch.setattr(transport, 'obstacle', lambda *_: 'the broker is away or silent: x')
    client = PolicyClient('rabbit://', timeout_s=0.1)
    for _ in range(2):
        with pytest.raises(errors.BrokerUnreachable, match='could not be delivered: the broker is'):
            client.policy_type_list()

    before = threading.active_count()
    with pytest.raises(errors.BrokerUnreachable, match='2 earlier calls still wait'):
        client.policy_type_list()
    assert threading.active_count() <= before


def test_reply_arrives_while_another_call_connects(stuck, sender, client, monkeypatch):
    """A dead host that holds up a new connection holds up no reply."""
    first = threading.Thread(target=client.policy_type_list)
    first.start()
    wait_for(lambda: len(sender.sent) == 1)
    client._stock._current.is_retired = True  # as after a failed publication of a third call
    connecting, connected = threading.Event(), threading.Event()

    def open_connection(*_, **__):
        connecting.set()
        connected.wait(60)
        return Mock()

    monkeypatch.setattr(transport, 'open_connection', open_connection)
    second = threading.Thread(target=client.policy_type_list)
    second.start()
    assert connecting.wait(30)
    stuck.set()
    first.join(30)
    has_arrived = not first.is_alive()
    connected.set()
    second.join(30)

    assert has_arrived


def test_close_ends_the_calls_in_progress(stuck, client):
    """A call that waits in another thread ends with an error of the client."""
    raised = []

    def call():
        try:
            client.policy_type_list()
        except errors.ClientClosed as exc:
            raised.append(exc)

    caller = threading.Thread(target=call)
    caller.start()
    time.sleep(0.1)
    client.close()
    caller.join(30)

    assert len(raised) == 1


TIMEOUT_ERROR = 'expected a number of seconds above 0, at most 1000000000, got '
VERSION_ERROR = 'expected a version of the contract such as "1.1", got '


@pytest.mark.parametrize(
    ('option', 'value', 'text'),
    [
        *(('timeout_s', value, TIMEOUT_ERROR) for value in (0, '60', True, float('nan'), 10**10)),
        ('slow_timeout_s', 0, TIMEOUT_ERROR),
        *(
            ('version_cap', value, VERSION_ERROR)
            for value in ('1', '1.x', '', '1.0.0', 1.1, '1.0\n', '\u0661.0')
        ),
    ],
)
def test_client_with_an_invalid_option_is_refused_when_it_is_created(option, value, text):
    """A timeout of no positive number of seconds and a cap of no version have an error each."""
    PolicyClient('rabbit://', timeout_s=0.5, slow_timeout_s=10**9, version_cap='1.0').close()
    with pytest.raises(errors.ConfigurationError) as refused:
        PolicyClient('rabbit://', **{option: value})

    assert str(refused.value) == f'{option}: {text}{value!r}'
