"""Tests for the schemas of the properties of plugins."""

import datetime
from typing import Annotated

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from placement_worker.policies import plugin_schemas


class Inner(Struct, frozen=True):
    size: int = 1


def fails() -> int:
    """Raise an error as a factory of a plugin may do."""
    raise RuntimeError('boom')


def problems(*fields):
    """Return the problems of version 1.0 with these properties."""
    return list(plugin_schemas.problems({'1.0': defstruct('Props', fields, frozen=True)}))


@pytest.mark.parametrize(
    ('kind', 'default', 'expected'),
    [
        (int, 'three', 'ValidationError: Expected `int`, got `str`'),
        (Annotated[int, Meta(ge=1)], 0, 'ValidationError: Expected `int` >= 1'),
        (list[str], None, 'ValidationError: Expected `array`, got `null`'),
        (Inner, Inner('x'), 'ValidationError: Expected `int`, got `str` - at `$.size`'),
        (int, field(default_factory=fails), 'RuntimeError: boom'),
    ],
)
def test_problems_default_that_a_spec_cannot_state_is_named(kind, default, expected):
    """A default that the worker would refuse in a spec is an error at start."""
    assert problems(('size', kind, default)) == [
        f'the default of property size of version 1.0 is invalid: {expected}'
    ]


@pytest.mark.parametrize(
    ('kind', 'default'),
    [
        (int, 3),
        (int | UnsetType, UNSET),
        (list[str], field(default_factory=list)),
        (tuple[Inner, ...], (Inner(),)),
        (frozenset[str], frozenset({'x'})),
        (datetime.timedelta, datetime.timedelta(hours=1)),
        (datetime.date, datetime.date(2026, 1, 1)),
    ],
)
def test_problems_default_that_fits_has_none(kind, default):
    """Defaults of all types that a spec can state are accepted."""
    assert problems(('name', str), ('size', kind, default)) == []


@pytest.mark.parametrize(
    'kind', [type('X', (), {}), Annotated[int, Meta(extra_json_schema={'x': Inner})]]
)
def test_problems_property_without_a_json_schema_is_named(kind):
    """The author of a plugin learns which property has an unsupported type."""
    (problem,) = problems(('name', str), ('size', kind))

    assert problem.startswith('property size of version 1.0 has no JSON Schema: ')
    assert 'schema_hook' not in problem
