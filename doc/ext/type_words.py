"""Describe types of msgspec in words, with their limits and with links to the contract."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect
from tables import plain

from placement_worker.contract import model
from placement_worker.contract.model import ContractStruct

CONTRACT: Mapping[str, type[ContractStruct]] = {
    name: kind
    for name, kind in vars(model).items()
    if isinstance(kind, type) and issubclass(kind, ContractStruct)
}
"""The objects of the contract, by name."""


def words(annotated: inspect.Type) -> str:
    """Return the description of a type in reStructuredText."""
    kind = bare(annotated)[0]
    return WORDS[type(kind)](kind)


def bare(kind: inspect.Type) -> tuple[inspect.Type, str]:
    """Return a type without its annotations, and its description."""
    if isinstance(kind, inspect.Metadata):
        return kind.type, plain((kind.extra_json_schema or {}).get('description', ''))
    return kind, ''


def alternatives(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    """Return the types of a union, or the type itself."""
    return tuple(kind.types) if isinstance(kind, inspect.UnionType) else (kind,)


def default(field: inspect.Field) -> str:
    """Return the default of a field in code font, or that the field is required."""
    if field.required:
        return 'required'
    made = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if isinstance(made, msgspec.Struct):
        return "its keys' defaults"
    return f'``{json.dumps(made)}``'


def _struct(kind: inspect.StructType) -> str:
    name = kind.cls.__name__
    return f':ref:`{name} <contract-{name}>`' if name in CONTRACT else 'map'


def _list(kind: inspect.ListType) -> str:
    bound = f', at least {kind.min_length}' if kind.min_length else ''
    return f'list of {words(kind.item_type)}{bound}'


def _map(kind: inspect.DictType) -> str:
    return (
        'free-form map'
        if isinstance(kind.value_type, inspect.AnyType)
        else f'id: {words(kind.value_type)}'
    )


def _integer(kind: inspect.IntType) -> str:
    bounds = (('at least', kind.ge), ('at most', kind.le))
    return ', '.join(
        ['integer', *(f'{word} {bound:,}' for word, bound in bounds if bound is not None)]
    )


WORDS: Mapping[type[inspect.Type], Callable[[Any], str]] = {
    inspect.AnyType: lambda _: 'anything',
    inspect.BoolType: lambda _: 'true or false',
    inspect.DateTimeType: lambda _: 'time (ISO 8601; in UTC if it names no zone)',
    inspect.DictType: _map,
    inspect.FloatType: lambda _: 'number',
    inspect.IntType: _integer,
    inspect.ListType: _list,
    inspect.LiteralType: lambda kind: ' | '.join(f'``{value}``' for value in kind.values),
    inspect.NoneType: lambda _: 'null',
    inspect.StrType: lambda kind: f'string like ``{kind.pattern}``' if kind.pattern else 'string',
    inspect.StructType: _struct,
    inspect.UnionType: lambda kind: ', or '.join(words(one) for one in kind.types),
}
