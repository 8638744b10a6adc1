"""The bound on a message's size, which is looked at before it is decoded."""

import json

import msgspec
import pytest
from oslo_messaging._drivers import common
from oslo_serialization import jsonutils

from placement_worker.messaging import size_limit

REQUESTS = {
    'quotes': {'nodes': [''] * 500},
    'quotes inside of strings': {'name': '"' * 500},
    'backslashes': {'name': '\\' * 500},
    'umlauts': {'name': 'ü' * 500},
    'signs of three bytes': {'name': '节' * 500},
    'signs of four bytes': {'name': '🐢' * 500},
    'line breaks': {'name': '\n' * 500},
}


def limited(max_request_bytes):
    return size_limit.limited_loads(max_request_bytes, lambda: None)


@pytest.mark.parametrize('request_', REQUESTS.values(), ids=REQUESTS)
def test_a_request_as_large_as_it_may_be_passes_in_its_envelope_whatever_is_in_it(request_):
    encoded = msgspec.json.encode(request_)
    message = {'method': 'policy_check', 'args': {'request': encoded.decode()}, 'version': '1.0'}
    body = jsonutils.dumps(common.serialize_msg(message))

    assert json.loads(limited(lambda: len(encoded))(body)['oslo.message']) == message


def test_the_limit_is_the_one_in_force_when_a_message_comes():
    limit = 1024
    read = limited(lambda: limit)
    body = json.dumps('x' * 70_000)

    with pytest.raises(ValueError, match='at most 69632 bytes, got 70002'):
        read(body)
    limit = 2048
    assert read(body) == 'x' * 70_000


def sent(message):
    """A message in its envelope."""
    return json.dumps({'oslo.version': '2.0', 'oslo.message': message})


@pytest.mark.parametrize(
    ('body', 'said'),
    [
        (sent('{"args": {"request": {"id": 1, "id": 2}}}'), r'`id` twice - at `\$.args.request`'),
        (sent('{"args": {"\\u003a": 1, ":": 2}}'), r'`:` twice - at `\$.args`'),
        (sent('{"args": {"request": {"id": 1, "id": 2}}}').encode(), r'`id` twice'),
    ],
)
def test_reader_with_a_key_twice_refuses_the_message(body, said):
    """A duplicate key of a request that is an object is refused before a library drops one of its
    values.
    """
    with pytest.raises(ValueError, match=said):
        limited(lambda: 2**20)(body)


@pytest.mark.parametrize(
    'message', ['{"a": ":", "b": {"a": 1}}', '{"a": "\\u003a"}', '{"a": 1e999}', '[' * 5000, 'x', 7]
)
def test_reader_with_keys_that_stand_once_passes_the_message(message):
    """Bodies without a duplicate key pass; the reading library refuses those that are not JSON."""
    assert limited(lambda: 2**20)(sent(message))['oslo.message'] == message
