"""Conversion of properties to the types of their schema."""

from collections.abc import Mapping
from typing import Literal

import pytest
from msgspec import Struct

from placement_worker.policies.registry import normalized


class Inner(Struct):
    """A nested schema."""

    weight: int = 1


class Schema(Struct):
    """A schema with each type that is converted."""

    count: int = 0
    flag: bool = False
    text: str = ''
    optional: str | None = None
    word: Literal['a', '1'] = 'a'
    size: Literal[1, 2] = 1
    inner: Inner | None = None
    inners: list[Inner] = []
    either: int | str = 0
    frozen: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (0, '')
    words: frozenset[str] = frozenset()
    by_name: dict[str, Inner] | None = None
    counts: Mapping[str, int] = {}


@pytest.mark.parametrize(
    ('key', 'raw', 'expected'),
    [
        ('frozen', [{'weight': '3'}], [{'weight': 3}]),
        ('pair', ['3', 3], [3, '3']),
        ('pair', ['3'], [3]),
        ('pair', ['3', 3, 3], [3, '3', 3]),
        ('words', ['a', 5], ['a', '5']),
        ('by_name', {'a': {'weight': '3'}, 'b': 1}, {'a': {'weight': 3}, 'b': 1}),
        ('counts', {'a': '3'}, {'a': 3}),
        ('counts', 3, 3),
        ('count', '7', 7),
        ('count', 7.9, 7),
        ('count', 'seven', 'seven'),
        ('count', float('inf'), float('inf')),
        ('count', '9' * 5000, '9' * 5000),
        ('flag', 'Yes', True),
        ('flag', 'off', False),
        ('flag', 1, True),
        ('flag', 'perhaps', 'perhaps'),
        ('flag', None, None),
        ('text', 7, '7'),
        ('text', True, 'True'),
        ('text', '', ''),
        ('text', [1], [1]),
        ('optional', '', None),
        ('optional', 7, '7'),
        ('word', 1, '1'),
        ('size', '1', '1'),
        ('inner', {'weight': '2'}, {'weight': 2}),
        ('inners', [{'weight': '2'}, 'x'], [{'weight': 2}, 'x']),
        ('inners', 'x', 'x'),
        ('either', '7', '7'),
        ('unknown', '7', '7'),
    ],
)
def test_value_is_converted_to_the_type_of_its_schema(key, raw, expected):
    """A value is converted as Senlin converts it; a value that cannot be converted stays."""
    assert normalized({key: raw}, Schema) == {key: expected}


def test_null_for_an_integer_counts_as_absent():
    """An integer of null is dropped, so that its default applies."""
    assert normalized({'count': None, 'text': None}, Schema) == {'text': None}


@pytest.mark.parametrize('raw', [None, 'x', [1]])
def test_properties_that_are_not_a_map_stay(raw):
    """Properties of another type stay for the decoder to refuse."""
    assert normalized(raw, Schema) == raw
