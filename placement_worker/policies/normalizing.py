"""Conversion of a spec's properties to the types of their schema, as Senlin converts them.

Senlin converts each value before it checks it: a number may be written as a string, and a string as
a number. Specs that Senlin has stored therefore hold such values.

:source: senlin/common/schema.py of Senlin 16 (`to_schema_type` of each class).
"""

import functools
from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from typing import Any, cast

from msgspec import Struct, inspect

TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
FALSE = frozenset({'0', 'f', 'false', 'off', 'n', 'no'})
"""The words of oslo_utils.strutils.bool_from_string, which Senlin calls."""


def normalized(raw: object, schema: type[Struct]) -> Any:
    """Return a spec's properties with each value converted to the type in the schema.

    Integers: strings of digits and floats, which are truncated; null counts as absent. Booleans:
    the words yes, on, 1 and so on. Strings: numbers and booleans; where a string is optional, an
    empty one counts as absent. A value that cannot be converted stays, and the decoder refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    types = _fields(schema)
    return {
        key: _convert(value, types[key]) if key in types else value
        for key, value in raw.items()
        if not (value is None and isinstance(types.get(key), inspect.IntType))
    }


def _convert(raw: Any, kind: inspect.Type) -> Any:
    kind, optional = _without_null(kind)
    match kind:
        case inspect.StructType():
            return normalized(raw, kind.cls)
        case inspect.CollectionType() | inspect.TupleType() if isinstance(raw, list):
            kinds = _item_types(kind)
            return [_convert(item, one) for item, one in zip(raw, kinds, strict=False)]
        case inspect.DictType() if isinstance(raw, dict):
            return {key: _convert(item, kind.value_type) for key, item in raw.items()}
    return _converted_scalar(raw, kind, optional=optional)


def _item_types(kind: inspect.CollectionType | inspect.TupleType) -> Iterable[inspect.Type]:
    if isinstance(kind, inspect.TupleType):
        return chain(kind.item_types, repeat(inspect.AnyType()))
    return repeat(kind.item_type)


def _converted_scalar(raw: Any, kind: inspect.Type, *, optional: bool) -> Any:
    match kind:
        case inspect.IntType():
            return _cast(int, raw) if isinstance(raw, (str, float)) else raw
        case inspect.BoolType():
            return _boolean(raw)
        case inspect.StrType() | inspect.LiteralType() if _is_text(kind):
            return _string(raw, optional=optional)
    return raw


@functools.cache
def _fields(schema: type[Struct]) -> Mapping[str, inspect.Type]:
    """Return the types of a struct's fields by name; the lookup takes longer than decoding."""
    found = cast(inspect.StructType, inspect.type_info(schema))
    return {field.encode_name: _bare(field.type) for field in found.fields}


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _without_null(kind: inspect.Type) -> tuple[inspect.Type, bool]:
    """Return the type behind `X | None`, and whether null is allowed; other unions stay."""
    kind = _bare(kind)
    if not isinstance(kind, inspect.UnionType):
        return kind, False
    others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    return (_bare(others[0]), len(others) < len(kind.types)) if len(others) == 1 else (kind, False)


def _is_text(kind: inspect.Type) -> bool:
    words = kind.values if isinstance(kind, inspect.LiteralType) else ()
    return all(isinstance(word, str) for word in words)


def _boolean(raw: Any) -> Any:
    word = _string(raw, optional=False)
    word = word.strip().lower() if isinstance(word, str) else None
    return word in TRUE if word in TRUE | FALSE else raw


def _string(raw: Any, *, optional: bool) -> Any:
    if optional and raw == '':
        return None
    return _cast(str, raw) if isinstance(raw, (int, float)) else raw


def _cast(kind: type[int] | type[str], raw: Any) -> Any:
    try:
        return kind(raw)
    except (ValueError, OverflowError):  # no number, infinity, or too many digits for Python
        return raw
