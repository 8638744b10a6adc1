"""Malformed messages: they end no process, leak nothing, and the next request gets a reply."""

import itertools
import json
import re
import uuid
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from placement_worker.contract.rpc import EXCHANGE
from tests import hostile_requests
from tests.functional.conftest import amqp
from tests.functional.engine import slow
from tests.malformed_requests import GOOD
from tests.waiting import wait_for

pytestmark = pytest.mark.long

MIB = 2**20


# glibc's allocator then returns the memory of large bodies at once; by default it keeps some.
RETURNS_MEMORY = {'MALLOC_MMAP_THRESHOLD_': '65536', 'MALLOC_ARENA_MAX': '1'}
WARM_UP, ROUNDS = 4, 32
LEAK_MIB = 5  # a body of 1 MiB that each round leaks takes more


def enveloped(message):
    text = message if isinstance(message, str) else json.dumps(message)
    return json.dumps({'oslo.version': '2.0', 'oslo.message': text})


# For each message that is published another one, or all but the first would be dropped as handled
# already.
NOT_HANDLED_YET = 'unique-id-of-its-own'
CALL = {
    'method': 'policy_check',
    'args': {'request': json.dumps(GOOD)},
    'version': '1.0',
    '_unique_id': NOT_HANDLED_YET,
}
NO_REPLY_QUEUE = {'_msg_id': 'm', '_reply_q': 'reply_nobody'}

# Bytes, or the message in an envelope.
BODIES = {
    'nothing': b'',
    'zeros': b'\0' * 1000,
    'not text': b'\xff\xfe\xfd',
    'half a brace': b'{',
    'null': b'null',
    'true': b'true',
    'a number': b'7',
    'a string': b'"hello"',
    'a list': b'[]',
    'an empty object': b'{}',
    'no message in the envelope': b'{"oslo.version": "2.0"}',
    'no version on the envelope': b'{"oslo.message": "{}"}',
    'a version from the future': b'{"oslo.version": "9.0", "oslo.message": "{}"}',
    'a version that is a map': b'{"oslo.version": {}, "oslo.message": "{}"}',
    'half a message': '{',
    'a list for a message': [],
    'a number for a message': '7',
    'null for a message': 'null',
    'an empty message': {},
    'a message that is a map': b'{"oslo.version": "2.0", "oslo.message": '
    b'{"method": "policy_check"}}',
    'no method': {'args': {}},
    'a method that is a number': {'method': 7},
    'a method that is a list': {'method': []},
    'a private method': {**CALL, 'method': '__init__'},
    'an unknown method': {**CALL, 'method': 'nothing'},
    'no arguments': {'method': 'policy_check'},
    'arguments in a list': {**CALL, 'args': []},
    'null for arguments': {**CALL, 'args': None},
    'other arguments': {**CALL, 'args': {'question': 1}},
    'too many arguments': {**CALL, 'args': {'request': {}, 'more': 1}},
    'arguments with reserved names': {**CALL, 'args': {'self': 1, 'context': 2}},
    'a version that is a word': {**CALL, 'version': 'one'},
    'a version that is a number': {**CALL, 'version': 1.0},
    'a version with a major number alone': {**CALL, 'version': '1'},
    'a newer version': {**CALL, 'version': '2.0'},
    'a namespace': {**CALL, 'namespace': 'other'},
    'a unique id that is a list': {**CALL, '_unique_id': []},
    'a unique id that is a number': {**CALL, '_unique_id': 7},
    'no unique id': {k: v for k, v in CALL.items() if k != '_unique_id'},
    'an unknown reply queue': {**CALL, **NO_REPLY_QUEUE},
    'a reply queue that is a number': {**CALL, '_msg_id': 'm', '_reply_q': 7},
    'a reply queue and no id': {**CALL, '_reply_q': 'reply_nobody'},
    'an id and no reply queue': {**CALL, '_msg_id': 'm'},
    'a monitor without a method': {'_timeout': 2, '_msg_id': 'm', '_reply_q': 'reply_nobody'},
    'a monitor of an unknown method': {**CALL, 'method': 'x', '_timeout': 2},
    'a monitor of words': {**CALL, '_timeout': 'soon'},
    'a monitor below zero': {**CALL, '_timeout': -1},
    'a context of lists': {**CALL, '_context_request_id': [], '_context_user_id': {}},
    'a context with line breaks': {**CALL, '_context_request_id': 'a\nb'},
    'a context of one MiB': {**CALL, '_context_request_id': 'x' * MIB},
    'a request that is null': {**CALL, 'args': {'request': None}},
    'a request that is a number': {**CALL, 'args': {'request': 7}},
    'a request that is not JSON': {**CALL, 'args': {'request': '{'}},
    'a request with surrogates': {**CALL, 'args': {'request': '"\ud800"'}},
    'a deeply nested request': {**CALL, 'args': {'request': '[' * 100_000 + ']' * 100_000}},
    'lists, 100,000 deep': b'[' * 100_000 + b']' * 100_000,
    'maps, 100,000 deep': b'{"a":' * 100_000 + b'1' + b'}' * 100_000,
    'a deeply nested message': '[' * 100_000 + ']' * 100_000,
    'a number of 100,000 digits': b'9' * 100_000,
    'not a number': b'NaN',
    'a key 100,000 times': b'{' + b','.join(b'"a":1' for _ in range(100_000)) + b'}',
    'above the limit of requests': {**CALL, 'args': {'request': json.dumps({'a': 'x' * 3 * MIB})}},
    'above the limit of messages': {**CALL, 'args': {'request': 'x' * 20 * MIB}},
}
BOMB = zlib.compress(b'x' * 800 * MIB, 9)
PROPERTIES = {
    'binary': {'content_type': 'application/octet-stream', 'content_encoding': 'binary'},
    'a pickle': {'content_type': 'application/x-python-serialize', 'content_encoding': 'binary'},
    'yaml': {'content_type': 'application/x-yaml', 'content_encoding': 'utf-8'},
    'an unknown content type': {'content_type': 'nonsense/x', 'content_encoding': 'utf-8'},
    'an unknown encoding': {'content_type': 'application/json', 'content_encoding': 'utf-99'},
    'no content type': {'content_type': '', 'content_encoding': ''},
    'an unknown compression': {'headers': {'compression': 'application/x-nothing'}},
    'a compression that is a list': {'headers': {'compression': ['x']}},
    'headers of all kinds': {
        'headers': {'x-delivery-count': 'many', 'retried': 'again', 'a': {'b': [1, None]}}
    },
    'a retry that is a number': {'headers': {'retried': 7}},
    'a reply to an unknown queue': {'reply_to': 'nobody', 'correlation_id': 'x'},
}
MESSAGES = [
    *(
        (name, body if isinstance(body, bytes) else enveloped(body).encode(), {})
        for name, body in BODIES.items()
    ),
    *((name, enveloped(CALL).encode(), more) for name, more in PROPERTIES.items()),
    *(
        (f'a bomb of {kind}', BOMB, {'headers': {'compression': kind}})
        for kind in ('application/x-gzip', 'zlib', 'application/x-bz2', 'application/x-lzma')
    ),
]


@pytest.fixture(scope='module')
def worker(start_worker):
    settings = {'max_request_bytes': 2 * MIB, 'max_deliveries': 1}
    return start_worker(environment=RETURNS_MEMORY, **settings)


@pytest.fixture
def client(worker):
    with closing(worker.client()) as client:
        client.policy_check(GOOD)
        yield client


def publish(worker, messages):
    with amqp(worker.url) as connection, connection.Producer() as producer:
        for _, body, more in messages:
            settings = {'content_type': 'application/json', 'content_encoding': 'utf-8', **more}
            identified = body.replace(NOT_HANDLED_YET.encode(), uuid.uuid4().hex.encode())
            producer.publish(identified, exchange=EXCHANGE, routing_key=worker.topic, **settings)


def left_on(worker):
    """Return the number of messages on the queues of the worker, ready or unacknowledged."""
    with amqp(worker.url) as connection:
        declare, suffixes = connection.default_channel.queue_declare, ('', '-suspects', '-parked')
        queues = [declare(f'{worker.topic}{suffix}', passive=True) for suffix in suffixes]
        return sum(queue.message_count for queue in queues)


def memory(worker):
    """The largest resident set of the processes that serve, in MiB."""
    return max(int(_status(pid)['VmRSS'].split()[0]) for pid in worker.children()) / 1024


def memory_after(worker, rounds, send):
    def used():
        send()
        return memory(worker)

    return [used() for _ in range(rounds)]


def threads(worker):
    return max(int(_status(pid)['Threads']) for pid in worker.children())


def _status(pid):
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(':') for line in lines)}


def use_all_threads(client):
    """The pool makes a thread when it first needs one."""
    with ThreadPoolExecutor(16) as callers:
        list(callers.map(lambda _: client.policy_check(slow(0.2)), range(32)))


def answered(client):
    assert client.policy_check(GOOD).action.data['status'] == 'OK'


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: message[0])
def test_malformed_message_is_dropped_and_the_next_request_answered(worker, client, message):
    """A malformed message is dropped, and the worker replies to the next request."""
    pids = worker.children()

    publish(worker, [message])
    answered(client)

    wait_for(lambda: left_on(worker) == 0)
    assert worker.children() == pids


def test_malformed_messages_leak_no_memory_and_no_threads(worker, client):
    """Each further round of all malformed messages leaves memory and threads as before."""

    def send():
        publish(worker, MESSAGES)
        answered(client)
        wait_for(lambda: left_on(worker) == 0)

    use_all_threads(client)
    before, threads_before = max(memory_after(worker, WARM_UP, send)), threads(worker)
    after = memory_after(worker, ROUNDS, send)

    assert max(after) < before + LEAK_MIB
    # A connection to reply on has a thread, and now and then there is one more.
    assert threads(worker) < threads_before + 6


def test_malformed_messages_are_all_acknowledged(start_worker, own_broker):
    """No malformed message stays unacknowledged."""
    worker = start_worker(url=own_broker.url, max_request_bytes=2 * MIB)
    publish(worker, MESSAGES)
    with closing(worker.client()) as client:
        answered(client)

    def unsettled():
        # A channel knows its unacknowledged messages at once; a queue counts them every 5 s.
        listed = own_broker.control('list_channels', 'messages_unacknowledged')
        return left_on(worker) + sum(int(line) for line in listed.split() if line.isdecimal())

    wait_for(lambda: unsettled() == 0)
    assert unsettled() == 0  # no message was on its way from the queue to the channel
    assert worker.stop() == 0  # before its broker, which ends with this test


def test_large_bodies_of_integers_leak_no_memory(start_worker):
    """Bodies of 10 million integers at any place take at most 50 MiB more when they come again."""
    worker = start_worker()
    integers = ','.join(str(i % 100_000) for i in range(10_000_000))
    requests = f'[{integers}]', json.dumps({**GOOD, 'x': 0})[:-2] + f'[{integers}]}}'
    bodies = []
    for request, place in itertools.product(requests, ('args', '_context_x')):
        call = {**CALL, 'args': {'request': 0}, place: {'request': 0}}
        message = json.dumps(call).replace('{"request": 0}', f'{{"request": {request}}}')
        bodies.append(enveloped(message).encode())
    with closing(worker.client(timeout_s=120)) as client:

        def send_all():
            for body in bodies:
                publish(worker, [('', body, {})])
                answered(client)

        use_all_threads(client)
        before = max(memory_after(worker, 2, send_all))

        assert min(memory_after(worker, 2, send_all)) <= before + 50


def test_hostile_text_in_any_field_is_one_printable_record_each_in_the_log(start_worker):
    """No field puts a control character or a forged line into the log file."""
    worker = start_worker()
    requests = [asked for _, asked in hostile_requests.requests()]
    requests += map(json.dumps, requests[:])
    calls = [{**CALL, 'args': {'request': asked}} for asked in requests]
    keys = 'method', 'version', 'namespace', 'args', '_msg_id', '_reply_q', '_context_request_id'
    calls += [{**CALL, key: hostile_requests.TEXT} for key in (*keys, *['_unique_id'] * 2)]
    calls += [{**CALL, 'args': {hostile_requests.TEXT: 1}}, hostile_requests.TEXT]
    bodies = [hostile_requests.TEXT.encode(), *(enveloped(call).encode() for call in calls)]
    messages = [('', body, {}) for body in bodies]
    with closing(worker.client()) as client:
        publish(worker, messages)
        answered(client)

    written = worker.log.read_bytes().decode()

    assert hostile_requests.raw(written) == []
    assert 'evil' in written
    stamped = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ [A-Z]+ ')
    assert [line for line in written.splitlines() if not stamped.match(line)] == []
