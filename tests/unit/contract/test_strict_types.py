"""Types that refuse unknown keys."""

import json

import msgspec
import pytest

from placement_worker.contract import strict_types, unknown_keys
from placement_worker.contract.model import CheckRequest
from tests.malformed_requests import GOOD, changed


def _decoded(document):
    return strict_types.decode(json.dumps(document).encode(), CheckRequest)


def test_decode_of_a_valid_request_keeps_every_value():
    """The object encodes to the same JSON, including times, excerpts and free-form maps."""

    def change(asked):
        asked['cluster']['profile']['properties'] = {'flavor': 'm1', 'context': {'x': [1]}}
        asked['cluster']['nodes'][0].update(
            created_at='2026-01-31T12:00:00+01:00',
            details={'addresses': {}, 'other': None},
            metadata={'protected': {'until': None}, 'other': 1},
        )
        asked['action']['data'] = {'free': {'form': 1.5}}

    asked = changed(GOOD, change)

    assert msgspec.to_builtins(_decoded(asked)) == asked


@pytest.mark.parametrize(
    'change',
    [
        lambda r: r.update(dryrun=True),
        lambda r: r['cluster']['nodes'][1].update(zone='a'),
        lambda r: r['policies'][0].update(priorty=1),
        lambda r: r['policies'][0]['spec'].update(properites={}),
        lambda r: r['action'].update(node={**r['cluster']['nodes'][0], 'zone': 'a'}),
        lambda r: r.update(reply_to={'exchange': 'e', 'topic': 't', 'method': 'm', 'x': 1}),
    ],
)
def test_decode_with_an_unknown_key_at_any_depth_returns_none(change):
    """The types refuse exactly the keys that the contract does not list."""
    asked = changed(GOOD, change)

    assert list(unknown_keys.found(asked, CheckRequest))
    assert _decoded(asked) is None


@pytest.mark.parametrize(
    'text',
    [
        b'{',
        b'\xff',
        b'[' * 100_000,
        b'{"x": {"a": 1, "a": 2}, ' + json.dumps(GOOD).encode()[1:],
        json.dumps(GOOD).encode().replace(b'"data": {', b'"data": {"a": 1, "a": 2,', 1),
        json.dumps({key: value for key, value in GOOD.items() if key != 'target'}).encode(),
    ],
)
def test_decode_of_a_text_with_an_error_returns_none(text):
    """Text that is not JSON, repeats a key, or does not fit has no object."""
    assert strict_types.decode(text, CheckRequest) is None


def test_strict_with_a_renamed_field_uses_its_name_in_json():
    """Keys are those of the messages, not the names of attributes."""

    class Renamed(msgspec.Struct):
        inside: int = msgspec.field(name='in-side', default=0)

    assert msgspec.json.decode(b'{"in-side": 1}', type=strict_types.strict(Renamed)).inside == 1
