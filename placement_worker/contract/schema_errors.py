"""Find all errors in a document; decoding stops at the first."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import chain, repeat
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from msgspec import Struct, structs

from placement_worker.contract import codec, unknown_keys
from placement_worker.contract.unknown_keys import UnknownKey
from placement_worker.errors import InvalidRequest
from placement_worker.formats import paths
from placement_worker.formats.paths import Path
from placement_worker.formats.text import listed, noun_for

ARRAYS = (list, tuple, set, frozenset, Collection, Sequence, Set)
"""The types that an array decodes to, without their parameters."""


class SchemaError(NamedTuple):
    """An error with the path of the value.

    :ivar of_key: whether the last key of the path is wrong, not its value.
    """

    path: Path
    text: str
    of_key: bool = False


def all_errors(raw: object, kind: type, *more: type) -> Iterator[SchemaError]:
    """Yield the unknown keys at any depth, then each value that does not fit all types."""
    seen = set()
    for error in chain(unknown(raw, kind), *(found(raw, one) for one in (kind, *more))):
        if error.path not in seen:
            seen.add(error.path)
            yield error


def found(raw: object, kind: Any, path: Path = ()) -> Iterator[SchemaError]:
    """Yield the error of each value that does not fit a type, in the order of the document.

    The parts of a value are searched only if the value does not fit. A value whose parts all fit
    has an error of its own, e.g. a condition on two of its fields.
    """
    text = _error(raw, kind, path)
    if text is not None:
        inside = _inside(raw, kind, path)
        yield next(inside, SchemaError(path, text))
        yield from inside


def unknown(raw: object, kind: type) -> Iterator[SchemaError]:
    """Yield an error per key that the contract does not list, at any depth."""
    for key in unknown_keys.found(raw, kind):
        yield _unknown(key)


def _error(raw: object, kind: Any, path: Path) -> str | None:
    try:
        codec.decode(raw, kind, at=paths.shown(path))
    except InvalidRequest as exc:
        return str(exc)
    return None


def _inside(raw: object, kind: Any, path: Path) -> Iterator[SchemaError]:
    """Yield the errors of the items of a list or a map, or of the fields of an object."""
    for option in _options(kind):
        origin, parts = get_origin(option) or option, get_args(option)
        if not isinstance(origin, type):
            continue
        if isinstance(raw, dict) and issubclass(origin, Struct):
            yield from _in_struct(raw, origin, path)
        elif isinstance(raw, dict) and issubclass(origin, Mapping) and parts:
            for key, value in raw.items():
                yield from found(value, parts[1], (*path, str(key)))
        elif isinstance(raw, list) and origin in ARRAYS and parts:
            kinds = parts if origin is tuple and ... not in parts else repeat(parts[0])
            for index, (value, kind_of_item) in enumerate(zip(raw, kinds, strict=False)):
                yield from found(value, kind_of_item, (*path, index))


def _in_struct(raw: dict[Any, Any], kind: type[Struct], path: Path) -> Iterator[SchemaError]:
    fields = {field.encode_name: field for field in structs.fields(kind)}
    for key, value in raw.items():
        if key in fields:
            yield from found(value, fields[key].type, (*path, key))
        elif kind.__struct_config__.forbid_unknown_fields:
            yield _unknown(UnknownKey(path, key, fields))
    missing = [name for name, field in fields.items() if field.required and name not in raw]
    if missing:
        names = f'{noun_for(len(missing), "field")} {listed(missing, "`{}`".format)}'
        advice = codec.written_apart(raw.get('type')) if 'version' in missing else ''
        text = f'Object missing required {names}{advice} - at `{paths.shown(path)}`'
        yield SchemaError(path, text)


def _options(kind: Any) -> Iterator[Any]:
    """Yield the types of a union, without their annotations."""
    if get_origin(kind) is Annotated:
        yield from _options(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            yield from _options(option)
    else:
        yield kind


def _unknown(key: UnknownKey) -> SchemaError:
    text = f'Unknown key {key.described()} - at `{paths.shown(key.path)}`'
    return SchemaError((*key.path, str(key.key)), text, of_key=True)
