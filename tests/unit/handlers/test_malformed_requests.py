"""Requests that do not fit the contract, and free-form maps of any content."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker import errors
from placement_worker.contract.inputs import KEYS_BY_ACTION
from placement_worker.contract.rpc import Limits
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.factories import deletion_policy, node, region_policy, request, zone_policy
from tests.malformed_requests import BINDING, GOOD, REBALANCE_TABLE, TABLE
from tests.unit.handlers.conftest import CLOUD

ROWS = [
    *(('policy_check', row) for row in TABLE),
    *(('policy_rebalance', row) for row in REBALANCE_TABLE),
    *((method, BINDING) for method in ('policy_attach', 'policy_detach')),
]


@pytest.mark.parametrize(('method', 'row'), ROWS, ids=[f'{name} {row.name}' for name, row in ROWS])
def test_malformed_request_is_refused_in_exact_words(endpoints, outbox, method, row):
    """A malformed request is refused with the exact class and text, and nothing is done."""
    with pytest.raises(errors.Refused) as refused:
        getattr(endpoints, method)(row.sent, 'req-1')

    assert (type(refused.value).__name__, str(refused.value)) == (row.error, row.message)
    assert outbox.sent == [(f'{method}.error', row.error, row.message, 'req-1')]


def test_policy_check_above_the_size_limit_is_refused(registry):
    """A request above the size limit is refused in either form."""
    text = msgspec.json.encode(GOOD).decode()
    endpoints = Endpoints(
        CLOUD, registry, WorkerSettings(limits=lambda: Limits(request_bytes=len(text) - 1))
    )

    for form in (GOOD, text):
        with pytest.raises(
            InvalidRequest,
            match=f'^Expected at most {len(text) - 1} bytes, got {len(text)} - at `\\$`',
        ):
            endpoints.policy_check(form)


def test_policy_check_with_deeply_nested_input_is_refused(endpoints):
    """Input that is nested too deeply is refused as invalid JSON."""
    depth = 1_000_000  # Python 3.14 limits the size of the stack, not the number of calls
    nested = '"inputs":{"x":' + '[' * depth + ']' * depth + '}'
    text = msgspec.json.encode(GOOD).decode().replace('"inputs":{}', nested)

    with pytest.raises(InvalidRequest, match=r'^Expected JSON - at `\$`: '):
        endpoints.policy_check(text)


KEYS = st.sampled_from(
    [
        *('count', 'zones', 'zone', 'regions', 'region', 'places', 'placements', 'region_name'),
        *('candidates', 'number', 'adjustment_type', 'min_size', 'max_size', 'min_step', 'strict'),
        *('a', 'R1', 'EXACT_CAPACITY'),
    ]
)

NUMBERS = (
    st.integers() | st.integers(10**18, 10**30) | st.floats(allow_nan=False, allow_infinity=False)
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)

MAPS = st.dictionaries(
    st.sampled_from(['creation', 'deletion', 'placement', 'count', 'candidates']), ANYTHING
)


@given(
    action=st.sampled_from(sorted(KEYS_BY_ACTION)),
    data=MAPS,
    inputs=MAPS
    | st.dictionaries(st.sampled_from(['adjustment_type', 'number', 'count', 'strict']), ANYTHING),
    held=st.dictionaries(st.sampled_from(['placement', 'x']), ANYTHING),
)
@settings(max_examples=4 * settings.default.max_examples)
def test_policy_check_with_any_free_form_maps_is_decided(endpoints, action, data, inputs, held):
    """Any values in free-form maps lead to a decision, or to the refusal of a placement."""
    members = [node(1, 'a', 'R1'), node(2, data=held), node(3, 'b')]
    policies = [zone_policy('a', 'b'), region_policy('R1'), deletion_policy('RANDOM')]
    new = node(9, data=held)

    asked = request(action, policies, members, data=data, inputs=inputs, node=new)

    if _is_well_formed(held.get('placement')):
        reply = json.loads(endpoints.policy_check(json.dumps(asked)))
        assert reply['action']['data']['status'] in ('OK', 'ERROR')
    else:
        with pytest.raises(InvalidRequest, match=r'data\.placement'):
            endpoints.policy_check(json.dumps(asked))


def _is_well_formed(placement):
    if not isinstance(placement, dict):
        return placement is None
    return all(isinstance(placement.get(key), str | None) for key in ('zone', 'region_name'))


@pytest.mark.parametrize(
    'text',
    [
        '{"target":"NEITHER"',
        '{"target": "x - at `$.q"}',
        '{"target": "x - at `$.q` - at `$.r`"}',
        '{"target":"BEFORE","action":{"id":"a","action":"b"},"cluster":{"id":"c","profile":{"type":"t"},"nodes":[{"id":"n",'
        '"index":' + '9' * 5000 + '}]},"policies":[]}',
    ],
)
def test_policy_check_with_text_that_looks_like_an_error_is_refused(endpoints, text):
    """Values that imitate or break the texts of msgspec are refused with a short error."""
    with pytest.raises(InvalidRequest) as refused:
        endpoints.policy_check(text)

    assert len(str(refused.value)) < 300
