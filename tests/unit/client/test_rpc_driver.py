"""The driver of the RPC client: what it publishes, and what a call returns or raises."""

import json
import os
import threading
import time

import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client import call_replies, rpc_driver
from placement_worker.client.publish_errors import (
    BrokerUnavailable,
    DestinationMissing,
    DestinationRefused,
    PublishersBlocked,
)
from placement_worker.client.rpc_driver import RpcDriver
from placement_worker.client.transport import load_transport_url
from tests.waiting import wait_for

TARGET = oslo_messaging.Target(exchange='e', topic='t')
ENOUGH_S = 30


class Bus:
    """A broker and a worker in one: it stands in for the publisher and the connection of replies.

    `outcomes`: what each publication raises, None for a confirmation. `response`: the reply to each
    call.
    """

    def __init__(self):
        self.published = []
        self.outcomes = []
        self.response = {'result': 'done', 'ending': True}
        self.hostname, self.port, self.connected = 'broker', 5672, False
        self.connection = self
        self.inbound = []
        self.arrived = threading.Condition()
        self.is_open = True

    def publish(self, message, exchange, routing_key, timeout_s):
        self.published.append((message, exchange, routing_key, timeout_s))
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome:
            raise outcome
        request = json.loads(json.loads(message.body)['oslo.message'])
        if '_msg_id' in request and self.response is not None:
            self.deliver(json.dumps({**self.response, '_msg_id': request['_msg_id']}))

    def deliver(self, text):
        with self.arrived:
            self.inbound.append(json.dumps({'oslo.version': '2.0', 'oslo.message': text}))
            self.arrived.notify()

    def close(self):
        self.is_open = False

    def request(self, number=-1):
        return json.loads(json.loads(self.published[number][0].body)['oslo.message'])

    # The connection of replies
    def channel(self):
        return self

    def queue_declare(self, name, **options):
        self.declared = (name, options)

    def basic_consume(self, name, callback):
        self.callback = callback

    def basic_ack(self, tag, multiple):
        pass

    def heartbeat_tick(self):
        pass

    def collect(self):
        pass

    def drain_events(self, timeout):
        with self.arrived:
            if not self.inbound:
                self.arrived.wait(0.05)
            inbound, self.inbound = self.inbound, []
        for body in inbound:
            self.callback(Delivered(body, self))
        if not inbound:
            raise TimeoutError


class Delivered:
    """A message of py-amqp."""

    delivery_tag = 1

    def __init__(self, body, channel):
        self.body, self.channel = body, channel


@pytest.fixture
def bus(monkeypatch):
    bus = Bus()
    monkeypatch.setattr(rpc_driver, 'ConfirmedPublisher', lambda *_: bus)
    monkeypatch.setattr(rpc_driver, 'heartbeat_connector', lambda *_: lambda **_: bus)
    monkeypatch.setattr(call_replies, 'TICK_S', 0.01)
    monkeypatch.setattr(rpc_driver, 'RETRY_S', 0)
    monkeypatch.setattr(rpc_driver, 'RETRY_MAX_S', 0.01)
    return bus


@pytest.fixture
def driver(bus):
    target = load_transport_url(cfg.CONF, 'rabbit://u:p@h1:1,u:p@h2:2/')
    driver = RpcDriver(cfg.CONF, target, ENOUGH_S)
    yield driver
    driver.cleanup()


def call(driver, target=TARGET, timeout=ENOUGH_S, retry=2):
    message = {'method': 'm', 'args': {'request': '{}'}, 'version': '1.0'}
    context = {'request_id': 'r1'}
    return driver.send(target, context, message, wait_for_reply=True, timeout=timeout, retry=retry)


def cast(driver, retry=2):
    return driver.send(TARGET, {}, {'method': 'm', 'args': {}}, retry=retry)


def caused(error, cause):
    error.__cause__ = cause
    return error


def test_call_returns_the_result_and_sends_the_fields_of_the_wire_format(driver, bus):
    """A stock server of oslo.messaging finds context, ids, reply queue and expiry."""
    assert call(driver) == 'done'

    message, exchange, routing_key, left_s = bus.published[0]
    request = bus.request()
    queue, options = bus.declared
    assert (exchange, routing_key) == ('e', 't')
    assert message.properties['expiration'] == '30000'
    assert request.pop('_unique_id') == request.pop('_msg_id')
    assert request == {
        'method': 'm',
        'args': {'request': '{}'},
        'version': '1.0',
        '_context_request_id': 'r1',
        '_reply_q': queue,
        '_timeout': None,
    }
    assert queue.startswith('reply_')
    assert options == {
        'durable': True,
        'auto_delete': False,
        'arguments': {'x-queue-type': 'quorum', 'x-expires': 1_800_000},
    }
    assert ENOUGH_S < left_s <= ENOUGH_S + rpc_driver.EXTRA_S


def test_calls_have_ids_of_their_own_and_one_reply_queue(driver, bus):
    """Replies to different calls of a process arrive in one queue and are not confused."""
    call(driver)
    call(driver)

    one, other = bus.request(0), bus.request(1)
    assert one['_unique_id'] != other['_unique_id']
    assert one['_reply_q'] == other['_reply_q']


def test_cast_returns_nothing_and_never_expires_on_the_broker(driver, bus):
    """A cast waits in its queue until a worker runs, and has no reply queue."""
    assert cast(driver) is None

    assert 'expiration' not in bus.published[0][0].properties
    assert not {'_msg_id', '_reply_q'} & set(bus.request())


def test_call_to_one_server_uses_the_queue_of_that_server(driver, bus):
    """A client with `server` reaches that worker alone."""
    call(driver, TARGET(server='host1'))

    assert bus.published[0][2] == 't.host1'


@pytest.mark.parametrize(
    ('module', 'kind', 'expected'),
    [
        ('placement_worker.errors', 'InvalidSpec', errors.InvalidSpec),
        ('oslo_messaging.rpc.dispatcher', 'UnsupportedVersion', oslo_messaging.RemoteError),
        ('os', 'system', oslo_messaging.RemoteError),
    ],
)
def test_call_that_fails_in_the_worker_raises_its_error(driver, bus, module, kind, expected):
    """Errors of the contract keep their class; a sender of replies cannot choose another class."""
    failure = {'class': kind, 'module': module, 'message': 'why', 'tb': [], 'args': ['no']}
    bus.response = {'result': None, 'failure': json.dumps(failure), 'ending': True}

    with pytest.raises(expected) as raised:
        call(driver)

    assert type(raised.value) is expected
    assert 'why' in str(raised.value)
    assert getattr(raised.value, 'exc_type', kind) == kind


def test_call_with_a_malformed_failure_raises_an_error_of_the_worker(driver, bus):
    """An error that cannot be read is one of the worker, not of the caller."""
    bus.response = {'failure': 'no JSON', 'ending': True}

    with pytest.raises(oslo_messaging.RemoteError, match='malformed failure'):
        call(driver)


def test_lasting_refusal_of_the_connection_keeps_its_own_cause(driver, bus):
    """The traceback leads to the library's error, without a circle."""
    refused = caused(errors.BrokerRefused('check user'), OSError('403'))
    bus.outcomes = [caused(BrokerUnavailable('no'), refused)]

    with pytest.raises(errors.BrokerRefused) as raised:
        call(driver)

    assert str(raised.value.__cause__) == '403'


def test_request_that_waits_for_a_connection_gives_up_in_time(driver, bus, monkeypatch):
    """A full pool does not double the time that a caller waits."""
    monkeypatch.setattr(rpc_driver, 'EXTRA_S', 0.05)
    own = driver._own_bus()
    own._slots = threading.BoundedSemaphore(1)
    own._slots.acquire()
    began = time.monotonic()

    with pytest.raises(errors.BrokerUnreachable, match='all connections are in use'):
        call(driver, timeout=0.05, retry=0)

    assert time.monotonic() - began < ENOUGH_S
    own._slots.release()
    assert call(driver) == 'done'


def test_call_without_a_reply_times_out(driver, bus):
    """A call ends at its timeout, and its late reply is dropped."""
    bus.response = None
    with pytest.raises(oslo_messaging.MessagingTimeout):
        call(driver, timeout=0.05)

    late = bus.request()['_msg_id']
    bus.deliver(json.dumps({'_msg_id': late, 'result': 'late', 'ending': True}))
    bus.response = {'result': 'done', 'ending': True}
    assert call(driver) == 'done'


def test_call_waits_on_after_a_sign_of_life_and_a_malformed_message(driver, bus, caplog):
    """Only the end of a request is its reply; a message of another format is logged and dropped."""
    bus.response = None
    called = []
    thread = threading.Thread(target=lambda: called.append(call(driver)))
    thread.start()
    wait_for(lambda: bus.published)
    waiting = bus.request()['_msg_id']
    bus.deliver(json.dumps({'_msg_id': waiting, 'result': None, 'ending': False}))
    bus.deliver('no reply')
    bus.deliver(json.dumps({'_msg_id': waiting, 'result': 'end', 'ending': True}))
    thread.join(ENOUGH_S)

    assert called == ['end']
    assert 'Dropped a malformed reply to a call' in caplog.text


@pytest.mark.parametrize(
    'outcome', [BrokerUnavailable('lost', was_lost=True), DestinationRefused('rejected')]
)
def test_request_is_published_again_after_an_outage(outcome, driver, bus):
    """Neither a connection that was lost nor a queue that elects its leader costs a request."""
    bus.outcomes = [outcome] * 2

    assert call(driver) == 'done'
    assert len(bus.published) == 3
    assert len({message.body for message, *_ in bus.published}) == 1


def test_request_is_published_again_as_often_as_asked(driver, bus):
    """A broker that stays away fails the request after its retries."""
    bus.outcomes = [BrokerUnavailable('away')] * 9

    with pytest.raises(errors.BrokerUnreachable, match=r'could not be delivered: away$'):
        cast(driver, retry=2)

    assert len(bus.published) == 3


@pytest.mark.parametrize(
    ('outcome', 'kind', 'text'),
    [
        (DestinationMissing('no queue'), errors.NoWorkerAnswered, 'There is no queue for topic t:'),
        (DestinationRefused('(403)', for_good=True), errors.BrokerRefused, 'delivered: (403)'),
        (PublishersBlocked(), errors.BrokerUnreachable, 'it blocks publishers while it is short'),
        (
            caused(BrokerUnavailable('no'), errors.BrokerRefused('check user')),
            errors.BrokerRefused,
            'check user',
        ),
        (
            caused(BrokerUnavailable('no'), errors.ConfigurationError('no host')),
            errors.ConfigurationError,
            'no host',
        ),
    ],
)  # fmt: skip
def test_request_that_cannot_succeed_soon_is_published_once(driver, bus, outcome, kind, text):
    """Each refusal has an error that names its cause, without retries."""
    bus.outcomes = [outcome] * 3

    with pytest.raises(kind) as raised:
        call(driver)

    assert type(raised.value) is kind
    assert text in str(raised.value)
    assert len(bus.published) == 1


def test_cleanup_ends_the_calls_that_wait(driver, bus):
    """A thread of the engine does not wait for a client that another thread has closed."""
    bus.response = None
    ended = []

    def wait():
        try:
            call(driver)
        except errors.ClientClosed as exc:
            ended.append(exc)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_for(lambda: bus.published)
    driver.cleanup()
    thread.join(ENOUGH_S)

    assert len(ended) == 1
    assert not bus.is_open
    with pytest.raises(errors.ClientClosed):
        cast(driver)


def test_child_of_a_fork_uses_connections_of_its_own(driver, bus, monkeypatch):
    """A child shares neither sockets nor the reply queue with its parent, whose calls go on."""
    call(driver)
    parent = os.getpid()

    monkeypatch.setattr(os, 'getpid', lambda: parent + 1)
    call(driver)

    monkeypatch.setattr(os, 'getpid', lambda: parent)
    driver._own_bus().close()  # of the child, which the fixture does not know

    assert bus.request(0)['_reply_q'] != bus.request(1)['_reply_q']
