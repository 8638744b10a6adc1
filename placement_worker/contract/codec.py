"""Decode requests with errors that name path, expectation and finding; encode replies.

msgspec decodes at the speed of C, and stops at the first error with a text such as "Expected `int`,
got `str` - at `$.cluster.nodes[3].index`". `decode` completes this text by the allowed values.
`errors_in` walks over plain data and finds all errors, for people who correct a file. With
`strict` types, keys that the contract does not list are errors too: they are probably misspelled.
"""

import contextlib
import functools
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from itertools import dropwhile
from types import GenericAlias, UnionType, new_class
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from placement_worker import errors
from placement_worker.contract.model import ForeignExcerpt, Node
from placement_worker.formats import paths
from placement_worker.formats.paths import Path, SchemaError, UnknownKey, WrongValue
from placement_worker.formats.text import did_you_mean, listed, noun_for, shortened

S = TypeVar('S', bound=Struct)
T = TypeVar('T')

# A larger request is not decoded a second time to explain an error.
SECOND_DECODE_BYTES = 2**20
_TYPE_AND_VERSION = re.compile(r'(?P<type>.+)-(?P<version>\d{1,4}\.\d{1,4})')
_INSIDE_MAP = '[...]'  # msgspec's paths show any key of a free-form map like this
_MESSAGE = 300  # characters of msgspec's message, which repeats an unknown key of any length
# Errors of the second decoding: the rest of the request is not JSON, is nested too deeply, or has a
# number that Python's float cannot hold.
_UNEXPLAINED = (msgspec.DecodeError, LookupError, TypeError, ValueError, RecursionError)
# Errors of encoding data that JSON cannot hold, or that are nested too deeply.
NOT_PLAIN = (TypeError, ValueError, RecursionError, OverflowError)
# The types that an array decodes to, without their parameters.
_ARRAYS = (list, tuple, set, frozenset, Collection, Sequence, Set)
# The keys of a node's data that policies read. The map is free-form, but a node with a misspelled
# key would have no place, no member or no protection.
_NODE_DATA = ('placement', 'lb_member', 'lb_members', 'protected')
_PLACEMENT = ('zone', 'region_name')  # the same of `placement`
# Known keys -> the least similarity of a misspelled one. This admits two missing letters
# (`protect`) or `region`, and no suffix with a meaning of its own (`placement_group`).
_SIMILAR = {_NODE_DATA: 0.87, _PLACEMENT: 0.7}
_SOME = 200  # items of an array or a map that are converted at once

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_strict_types: dict[Any, Any] = {}
_constructing = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder from JSON to objects of this type, which all threads share.

    A lock guards the construction of decoders: msgspec 0.22 publishes what it has found about a
    type before it has found all of it, so two concurrent first requests crashed a worker with a
    segmentation fault.

    :raises TypeError: msgspec cannot decode to this type.
    """
    made = _decoders.get(kind)
    if made is None:
        with _constructing:
            made = _decoders[kind] = msgspec.json.Decoder(kind)
    return made


def convert(value: object, kind: type[T], *, from_attributes: bool = False) -> T:
    """Convert plain data, or an object with these attributes; `msgspec.convert` has no lock.

    :raises msgspec.ValidationError: the value does not fit.
    """
    decoder(kind)
    return msgspec.convert(value, kind, from_attributes=from_attributes)


def decode(
    raw: object,
    kind: type[T],
    *,
    max_bytes: int | None = None,
    at: str = '$',
    error: type[errors.Refused] = errors.InvalidRequest,
) -> T:
    """Build an object of the contract from plain data.

    :param max_bytes: the largest size, as JSON, that is accepted.
    :param at: the path of `raw` in the whole request, for errors.
    :raises Refused: as `error`, e.g. ``Expected `int`, got `str` - at `$.cluster.nodes[3].index`
        ``.
    """
    try:
        encoded = msgspec.json.encode(raw)
    except NOT_PLAIN as exc:
        raise not_plain(exc, at, error) from exc
    return decode_encoded(encoded, kind, max_bytes, at, error)


def not_plain(cause: Exception, at: str, error: type[errors.Refused]) -> errors.Refused:
    return error(f'Expected plain data that JSON can hold - at `{at}`: {cause}')


def decode_encoded(
    data: bytes | str,
    kind: type[T],
    max_bytes: int | None = None,
    at: str = '$',
    error: type[errors.Refused] = errors.InvalidRequest,
) -> T:
    """Build an object of the contract from JSON; parameters and errors are those of `decode`."""
    if max_bytes is not None and len(data) > max_bytes:
        raise error(f'Expected at most {max_bytes} bytes, got {len(data)} - at `{at}`')
    try:
        return decoder(kind).decode(data)
    except msgspec.ValidationError as exc:
        # The rules of a `__post_init__` raise ValueError, so this is a bug in it.
        if isinstance(exc.__cause__, TypeError):
            raise exc.__cause__ from None
        raise error(_explained(str(exc), data, kind, at)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise error(f'Expected JSON - at `{at}`: {exc}') from exc


def excerpt(raw: object, kind: type[S], max_bytes: int | None = None) -> S:
    """Decode the keys of a type from a request, as plain data or as a JSON string.

    The other keys need not be valid: the request may be the one that crashed a worker.

    :param max_bytes: the largest size of a string that is decoded.
    """
    if isinstance(raw, str):
        # JSON may escape a lone surrogate, which UTF-8 cannot encode.
        return decode_encoded(raw.encode(errors='replace'), kind, max_bytes)
    if isinstance(raw, dict):
        raw = {key: raw[key] for key in kind.__struct_fields__ if key in raw}
    return decode(raw, kind)


def decoded_or_none(part: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return decode_encoded(bytes(part), kind)
    except errors.InvalidRequest:
        return None


def encode(reply: object, like: object) -> Any:
    """Encode a reply in the form of its request: as a JSON string, an object or plain data."""
    if isinstance(like, str):
        return msgspec.json.encode(reply).decode()
    if isinstance(like, Struct):
        return reply
    return msgspec.to_builtins(reply)


def written_apart(type_name: object) -> str:
    """Return the advice about the type of a spec that contains its version, or an empty text.

    Heat's OS::Senlin::Policy and Senlin's lists of types have both in one name, e.g.
    senlin.policy.deletion-1.0.
    """
    both = _TYPE_AND_VERSION.fullmatch(type_name) if isinstance(type_name, str) else None
    if both is None:
        return ''
    kind, version = shortened(both['type']), both['version']
    return f"; write type and version apart: `type: {kind}, version: '{version}'`"


def strict(kind: type[S]) -> type[S]:
    """Return a subtype of `kind` that refuses any other key, at any depth.

    Free-form maps and excerpts accept any key, but the data of a node accept no misspelled one.
    """
    made: type[S] | None = _strict_types.get(kind)
    if made is not None:
        return made
    _strict_types[kind] = kind  # of a part of this type that has this type itself
    fields = structs.fields(kind)
    members: dict[str, Any] = {
        # `field` declares the name and the default of a field, which may have no default.
        field.name: msgspec.field(  # type: ignore[call-overload]
            name=field.encode_name, default=field.default, default_factory=field.default_factory
        )
        for field in fields
    }
    members['__annotations__'] = {field.name: _strict(field.type) for field in fields}
    members['__module__'] = __name__
    if issubclass(kind, Node):
        members['__post_init__'] = _refuse_misspelled_data
    # `defstruct` would reset the options that a subclass inherits, such as `frozen`.
    options = {'forbid_unknown_fields': True, 'kw_only': True}
    made = new_class(kind.__name__, (kind,), options, lambda names: names.update(members))
    _strict_types[kind] = made
    return made


def errors_in(value: object, kind: Any, path: Path = ()) -> Iterator[WrongValue]:
    """Yield the error of each value that does not fit a type, in the order of the document.

    msgspec finds the first error, and the search goes on behind it, so each value is converted
    about once. If all parts of a wrong value fit, the error is its own, e.g. a condition on two of
    its fields.

    :param kind: a type of the contract; of `strict`, unknown keys are errors as well.
    :param path: the path of the value in its document.
    """
    first = _first_wrong(value, kind)
    pending: list[_Part | WrongValue] = [] if first is None else [_Part(path, value, kind, first)]
    while pending:
        part = pending.pop()
        if not isinstance(part, _Part):
            yield part
        elif inside := list(_wrong_parts(part)):
            pending += reversed(inside)
        elif text := _error(part):
            yield SchemaError(part.path, text)


class _Part(NamedTuple):
    """A wrong value; `first` is the path in it to the first error, up to a key of a map."""

    path: Path
    value: Any
    kind: Any
    first: Path


class Shape(NamedTuple):
    """The types of the parts of a value: of an object, of the values of a map, and of an array."""

    struct: type[Struct] | None = None
    fields: Mapping[str, Any] = {}
    required: Sequence[str] = ()
    values: Any = None
    items: tuple[Any, ...] = ()
    is_tuple: bool = False


@functools.cache
def shape_of(kind: Any) -> Shape:
    shape = Shape()
    for option in options_of(kind):
        origin, parts = get_origin(option) or option, get_args(option)
        if not isinstance(origin, type):
            continue
        if issubclass(origin, Struct):
            fields = structs.fields(origin)
            shape = shape._replace(
                struct=origin,
                fields={field.encode_name: field.type for field in fields},
                required=[field.encode_name for field in fields if field.required],
            )
        elif issubclass(origin, Mapping) and parts:
            shape = shape._replace(values=parts[1])
        elif origin in _ARRAYS and parts:
            shape = shape._replace(items=parts, is_tuple=origin is tuple and ... not in parts)
    return shape


def options_of(kind: Any) -> Iterator[Any]:
    """Yield the types of a union, without their annotations; any other type is the only one."""
    if get_origin(kind) is Annotated:
        yield from options_of(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            yield from options_of(option)
    else:
        yield kind


def _wrong_parts(part: _Part) -> Iterator[_Part | WrongValue]:
    shape, value = shape_of(part.kind), part.value
    if isinstance(value, dict) and shape.struct:
        yield from _wrong_in_object(part, shape.struct, shape)
    elif isinstance(value, dict) and shape.values is not None:
        yield from _wrong_items(part, [*map(str, value)], [*value.values()], shape.values)
    elif isinstance(value, list) and shape.is_tuple:
        for index, (item, kind) in enumerate(zip(value, shape.items, strict=False)):
            yield from _wrong_value(part, index, item, kind)
    elif isinstance(value, list) and shape.items:
        yield from _wrong_items(part, range(len(value)), value, shape.items[0])


def _wrong_in_object(
    part: _Part, struct: type[Struct], shape: Shape
) -> Iterator[_Part | WrongValue]:
    path, raw, fields = part.path, part.value, shape.fields
    is_strict = struct.__struct_config__.forbid_unknown_fields
    # The values before the first error fit.
    for key in dropwhile(lambda key: key in fields and (key,) != part.first[:1], raw):
        if key in fields:
            yield from _wrong_value(part, key, raw[key], fields[key])
        elif is_strict:
            yield _unknown(path, key, fields)
    if is_strict and issubclass(struct, Node) and isinstance(raw.get('data'), dict):
        for at, key, known in _misspelled_in(raw['data']):
            yield _unknown((*path, 'data', *at), key, known)
    missing = [name for name in shape.required if name not in raw]
    if missing:
        names = f'{noun_for(len(missing), "field")} {listed(missing, "`{}`".format)}'
        advice = written_apart(raw.get('type')) if 'version' in missing else ''
        text = f'Object missing required {names}{advice} - at `{paths.path_text(path)}`'
        yield SchemaError(path, text)


def _wrong_items(
    part: _Part, steps: Sequence[str | int], items: Sequence[Any], kind: Any
) -> Iterator[_Part]:
    """Yield the wrong items; one call of msgspec accepts many correct ones at once."""
    start, known = 0, part.first
    while start < len(items):
        first = known or _first_wrong(items[start : start + _SOME], GenericAlias(list, kind))
        if first is None:
            start += _SOME
        else:
            index, *inside = first or (0,)
            start += int(index)
            yield _Part((*part.path, steps[start]), items[start], kind, tuple(inside))
            start, known = start + 1, ()


def _wrong_value(part: _Part, step: str | int, value: Any, kind: Any) -> Iterator[_Part]:
    first = part.first[1:] if part.first[:1] == (step,) else _first_wrong(value, kind)
    if first is not None:
        yield _Part((*part.path, step), value, kind, first)


def _first_wrong(value: Any, kind: Any) -> Path | None:
    """Return the path of the first error in a value, or None if the value fits."""
    try:
        convert(value, kind)
    except msgspec.ValidationError as exc:
        return paths.named_in(str(exc)) or ()
    except RecursionError:
        return ()
    return None


def _unknown(path: Path, key: object, known: Collection[str]) -> UnknownKey:
    name = key if isinstance(key, str) else msgspec.json.encode(key).decode()
    return UnknownKey((*path, str(key)), shortened(name), known)


def _error(part: _Part) -> str | None:
    try:
        decode(part.value, part.kind, at=paths.path_text(part.path))
    except errors.InvalidRequest as exc:
        return str(exc)
    return None


def _strict(kind: Any) -> Any:
    """Return a type whose structs, also those in unions, containers and annotations, are strict."""
    origin = get_origin(kind)
    if origin is Annotated:
        return Annotated[_strict(kind.__origin__), *kind.__metadata__]
    if origin in (Union, UnionType):
        return Union[tuple(map(_strict, get_args(kind)))]  # noqa: UP007
    if origin not in (None, Literal):
        return origin[tuple(map(_strict, get_args(kind)))]
    is_struct = isinstance(kind, type) and issubclass(kind, Struct)
    return strict(kind) if is_struct and not issubclass(kind, ForeignExcerpt) else kind


def _refuse_misspelled_data(node: Node) -> None:
    if next(_misspelled_in(node.data), None):
        raise ValueError('Unknown key of `data`')


def _misspelled_in(data: Mapping[str, Any]) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
    """Yield the path, the key and the known keys of each misspelled key in the data of a node."""
    placement = data.get('placement')
    for at, part, known in (((), data, _NODE_DATA), (('placement',), placement, _PLACEMENT)):
        for key in part if isinstance(part, dict) else ():
            if _is_misspelled(key, known):
                yield at, key, known


@functools.lru_cache
def _is_misspelled(key: object, known: tuple[str, ...]) -> bool:
    """Return whether a key is almost one that policies read.

    Typing errors rarely change the first letter; another word (`replacement`) often has another.
    """
    if not isinstance(key, str) or key in known:
        return False
    alike = [name for name in known if name[0] == key[:1].lower()]
    return bool(did_you_mean(shortened(key), alike, cutoff=_SIMILAR[known]))


def _explained(message: str, encoded: bytes | str, kind: type, at: str) -> str:
    text, separator, path = message.rpartition(' - at `')
    if not separator or not path.endswith('`') or not path.startswith('$'):
        text, path = message, '$`'  # the whole request is wrong
    path = path[:-1]
    text = shortened(text, _MESSAGE) or 'Invalid value'  # of a ValueError without a text
    is_complete = ', got ' in text or _INSIDE_MAP in path or len(encoded) > SECOND_DECODE_BYTES
    if not is_complete:
        with contextlib.suppress(*_UNEXPLAINED):
            text = _completed(text, *_at_path(msgspec.json.decode(encoded), kind, path))
    return f'{text} - at `{at}{path.removeprefix("$")}`'


def _at_path(value: Any, kind: Any, path: str) -> tuple[Any, Any]:
    for step in paths.parsed_path(path):
        shape = shape_of(kind)
        value = value[step]
        kind = shape.fields[step] if isinstance(step, str) else shape.items[0]
    return value, kind


def _completed(text: str, value: Any, kind: Any) -> str:
    if text.startswith('Object'):
        if 'unknown field' in text:
            text += f', expected {_one_of(shape_of(kind).fields)}'
        elif text.endswith('missing required field `version`'):
            text += written_apart(value.get('type'))
        return text
    (option, *_) = (option for option in options_of(kind) if option is not type(None))
    if get_origin(option) is Literal:
        text = f'Expected {_one_of(sorted(get_args(option), key=str))}'
    elif option is datetime:
        text = 'Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`'
    value_text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f'{text}, got `{shortened(value_text)}`'


def _one_of(choices: Iterable[object]) -> str:
    return 'one of ' + ', '.join(f'`{choice}`' for choice in choices)
