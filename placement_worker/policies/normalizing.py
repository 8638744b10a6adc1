"""Values of a spec as Senlin reads them: a number may be written as a string, a string as a number.

Senlin's schema converts each value before it is checked, so specs that Senlin has stored hold such
values.

:source: senlin/common/schema.py of Senlin 16 (`to_schema_type` of each class).
"""

import functools
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, inspect

TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
FALSE = frozenset({'0', 'f', 'false', 'off', 'n', 'no'})
"""The words of oslo_utils.strutils.bool_from_string, which Senlin calls."""


def normalized(raw: object, kind: type[Struct]) -> Any:
    """Return a spec's properties with each value converted to the type that the schema names.

    Integers: strings of digits, floats (truncated); null counts as absent. Booleans: the words
    yes, on, 1 and so on. Strings: numbers and booleans; where a string is optional, an empty one
    counts as absent. A value that cannot be converted stays as it is, for the decoder to refuse.

    :param kind: the schema of the properties.
    """
    if not isinstance(raw, dict):
        return raw
    types = _fields(kind)
    return {
        key: _value(value, types[key]) if key in types else value
        for key, value in raw.items()
        if not (value is None and isinstance(types.get(key), inspect.IntType))
    }


def _value(raw: Any, kind: inspect.Type) -> Any:
    kind, optional = _without_null(kind)
    if isinstance(kind, inspect.StructType):
        return normalized(raw, kind.cls)
    if isinstance(kind, inspect.ListType) and isinstance(raw, list):
        return [_value(item, kind.item_type) for item in raw]
    if isinstance(kind, inspect.IntType):
        return _integer(raw)
    if isinstance(kind, inspect.BoolType):
        return _boolean(raw)
    if isinstance(kind, inspect.StrType) or _is_of_words(kind):
        return None if optional and raw == '' else _string(raw)
    return raw


@functools.cache
def _fields(kind: type[Struct]) -> Mapping[str, inspect.Type]:
    """Return the types of a struct's fields by name; looking them up takes longer than decoding."""
    found = cast(inspect.StructType, inspect.type_info(kind))
    return {field.encode_name: _bare(field.type) for field in found.fields}


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _without_null(kind: inspect.Type) -> tuple[inspect.Type, bool]:
    """Return the type behind `X | None`, and whether null is allowed; other unions stay as they
    are.
    """
    kind = _bare(kind)
    if not isinstance(kind, inspect.UnionType):
        return kind, False
    others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    return (_bare(others[0]), len(others) < len(kind.types)) if len(others) == 1 else (kind, False)


def _is_of_words(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.LiteralType) and all(
        isinstance(one, str) for one in kind.values
    )


def _integer(raw: Any) -> Any:
    return _made(int, raw) if isinstance(raw, (str, float)) else raw


def _boolean(raw: Any) -> Any:
    word = _string(raw)
    word = word.strip().lower() if isinstance(word, str) else None
    return word in TRUE if word in TRUE | FALSE else raw


def _string(raw: Any) -> Any:
    return _made(str, raw) if isinstance(raw, (int, float)) else raw


def _made(kind: type[int] | type[str], raw: Any) -> Any:
    try:
        return kind(raw)
    except (
        ValueError,
        OverflowError,
    ):  # not a number, or more digits than Python converts; infinite
        return raw
