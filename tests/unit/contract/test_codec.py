"""Requests are refused at a bounded cost, with an error that names the place; keys stand once."""

import json
import time

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec, document_kinds
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
    """Note each time that JSON is decoded without a type, which is the second time for a
    request.
    """
    made = []
    decode = msgspec.json.decode
    monkeypatch.setattr(
        msgspec.json, 'decode', lambda *args, **more: made.append(args) or decode(*args, **more)
    )
    return made


def padded(asked, size=LARGE):
    """The request as JSON of such a size."""
    return json.dumps({'padding': ['x' * 100] * (size // 104), **asked})


def addresses(count, last):
    """A node with so many networks, the last of which has these addresses."""
    networks = {f'net-{i}': [{'addr': '10.0.0.1', 'version': 4}] for i in range(count)}
    return node(1, details={'addresses': {**networks, 'odd': last}})


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            lambda asked: asked['cluster'].update(
                nodes=[addresses(100_000, [{'addr': 1, 'version': 4}])]
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
def test_check_with_a_large_request_that_does_not_fit_is_refused_at_the_cost_of_reading_it(
    endpoints, decodings, change, message, as_text
):
    """Refusing 44 MiB takes at most 2 s of CPU and no second decoding; the error has the path of
    the first.
    """
    text = padded(changed(GOOD, change))
    asked = text if as_text else json.loads(text)
    started = time.thread_time()

    with pytest.raises(errors.InvalidRequest) as raised:
        endpoints.policy_check(asked)

    assert time.thread_time() - started < 2
    assert decodings == []
    assert str(raised.value) == message


def test_decode_with_a_wrong_value_in_one_of_many_maps_names_its_key():
    """The key that msgspec leaves out is found by looking at each value once, also as large as is
    searched.
    """
    asked = changed(
        GOOD, lambda asked: asked['cluster'].update(nodes=[addresses(15_000, [{'addr': 1}])])
    )
    assert codec.SECOND_DECODE_BYTES * 0.5 < len(json.dumps(asked)) < codec.SECOND_DECODE_BYTES
    started = time.thread_time()

    with pytest.raises(
        errors.InvalidRequest, match=r'got `int` - at `\$\.cluster\..*\.addresses\.odd\[0\]\.addr`'
    ):
        codec.decode(asked, CheckRequest)

    assert time.thread_time() - started < 2


def test_decode_with_a_key_of_a_map_that_looks_like_a_path_names_it():
    """A hostile key does not change the place that an error names."""
    odd = node(1, details={'addresses': {'a.b[0]': [], '[...]': [{'addr': 1, 'version': 4}]}})

    with pytest.raises(errors.InvalidRequest, match=r'addresses\.\[\.\.\.\]\[0\]\.addr'):
        codec.decode(
            changed(GOOD, lambda asked: asked['cluster'].update(nodes=[odd])), CheckRequest
        )


def test_spec_with_a_long_unknown_property_has_a_short_error(endpoints):
    """An error repeats a bounded part of a request."""
    asked = changed(
        GOOD, lambda asked: asked['policies'][0]['spec']['properties'].update({'x' * 10_000: 1})
    )

    with pytest.raises(errors.InvalidSpec) as raised:
        endpoints.policy_check(asked)

    assert len(str(raised.value)) < 1000


def test_kinds_with_a_million_unknown_keys_names_the_first_at_the_cost_of_counting():
    """Keys that are only counted are not compared with those that are known."""
    strange = {f'target{i}': 1 for i in range(1_000_000)}
    started = time.thread_time()

    with pytest.raises(
        errors.InvalidRequest, match=r'target4` \(did you mean `target`\?\) and 999995 more'
    ):
        document_kinds.check(
            {**GOOD, **strange}, CheckRequest, 'Expected only keys of the contract'
        )

    assert time.thread_time() - started < 10


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
def test_check_with_a_key_twice_is_refused_with_key_and_place(endpoints, text, said):
    """A caller that sends a key twice gets an error, whichever value it meant."""
    with pytest.raises(errors.InvalidRequest, match=said):
        endpoints.policy_check(text)


def test_check_with_a_number_out_of_range_in_an_unknown_key_is_decided(endpoints):
    """The search for keys that stand twice refuses nothing else."""
    reply = json.loads(
        endpoints.policy_check(json.dumps(GOOD)[:-1] + ', "x": 1e999, "y": ' + '9' * 5000 + '}')
    )

    assert reply['action']['data']['status'] == 'OK'


def test_check_lines_with_a_key_twice_answers_with_an_error(program):
    """A line is refused at any size, and the next one is answered."""
    twice = padded(GOOD, 2 * 2**20)[:-1] + ', "target": "BEFORE"}'

    status, out, _ = program('check', '--lines', 'f', f=f'{twice}\n{json.dumps(GOOD)}\n')

    first, second = map(json.loads, out.splitlines())
    assert status == 2
    assert first['error']['message'] == 'Expected each key once, got `target` twice - at `$`'
    assert 'action' in second
