"""Replies to casts as they arrive."""

import json

import pytest

from placement_worker import errors
from placement_worker.client.cast_reply import decode

REPLY = {
    'action': {'id': 'a1', 'data': {'status': 'OK'}},
    'cluster': None,
    'nodes': {},
    'decisions': [],
}


def body(reply, **more):
    """Return the body of a reply."""
    cast = {'method': 'policy_checked', 'args': {'request_id': 'r1', 'reply': reply}, **more}
    return json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(cast)})


@pytest.mark.parametrize('reply', [REPLY, json.dumps(REPLY)], ids=['object', 'JSON string'])
def test_reply_of_either_form_becomes_an_object_of_the_contract(reply):
    """A reply is decoded, whether its request was an object or a JSON string."""
    cast_reply = decode(body(reply, _unique_id='u1'))

    assert cast_reply.outcome.action.data == {'status': 'OK'}
    assert (cast_reply.request_id, cast_reply.unique_id) == ('r1', 'u1')


@pytest.mark.parametrize(
    ('name', 'kind', 'message'),
    [
        ('InvalidSpec', errors.InvalidSpec, 'bad'),
        ('RequestParked', errors.RequestParked, 'bad'),
        ('NewerError', errors.WorkerFailed, 'NewerError: bad'),
        ('Mapping', errors.WorkerFailed, 'Mapping: bad'),
        ('escaped', errors.WorkerFailed, 'escaped: bad'),
    ],
)
def test_error_becomes_an_exception_of_the_package(name, kind, message):
    """An error has the class that a call would raise; an unknown one is WorkerFailed."""
    error = decode(body({'error': {'type': name, 'message': 'bad'}})).outcome

    assert (type(error), str(error)) == (kind, message)


@pytest.mark.parametrize(
    'malformed',
    [
        '',
        '[]',
        '{"oslo.message": "{}"}',
        '{"oslo.message": 7}',
        body(7),
        body(None),
        body('half {'),
        body({'error': 'words'}),
        body({'action': 7}),
        b'\xff\xfe',
    ],
)
def test_malformed_body_raises_invalid_request(malformed):
    """A message of any content raises no other error."""
    with pytest.raises(errors.InvalidRequest):
        decode(malformed)
