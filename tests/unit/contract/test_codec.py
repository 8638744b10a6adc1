"""Decoding: texts and costs of errors, all errors of a document, strict types, concurrency."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct, field

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.codec import strict
from placement_worker.contract.model import Action, CheckRequest, Cluster
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests import malformed_requests
from tests.factories import changed, deletion_policy, node, nodes, request, zone_policy

GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2))
LARGE = 44 * 2**20


@pytest.fixture
def endpoints(registry):
    return Endpoints(
        Inventory.parse({'zones': {'a': True}}, 'test'),
        registry,
        WorkerSettings(limits=lambda: Limits(request_bytes=2**30)),
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
        (lambda asked: asked['cluster'].update(
            nodes=[node(1, details={'addresses': {'a.b[0]': [{'addr': 1, 'version': 4}]}})]),
         'Expected `str`, got `int` - at `$.cluster.nodes[0].details.addresses[...][0].addr`'),
        (lambda asked: asked.update(target='NEVER'), "Invalid enum value 'NEVER' - at `$.target`"),
        (lambda asked: asked.update(expires_at='soon'),
         'Invalid RFC3339 encoded datetime - at `$.expires_at`'),
        (lambda asked: asked['cluster'].update(min_size=-1),
         'Expected `int` >= 0 - at `$.cluster.min_size`'),
    ],
    ids=['map', 'choice', 'time', 'bound'],
)  # fmt: skip
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


def test_error_about_a_long_unknown_property_is_short(endpoints):
    """An error repeats at most 1000 characters of a request."""
    asked = changed(
        GOOD, lambda asked: asked['policies'][0]['spec']['properties'].update({'x' * 10_000: 1})
    )

    with pytest.raises(errors.InvalidSpec) as raised:
        endpoints.policy_check(asked)

    assert len(str(raised.value)) < 1000


PROCESSES = 40
FIRST_AT_ONCE = f"""
import os, sys, threading
sys.setswitchinterval(1e-6)
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, node, request, zone_policy

policies = [zone_policy('a'), deletion_policy()]
asked = request('CLUSTER_SCALE_IN', policies, [node(1, 'a')])
asked['cluster']['data'] = {{'placement_failures': [
    {{'zone': 'a', 'at': '2026-01-01T00:00:00Z', 'attempts': 1}}
]}}
endpoints = Endpoints(Inventory.parse({{'zones': {{'a': True}}}}, 'test'), Registry.installed())

def check(ready):
    ready.wait()
    endpoints.policy_check(asked)

for _ in range({PROCESSES}):
    if not os.fork():
        ready = threading.Barrier(8)
        threads = [threading.Thread(target=check, args=[ready]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    _, status = os.wait()
    print(status)
"""


def test_concurrent_first_requests_do_not_crash_a_process():
    """Concurrent first checks crash no process; without the lock a quarter of them crash."""
    run = subprocess.run(
        [sys.executable, '-c', FIRST_AT_ONCE], capture_output=True, text=True, check=True
    )

    assert run.stdout.split() == ['0'] * PROCESSES


class Inner(Struct, forbid_unknown_fields=True):
    low: int
    high: Annotated[int, Meta(ge=0)] | None = None

    def __post_init__(self):
        """Check a condition on two fields, and another one without a text for its error."""
        if self.low == self.high == 0:
            raise ValueError
        if self.high is not None and self.high < self.low:
            raise ValueError('`high` must not be below `low`')


class Outer(Struct):
    items: list[Inner] = []
    by_name: dict[str, Inner] | None = None
    either: list[str] | dict[str, Inner] = []
    renamed: int = field(name='other-name', default=0)
    frozen: tuple[Inner, ...] = ()
    pair: tuple[int, Inner] | None = None
    words: frozenset[str] = frozenset()
    counts: Mapping[str, int] = {}
    bare: Annotated[list, Meta(max_length=1)] = []


def found(raw, kind=Outer):
    """Return the path and the text of each error, without the path in the text."""
    return [(error.path, error.text.partition(' - at ')[0]) for error in codec.errors_in(raw, kind)]


def test_errors_in_a_document_are_listed_in_its_order():
    """Errors in lists, maps, unions and renamed fields are all found, in the order of the text."""
    raw = {
        'items': [{'low': 'x', 'high': -1}, {'low': 0, 'high': 0}, 'no object', {}],
        'by_name': {'a': {'low': 1.5, 'extra': 1}},
        'either': {'b': {'low': None}},
        'other-name': 'x',
    }

    assert found(raw) == [
        (('items', 0, 'low'), 'Expected `int`, got `str`'),
        (('items', 0, 'high'), 'Expected `int` >= 0, got `-1`'),
        (('items', 1), 'Invalid value, got `{"low":0,"high":0}`'),
        (('items', 2), 'Expected `object`, got `str`'),
        (('items', 3), 'Object missing required field `low`'),
        (('by_name', 'a', 'low'), 'Expected `int`, got `float`'),
        (('by_name', 'a', 'extra'), 'Unknown key `extra`, expected one of `low`, `high`'),
        (('either', 'b', 'low'), 'Expected `int`, got `null`'),
        (('other-name',), 'Expected `int`, got `str`'),
    ]


@pytest.mark.parametrize(
    ('key', 'value', 'expected'),
    [
        ('frozen', [{'low': 1}, {'low': 'x', 'extra': 1}], [(1, 'low'), (1, 'extra')]),
        ('pair', ['x', {'low': 'x'}], [(0,), (1, 'low')]),
        ('pair', [1], [()]),
        ('words', ['a', 1, 2], [(1,), (2,)]),
        ('counts', {'a': 'x', 'b': 1, 'c': 'y'}, [('a',), ('c',)]),
        ('bare', [1, 2], [()]),
        ('items', [{'low': 5, 'high': 1}], [(0,)]),
        ('items', [{'low': 1}] * 450 + [{'low': 'x'}, {'low': 1}, {}], [(450, 'low'), (452,)]),
        ('items', [{}, *[{'low': 1}] * codec._SOME, {}], [(0,), (codec._SOME + 1,)]),
    ],
)
def test_errors_in_a_container_are_listed_each(key, value, expected):
    """Tuples, sets and maps are searched as lists are; a container of any values has one error."""
    assert [path[1:] for path, _ in found({key: value})] == expected


RAW = st.recursive(
    st.none() | st.integers(-2, 2) | st.text('ab', max_size=1),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(['items', 'by_name', 'either', 'low', 'high']), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(RAW)
def test_errors_are_found_exactly_if_decoding_fails(raw):
    """The search finds an error if and only if decoding fails."""
    try:
        codec.decode(raw, Outer)
    except errors.InvalidRequest:
        assert found(raw) != []
    else:
        assert found(raw) == []


@pytest.mark.parametrize('row', malformed_requests.TABLE, ids=lambda row: row.name)
def test_strict_type_and_search_agree_with_the_decoder(row):
    """A malformed request has the same first error with strict types, and the search finds it."""

    def error(kind):
        try:
            codec.decode(row.sent, kind)
        except errors.InvalidRequest as exc:
            return str(exc)
        return None

    assert error(strict(CheckRequest)) == error(CheckRequest)
    if not isinstance(row.sent, str):
        assert bool(found(row.sent, CheckRequest)) == bool(error(CheckRequest))


def test_unknown_keys_of_nested_objects_have_paths_and_nearest_keys():
    """Each unknown key is an error of the key, with the nearest known key as a hint."""
    asked = {**GOOD, 'dryrun': True, 'cluster': {**GOOD['cluster'], 'nodes': [{'idd': 'n1'}]}}

    wrong = list(codec.errors_in(asked, strict(CheckRequest)))

    assert [(error.path, error.of_key) for error in wrong] == [
        (('cluster', 'nodes', 0, 'idd'), True),
        (('cluster', 'nodes', 0), False),
        (('dryrun',), True),
    ]
    assert str(wrong[0]) == '`$.cluster.nodes[0].idd` (did you mean `id`?)'
    assert str(wrong[2]) == '`$.dryrun` (did you mean `dry_run`?)'


def test_unknown_keys_of_any_number_are_described_when_their_texts_are_read():
    """A request with 200,000 unknown keys does not compare each with the known ones."""
    strange = {f'target{i}': 1 for i in range(200_000)}
    started = time.thread_time()

    wrong = list(codec.errors_in({**GOOD, **strange, 'x' * 10_000: 1}, strict(CheckRequest)))

    assert time.thread_time() - started < 4
    assert len(wrong) == 200_001
    assert len(wrong[-1].text) < 500


@pytest.mark.parametrize(
    ('key', 'meant'),
    [
        ('placment', 'placement'),
        ('placements', 'placement'),  # the key of an action's plan
        ('Placement', 'placement'),
        ('lb-member', 'lb_member'),
        ('lb_memeber', 'lb_member'),
        ('lb_menbers', 'lb_members'),
        ('protect', 'protected'),  # a node that its owner believes to be protected
        ('proteced', 'protected'),
        ('placement.zon', 'zone'),
        ('placement.zones', 'zone'),
        ('placement.region', 'region_name'),
        ('placement.region-name', 'region_name'),
    ],
)
def test_misspelled_key_in_the_data_of_a_node_is_an_error(key, meant):
    """A key that is almost one that policies read is refused and found.

    A node whose zone or region is misspelled is not decided as a node without a place.
    """
    outer, _, inner = key.partition('.')
    wrong = node(1, data={outer: {inner: 'az1', 'host': 'h'} if inner else None})
    asked = request('NODE_DELETE', [], [node(2), wrong], node=wrong)

    with pytest.raises(errors.InvalidRequest, match=r'Unknown key of `(data|placement)`'):
        codec.decode(asked, strict(CheckRequest))
    assert [str(error) for error in codec.errors_in(asked, strict(CheckRequest))] == [
        f'`{path}.data.{key}` (did you mean `{meant}`?)'
        for path in ('$.action.node', '$.cluster.nodes[1]')
    ]


@pytest.mark.parametrize(
    'key',
    [
        'lb', 'lb_member', 'lb_member_id', 'lb_member_ids', 'lb_members', 'lb_pool', 'place',
        'placement', 'placement_group', 'placement_id', 'protected', 'protected_by', 'protection',
        'recovery', 'replacement', 'unprotected', 'x' * 10_000, '', 7,
    ],
)  # fmt: skip
def test_other_key_in_the_data_of_a_node_is_accepted(key):
    """The data of a node are free-form: a key with another meaning is allowed."""
    asked = request('CLUSTER_SCALE_IN', [], [node(1, data={key: None})])

    assert found(asked, strict(CheckRequest)) == []


def _full(asked):
    asked['cluster']['profile']['properties'] = {'flavor': 'm1', 'context': {'x': [1]}}
    asked['cluster']['nodes'][0].update(
        created_at='2026-01-31T12:00:00+01:00',
        details={'addresses': {}, 'other': None},
        metadata={'protected': {'until': None}, 'other': 1},
    )
    asked['action'].update(data={'free': {'form': 1.5}}, node=asked['cluster']['nodes'][0])
    asked['credentials'] = {'trust_id': 't'}


@pytest.mark.parametrize('asked', [GOOD, changed(GOOD, _full)])
def test_strict_type_decodes_a_valid_request_to_the_same_values(asked):
    """The objects are requests for the code that decides; excerpts and maps accept any key."""
    decoded = codec.decode(asked, strict(CheckRequest))

    assert msgspec.to_builtins(decoded) == msgspec.to_builtins(codec.decode(asked, CheckRequest))
    assert isinstance(decoded, CheckRequest)
    assert isinstance(decoded.cluster, Cluster)
    assert decoded.action.scale_inputs.count == 1
    with pytest.raises(AttributeError):
        decoded.dry_run = True
    for kind in (CheckRequest, Cluster, Action):
        assert strict(kind).__struct_config__.gc == kind.__struct_config__.gc


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
def test_strict_type_with_an_unknown_key_at_any_depth_is_refused(change):
    """The types refuse exactly the keys that the contract does not list."""
    asked = changed(GOOD, change)

    with pytest.raises(errors.InvalidRequest, match='unknown field'):
        codec.decode(asked, strict(CheckRequest))
    assert [error.of_key for error in codec.errors_in(asked, strict(CheckRequest))] == [True]


class Inside(Struct):
    number: int = field(name='a-number', default=0)


@pytest.mark.parametrize(
    ('kind', 'value'),
    [
        (Annotated[Inside, Meta(description='d')], {'number': 1}),
        (Annotated[list[Inside], Meta(max_length=2)], [{'number': 1}]),
        (dict[str, Inside], {'a': {'number': 1}}),
        (dict[str, list[Inside | None]], {'a': [None, {'number': 1}, {'a-number': 1}]}),
        (tuple[Inside, ...], [{'number': 1}]),
    ],
)
def test_strict_type_with_a_struct_in_a_container_refuses_unknown_keys(kind, value):
    """A struct in a map, a list or an annotated type is as strict as a plain field."""
    outer = msgspec.defstruct('Outer', [('inside', kind)])

    assert msgspec.convert({'inside': value}, outer)
    with pytest.raises(msgspec.ValidationError, match='unknown field `number`'):
        msgspec.convert({'inside': value}, strict(outer))
