"""JSON texts with duplicate keys."""

import json

import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import strict_json
from placement_worker.contract.model import CheckRequest
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import deletion_policy, nodes, request, zone_policy

GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2))


@pytest.fixture
def endpoints(registry):
    return Endpoints(Inventory.parse({'zones': {'a': True}}, 'test'), registry)


def test_decode_of_a_large_request_does_not_search_duplicate_keys():
    """A request above `UNIQUE_KEYS_BYTES` is decoded once, without a search for duplicate keys."""
    padding = ['x' * 100] * (strict_json.UNIQUE_KEYS_BYTES // 104)
    text = json.dumps({'padding': padding, **GOOD})[:-1] + ', "target": "BEFORE"}'

    assert strict_json.decode(text, CheckRequest).target == 'BEFORE'


def test_decode_plain_of_a_large_text_does_not_search_duplicate_keys():
    """Plain data follows the rule for requests: the last value counts in a large text."""
    text = '{"a": 1, "b": "' + 'x' * strict_json.UNIQUE_KEYS_BYTES + '", "a": 2}'

    assert strict_json.decode_plain(text.encode())['a'] == 2


@pytest.mark.parametrize('text', ['{"a": 1', 'a: 1', '{"a": "\ud800"}', '[' * 100_000])
def test_decode_plain_of_malformed_json_is_refused(text):
    """A text that is not JSON is refused as an invalid request."""
    with pytest.raises(errors.InvalidRequest, match=r'^Expected JSON - at `\$`: '):
        strict_json.decode_plain(text.encode(errors='surrogatepass'))


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{"a": 1, "target": "BEFORE", "a": 1e999}', r'Object missing required field `action`'),
        (
            json.dumps(GOOD).replace('"id": "c1"', '"id": "c1", "id": "c2"'),
            r'got `id` twice - at `\$\.cluster`',
        ),
        (
            json.dumps(GOOD)[:-1] + ', "x": [{"y": 1, "y": 1e999}]}',
            r'got `y` twice - at `\$\.x\[0\]`',
        ),
        (json.dumps(GOOD)[:-1] + ', "x": {"": 1, "": "\\u003a:"}}', r'got `` twice - at `\$\.x`'),
    ],
)
def test_text_with_a_duplicate_key_is_refused(text, said):
    """A line of a file with a duplicate key is refused; the error names the key and its object."""
    with pytest.raises(errors.InvalidRequest, match=said):
        strict_json.decode(text, CheckRequest)


def test_text_with_a_number_out_of_range_under_an_unknown_key_is_decoded():
    """The search for duplicate keys ignores numbers that the decoder ignores."""
    text = json.dumps(GOOD)[:-1] + ', "x": 1e999, "y": ' + '9' * 5000 + '}'

    assert strict_json.decode(text, CheckRequest).target == 'BEFORE'


@pytest.mark.parametrize('text', ['{', '{"a": "\ud800"}'])
def test_check_on_the_bus_that_is_no_json_is_refused(endpoints, text):
    """A request that cannot be encoded or decoded reaches its caller as an error."""
    with pytest.raises(errors.InvalidRequest, match=r'^Expected JSON - at `\$`: '):
        endpoints.policy_check(text)


def test_check_lines_with_a_duplicate_key_answers_that_line_with_an_error(program):
    """A line with a duplicate key is refused, and the next line gets a reply."""
    duplicate = json.dumps(GOOD)[:-1] + ', "target": "BEFORE"}'

    status, out, _ = program('check', '--lines', 'f', f=f'{duplicate}\n{json.dumps(GOOD)}\n')

    first, second = map(json.loads, out.splitlines())
    assert status == 2
    assert first['error']['message'] == 'Expected each key once, got `target` twice - at `$`'
    assert 'action' in second
