"""The message size limit, which is checked before a message is decoded."""

import json

import msgspec
import pytest
from oslo_messaging._drivers import common
from oslo_serialization import jsonutils

from placement_worker.messaging import received_size_limit

REQUESTS = {
    'quotes': {'nodes': [''] * 500},
    'quotes in strings': {'name': '"' * 500},
    'backslashes': {'name': '\\' * 500},
    'umlauts': {'name': 'ü' * 500},
    'characters of three bytes': {'name': '节' * 500},
    'characters of four bytes': {'name': '🐢' * 500},
    'line breaks': {'name': '\n' * 500},
}
DATETIME = '{"__type__": "datetime", "__value__": "20200101T000000+0530"}'


def limited(max_request_bytes):
    return received_size_limit.limited_loads(max_request_bytes, lambda: None)


@pytest.mark.parametrize('request_', REQUESTS.values(), ids=REQUESTS)
def test_limited_loads_of_the_largest_request_passes_whatever_it_contains(request_):
    """A request of the maximum size passes in its envelope, whatever characters it contains."""
    encoded = msgspec.json.encode(request_)
    message = {'method': 'policy_check', 'args': {'request': encoded.decode()}, 'version': '1.0'}
    body = jsonutils.dumps(common.serialize_msg(message))

    assert limited(lambda: len(encoded))(body) == message


def test_limited_loads_uses_the_limit_in_force():
    """A limit that is reloaded applies to the next message."""
    limit = 1024
    read = limited(lambda: limit)
    body = json.dumps('x' * 70_000)

    with pytest.raises(ValueError, match='at most 69632 bytes, got 70002'):
        read(body)
    limit = 2048
    assert read(body) == 'x' * 70_000


def sent(message):
    """Return a message in its envelope."""
    return json.dumps({'oslo.version': '2.0', 'oslo.message': message})


@pytest.mark.parametrize(
    ('body', 'error'),
    [
        (sent('{"args": {"request": {"id": 1, "id": 2}}}'), r'`id` twice - at `\$.args.request`'),
        (sent('{"args": {"\\u003a": 1, ":": 2}}'), r'`:` twice - at `\$.args`'),
        (sent('{"args": {"request": {"id": 1, "id": 2}}}').encode(), r'`id` twice'),
        ('{"args": {"request": {"id": 1, "id": 2}}}', r'`id` twice - at `\$.args.request`'),
        ('{"id": 1, "id": 2, "x": "\\ud800"}', '`id` twice'),
        (f'{{"id": 1, "id": 2, "t": {DATETIME}, "n": NaN}}', '`id` twice'),
        (sent('{}')[:-1] + ', "oslo.message": "{}"}', '`oslo.message` twice'),
        (sent('{}')[:-1] + ', "oslo\\u002emessage": "{}"}', '`oslo.message` twice'),
    ],
)
def test_limited_loads_with_a_duplicate_key_refuses_the_message(body, error):
    """A duplicate key is refused before a library drops one of its values."""
    with pytest.raises(ValueError, match=error):
        limited(lambda: 2**20)(body)


@pytest.mark.parametrize('message', ['{"a": ":", "b": {"a": 1}}', '{"a": "\\u003a"}'])
def test_limited_loads_returns_the_message_as_oslo_messaging_would(message):
    """Messages without a duplicate key pass, and oslo.messaging finds nothing left to decode."""
    loaded = limited(lambda: 2**20)(sent(message))

    assert loaded == json.loads(message)
    assert common.deserialize_msg(loaded) == common.deserialize_msg(json.loads(sent(message)))


@pytest.mark.parametrize('message', ['{"a": 1e999}', '{"a": NaN}', '[' * 5000, 'x'])
def test_limited_loads_leaves_other_messages_to_oslo_messaging(message):
    """oslo.messaging decodes or rejects what msgspec cannot read."""
    assert limited(lambda: 2**20)(sent(message))['oslo.message'] == message


def test_limited_loads_of_an_envelope_in_an_envelope_refuses_it():
    """oslo.messaging would unwrap the inner one without a search for duplicate keys."""
    with pytest.raises(ValueError, match='one envelope'):
        limited(lambda: 2**20)(sent(sent('{"id": 1, "id": 2}')))


def test_limited_loads_of_an_envelope_without_a_text_refuses_it():
    """kombu would decode bytes that are marked by `__type__`, and nothing would search them."""
    body = '{"oslo.message": {"__type__": "bytes", "__value__": "e30="}, "a": NaN}'
    for one in (body, sent(7)):
        with pytest.raises(ValueError, match=r'a text as oslo\.message'):
            limited(lambda: 2**20)(one)


def test_limited_loads_of_a_message_that_msgspec_cannot_read_refuses_duplicate_keys():
    """A number that is too large does not hide a duplicate key."""
    with pytest.raises(ValueError, match='`id` twice'):
        limited(lambda: 2**20)(sent('{"id": 1, "id": 2, "a": 1e999}'))


@pytest.mark.parametrize(
    'body', ['{"oslo.message": "{}"}', '{"oslo.version": "3.0", "oslo.message": "{}"}', '[NaN]']
)
def test_limited_loads_of_another_envelope_returns_it_unchanged(body):
    """oslo.messaging refuses the versions of an envelope that it does not know."""
    assert str(limited(lambda: 2**20)(body)) == str(json.loads(body))


@pytest.mark.parametrize(('size', 'calls'), [(received_size_limit.LARGE_BYTES, 0), (5 * 2**20, 1)])
def test_limited_loads_of_a_large_body_calls_on_large(size, calls):
    """Memory is released after large bodies alone."""
    called = []
    loads = received_size_limit.limited_loads(lambda: 2**24, lambda: called.append(1))

    loads(json.dumps('x' * (size - 2)))

    assert len(called) == calls


def test_install_refuses_compressed_bodies(monkeypatch):
    """A small compressed body cannot fill the memory of the process."""
    compressions, serializers = {}, {}
    monkeypatch.setattr(
        'kombu.compression.register', lambda _, decode, kind: compressions.update({kind: decode})
    )
    monkeypatch.setattr(
        'kombu.serialization.register', lambda name, *_, **__: serializers.update({name: _})
    )

    received_size_limit.install(lambda: 2**20, lambda: None)

    assert 'application/x-gzip' in compressions
    for decode in compressions.values():
        with pytest.raises(ValueError, match='not compressed'):
            decode(b'')
    assert list(serializers) == ['json']
