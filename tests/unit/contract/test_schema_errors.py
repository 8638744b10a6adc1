"""All errors in a document."""

from collections.abc import Mapping
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct, field

from placement_worker.contract import codec, schema_errors
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidRequest
from tests.factories import changed, deletion_policy, nodes, request
from tests.malformed_requests import TABLE

GOOD = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=2))


class Inner(Struct, forbid_unknown_fields=True):
    """An object without unknown keys."""

    low: int
    high: Annotated[int, Meta(ge=0)] | None = None

    def __post_init__(self):
        """Check a condition on two fields."""
        if self.high is not None and self.high < self.low:
            raise ValueError('`high` must not be below `low`')


class Outer(Struct):
    """An object with all kinds of containers."""

    items: list[Inner] = []
    by_name: dict[str, Inner] | None = None
    either: list[str] | dict[str, Inner] = []
    renamed: int = field(name='other-name', default=0)
    frozen: tuple[Inner, ...] = ()
    pair: tuple[int, Inner] | None = None
    words: frozenset[str] = frozenset()
    counts: Mapping[str, int] = {}
    bare: Annotated[list, Meta(max_length=1)] = []


class _First(list):
    """A list that must not be read beyond its first item."""

    def __iter__(self):
        """Yield the first item."""
        yield self[0]
        raise AssertionError('A second item was read')


def found(raw):
    """Return the path and the text of each error, without the path in the text."""
    return [
        (path, text.partition(' - at ')[0]) for path, text, _ in schema_errors.found(raw, Outer)
    ]


def test_found_lists_each_error_with_its_path():
    """Errors in lists, maps, unions and renamed fields are all found, in the order of the text."""
    raw = {
        'items': [{'low': 'x', 'high': -1}, {'low': 1}, 'no object', {}],
        'by_name': {'a': {'low': 1.5, 'extra': 1}},
        'either': {'b': {'low': None}},
        'other-name': 'x',
    }

    assert found(raw) == [
        (('items', 0, 'low'), 'Expected `int`, got `str`'),
        (('items', 0, 'high'), 'Expected `int` >= 0, got `-1`'),
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
    ],
)
def test_found_lists_each_error_in_a_container(key, value, expected):
    """Tuples, sets and maps are searched as lists are; a container of any values has one error."""
    assert [path[1:] for path, _ in found({key: value})] == expected


def test_found_searches_no_further_than_it_is_asked(monkeypatch):
    """The first error of a document is found without a search for the others."""
    decoded, decode = [], codec.decode

    def noted(raw, kind, **more):
        decoded.append(raw)
        return decode(raw, kind, **more)

    monkeypatch.setattr(codec, 'decode', noted)

    path, _, _ = next(schema_errors.found({'items': [{}, *[{'low': 'x'}] * 50]}, Outer))

    assert path == ('items', 0)
    assert {'low': 'x'} not in decoded


def test_found_with_a_condition_on_two_fields_names_their_object():
    """An object whose fields fit one by one has an error of its own."""
    assert found({'items': [{'low': 5, 'high': 1}]}) == [
        (('items', 0), '`high` must not be below `low`, got `{"low":5,"high":1}`')
    ]


@pytest.mark.parametrize('raw', [{}, {'items': [{'low': 1, 'high': None}], 'unknown': 1}])
def test_found_in_a_document_that_fits_is_empty(raw):
    """A document that can be decoded has no errors, even with keys that a type ignores."""
    assert found(raw) == []


def test_all_errors_begins_with_the_unknown_keys():
    """Unknown keys of the contract are errors of their keys, each once."""
    raw = changed(GOOD, lambda r: r.update(dryrun=True, target='NEVER'))

    errors = list(schema_errors.all_errors(raw, CheckRequest))

    assert [(error.path, error.of_key) for error in errors] == [
        (('dryrun',), True),
        (('target',), False),
    ]


def test_all_errors_searches_no_further_than_it_is_asked():
    """The first unknown key of a document is found without a search for the others."""
    items = _First([{'low': 1, 'unknown': 1}, {'low': 2}])

    error = next(schema_errors.all_errors({'items': items}, Outer))

    assert error.path == ('items', 0, 'unknown')


@pytest.mark.parametrize(
    'row', [row for row in TABLE if not isinstance(row.sent, str)], ids=lambda row: row.name
)
def test_found_agrees_with_the_decoder_on_the_first_error(row):
    """A request is free of errors if the decoder accepts it, and has one if it refuses it."""
    try:
        codec.decode(row.sent, CheckRequest)
    except InvalidRequest:
        assert list(schema_errors.found(row.sent, CheckRequest))
    else:
        assert list(schema_errors.found(row.sent, CheckRequest)) == []


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
def test_found_in_any_data_is_empty_exactly_if_it_can_be_decoded(raw):
    """The search finds an error if and only if decoding fails."""
    try:
        codec.decode(raw, Outer)
    except InvalidRequest:
        assert found(raw) != []
    else:
        assert found(raw) == []
