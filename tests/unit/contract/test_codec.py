"""Decoding: the cost of refused requests, the texts of errors, duplicate keys."""

import json
import time

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.limits import Limits
from placement_worker.contract.model import CheckRequest
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import changed, deletion_policy, node, nodes, request, zone_policy

GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2))
LARGE = 44 * 2**20


@pytest.fixture
def endpoints(registry):
    return Endpoints(
        Inventory.parse({'zones': {'a': True}}, 'test'),
        registry,
        limits=lambda: Limits(request_bytes=2**30),
    )


@pytest.fixture
def decodings(monkeypatch):
    """Return the list of decodings without a type, which is how a request is decoded again."""
    made = []
    decode = msgspec.json.decode
    monkeypatch.setattr(
        msgspec.json, 'decode', lambda *args, **more: made.append(args) or decode(*args, **more)
    )
    return made


def padded(asked, size=LARGE):
    """Return the request as JSON of about `size` bytes."""
    return json.dumps({'padding': ['x' * 100] * (size // 104), **asked})


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            lambda asked: asked['cluster'].update(
                nodes=[node(1, details={'addresses': {'odd': [{'addr': 1, 'version': 4}]}})]
            ),
            'Expected `str`, got `int` - at `$.cluster.nodes[0].details.addresses[...][0].addr`',
        ),
        (lambda asked: asked.update(target='NEVER'), "Invalid enum value 'NEVER' - at `$.target`"),
        (
            lambda asked: asked.update(expires_at='soon'),
            'Invalid RFC3339 encoded datetime - at `$.expires_at`',
        ),
        (
            lambda asked: asked['cluster'].update(min_size=-1),
            'Expected `int` >= 0 - at `$.cluster.min_size`',
        ),
    ],
    ids=['map', 'choice', 'time', 'bound'],
)
@pytest.mark.parametrize('as_text', [True, False])
def test_decode_of_a_large_malformed_request_costs_one_decoding(
    endpoints, decodings, change, message, as_text
):
    """A malformed request of 44 MiB is refused after one decoding and at most 2 s of CPU time."""
    text = padded(changed(GOOD, change))
    asked = text if as_text else json.loads(text)
    started = time.thread_time()

    with pytest.raises(errors.InvalidRequest) as raised:
        endpoints.policy_check(asked)

    assert time.thread_time() - started < 2
    assert decodings == []
    assert str(raised.value) == message


@pytest.mark.parametrize('key', ['odd', 'a.b[0]', '[...]'])
def test_decode_of_a_wrong_value_in_a_map_names_the_map(key):
    """The error about a value of a free-form map names the map, whatever the key is."""
    wrong = node(1, details={'addresses': {key: [{'addr': 1, 'version': 4}]}})

    with pytest.raises(errors.InvalidRequest) as raised:
        codec.decode(
            changed(GOOD, lambda asked: asked['cluster'].update(nodes=[wrong])), CheckRequest
        )

    assert str(raised.value) == (
        'Expected `str`, got `int` - at `$.cluster.nodes[0].details.addresses[...][0].addr`'
    )


def test_error_about_a_long_unknown_property_is_short(endpoints):
    """An error repeats at most 1000 characters of a request."""
    asked = changed(
        GOOD, lambda asked: asked['policies'][0]['spec']['properties'].update({'x' * 10_000: 1})
    )

    with pytest.raises(errors.InvalidSpec) as raised:
        endpoints.policy_check(asked)

    assert len(str(raised.value)) < 1000


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
def test_check_with_a_duplicate_key_is_refused(endpoints, text, said):
    """A request with a duplicate key is refused; the error names the key and its object."""
    with pytest.raises(errors.InvalidRequest, match=said):
        endpoints.policy_check(text)


def test_check_with_a_number_out_of_range_under_an_unknown_key_is_decided(endpoints):
    """The search for duplicate keys ignores numbers that the decoder ignores."""
    reply = json.loads(
        endpoints.policy_check(json.dumps(GOOD)[:-1] + ', "x": 1e999, "y": ' + '9' * 5000 + '}')
    )

    assert reply['action']['data']['status'] == 'OK'


def test_check_lines_with_a_duplicate_key_answers_that_line_with_an_error(program):
    """A line of any size with a duplicate key is refused, and the next line is answered."""
    duplicate = padded(GOOD, 2 * 2**20)[:-1] + ', "target": "BEFORE"}'

    status, out, _ = program('check', '--lines', 'f', f=f'{duplicate}\n{json.dumps(GOOD)}\n')

    first, second = map(json.loads, out.splitlines())
    assert status == 2
    assert first['error']['message'] == 'Expected each key once, got `target` twice - at `$`'
    assert 'action' in second
