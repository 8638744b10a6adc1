"""The address of the reply to a request that need not be valid."""

import datetime
import json

import pytest

from placement_worker.contract.model import ReplyTo
from placement_worker.errors import InvalidRequest
from placement_worker.handlers import reply_address

TO = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}
TEXT = json.dumps({'cluster': None, 'reply_to': TO})
MAX_BYTES = 10_000


def addressed(raw, max_bytes=MAX_BYTES):
    """Return the destination in a request."""
    return reply_address.of_request(raw, max_bytes).reply_to


@pytest.mark.parametrize(
    'raw',
    [
        {'reply_to': TO, 'cluster': None, 'target': 7},
        {'reply_to': TO, 'cluster': 'x' * MAX_BYTES},
        TEXT,
        TEXT.replace('null', '"\ud800"'),
        TEXT.replace('null', '"ü"'),
        TEXT.replace('{', '{"cluster": 1, ', 1),
    ],
    ids=['object', 'large object', 'string', 'surrogate', 'umlaut', 'duplicate key'],
)
def test_address_in_an_invalid_request_is_found(raw):
    """Errors outside of `reply_to` do not hide the destination."""
    assert addressed(raw) == ReplyTo(**TO)


@pytest.mark.parametrize(
    ('expires_at', 'expected'),
    [
        ('2026-01-01T12:00:00Z', datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)),
        ('tomorrow', None),
        (7, None),
        (None, None),
    ],
)
@pytest.mark.parametrize('form', [dict, json.dumps])
def test_expiry_of_an_address_that_is_no_time_counts_as_none(form, expires_at, expected):
    """The expiry is read if it is valid, and does not hide the destination otherwise."""
    address = reply_address.of_request(form({'reply_to': TO, 'expires_at': expires_at}), MAX_BYTES)

    assert address == (ReplyTo(**TO), expected)


@pytest.mark.parametrize('raw', [{}, {'reply_to': None}, '{}', '{"reply_to": null}'])
def test_address_of_a_request_without_reply_to_is_none(raw):
    """A request that names no destination has no address."""
    assert reply_address.of_request(raw, MAX_BYTES) is None


@pytest.mark.parametrize(
    'raw', [None, [], 7, '{', '[]', TEXT[:-1], {'reply_to': 7}, {'reply_to': {**TO, 'topic': '*'}}]
)
def test_address_that_cannot_be_read_is_refused(raw):
    """The error of an unreadable request or destination is one of the contract."""
    with pytest.raises(InvalidRequest):
        reply_address.of_request(raw, MAX_BYTES)


def test_address_in_a_string_above_the_size_limit_is_refused():
    """A string is not searched beyond the size limit of requests."""
    assert addressed(TEXT, len(TEXT)) == ReplyTo(**TO)

    with pytest.raises(InvalidRequest, match=f'at most {len(TEXT) - 1} bytes'):
        addressed(TEXT, len(TEXT) - 1)
