"""Decode once, at the edge, with errors that name path, expectation and finding; encode the reply.

Errors that say more than msgspec's, and the search for duplicate keys, need a second decoding. They
are limited to requests of up to `SECOND_DECODE_BYTES` and `UNIQUE_KEYS_BYTES`.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from placement_worker import errors
from placement_worker.contract.decoders import decoder
from placement_worker.contract.model import Excerpt
from placement_worker.formats import duplicate_keys

T = TypeVar('T')

_STEP = re.compile(r'\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]')
_INSIDE_MAP = '[...]'  # how msgspec's paths show a key of a free-form map
_SHOWN = 80  # characters of a refused value that an error repeats
_MESSAGE = 300  # characters of msgspec's message, which repeats the whole of an unknown key
SECOND_DECODE_BYTES = 2**20
UNIQUE_KEYS_BYTES = 64 * 2**10
"""The largest request on the bus that is searched for duplicate keys, which takes as long as
decoding it.
"""


def decode(
    raw: object,
    kind: type[T],
    *,
    max_bytes: int | None = None,
    at: str = '$',
    error: type[errors.Refused] = errors.InvalidRequest,
) -> T:
    """Build an object of the contract from plain data.

    :param raw: dictionaries, lists and scalars.
    :param max_bytes: the largest size, as JSON, that is accepted.
    :param at: the path of `raw` in the whole request, for errors.
    :param error: what to raise.
    :raises Refused: as `error`, e.g. ``Expected `int`, got `str` - at `$.cluster.nodes[3].index`
        ``.
    """
    try:
        encoded = msgspec.json.encode(raw)
    except (TypeError, ValueError, RecursionError, OverflowError) as exc:
        raise error(f'Expected plain data that JSON can hold - at `{at}`: {exc}') from exc
    return _decoded(encoded, kind, max_bytes, at, error)


def decode_json(encoded: bytes | str, kind: type[T], *, max_bytes: int | None = None) -> T:
    """Build an object of the contract from JSON.

    :param max_bytes: the largest size that is accepted.
    :raises InvalidRequest: as `decode`; or a key stands in an object twice, which is seen up to
        `UNIQUE_KEYS_BYTES`.
    """
    try:  # ASCII, which is as long in bytes as in characters, need not be copied
        data = encoded.encode() if isinstance(encoded, str) and not encoded.isascii() else encoded
    except UnicodeEncodeError as exc:
        raise errors.InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    made = _decoded(data, kind, max_bytes, '$', errors.InvalidRequest)
    if len(data) <= UNIQUE_KEYS_BYTES:
        _see_keys_once(data)
    return made


def _decoded(
    data: bytes | str, kind: type[T], max_bytes: int | None, at: str, error: type[errors.Refused]
) -> T:
    if max_bytes is not None and len(data) > max_bytes:
        raise error(f'Expected at most {max_bytes} bytes, got {len(data)} - at `{at}`')
    try:
        return decoder(kind).decode(data)
    except msgspec.ValidationError as exc:
        raise error(_explained(str(exc), data, kind, at)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise error(f'Expected JSON - at `{at}`: {exc}') from exc


def plain(encoded: bytes | str) -> Any:
    """Decode JSON to dictionaries, lists and scalars.

    :raises InvalidRequest: the text is not JSON, or an object has a duplicate key.
    """
    try:
        decoded = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise errors.InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    _see_keys_once(encoded, decoded)
    return decoded


def _see_keys_once(encoded: bytes | str, *decoded: Any) -> None:
    try:
        twice = duplicate_keys.found(encoded, *decoded)
    except RecursionError as exc:
        raise errors.InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    if twice:
        raise errors.InvalidRequest(f'Expected each key once, got {twice}')


def encode(reply: object, like: object) -> Any:
    """Give the reply the form that the request had: one JSON string for a string, else plain
    data.
    """
    return (
        msgspec.json.encode(reply).decode() if isinstance(like, str) else msgspec.to_builtins(reply)
    )


class UnknownKey(NamedTuple):
    """A key that the contract does not list: the path of its object, and the keys that are listed
    there.
    """

    path: str
    key: object
    known: Collection[str]

    def __str__(self) -> str:
        key = _shown(self.key)
        near = difflib.get_close_matches(key, self.known, n=1)
        return f'`{self.path}.{key}`' + (f' (did you mean `{near[0]}`?)' if near else '')


def unknown_keys(raw: object, kind: type, path: str = '$') -> Iterator[UnknownKey]:
    """Yield the keys that the contract does not list; as texts they name the nearest that it does.

    Free-form maps and excerpts may hold any key.
    """
    yield from _unknown(raw, inspect.type_info(kind), path)


def _unknown(raw: object, kind: inspect.Type, path: str) -> Iterator[UnknownKey]:
    kind = _bare(kind)
    if (
        isinstance(kind, inspect.StructType)
        and isinstance(raw, dict)
        and not issubclass(kind.cls, Excerpt)
    ):
        known = {f.encode_name: f.type for f in kind.fields}
        for key, value in raw.items():
            if key not in known:
                yield UnknownKey(path, key, known)
            else:
                yield from _unknown(value, known[key], f'{path}.{key}')
    elif isinstance(kind, (inspect.ListType, inspect.VarTupleType)) and isinstance(raw, list):
        for i, item in enumerate(raw):
            yield from _unknown(item, kind.item_type, f'{path}[{i}]')


def _explained(message: str, encoded: bytes | str, kind: type, at: str) -> str:
    """Add what msgspec leaves out: what would have been right, and what stood there instead."""
    what, path = _parted(message)
    brief = f'{_cut(what, _MESSAGE)} - at `{at}{path.removeprefix("$")}`'
    if len(encoded) > SECOND_DECODE_BYTES:
        return brief
    try:
        decoded = msgspec.json.decode(encoded)
        if _INSIDE_MAP in path:
            return f'{what} - at `{at}{_with_keys(decoded, what, path, kind).removeprefix("$")}`'
        if ', got ' in what:
            return brief
        told = _completed(
            _cut(what, _MESSAGE), decoded, _type_at(inspect.type_info(kind), path), path
        )
    except (msgspec.DecodeError, LookupError, TypeError, StopIteration, ValueError, RecursionError):
        return brief  # no path, or the rest is not JSON, or has a number that Python's float cannot hold
    return f'{told} - at `{at}{path.removeprefix("$")}`'


def _parted(message: str) -> tuple[str, str]:
    """Part what msgspec says from where; it leaves out the path of the whole."""
    what, _, path = message.rpartition(' - at `')
    return (
        (what, path[:-1])
        if what and path.endswith('`') and path.startswith('$')
        else (message, '$')
    )


def _with_keys(value: Any, what: str, path: str, kind: Any) -> str:
    """Return a path with the keys that msgspec leaves out: of each map the first whose value has
    the same error.
    """
    first, *rest = path.split(_INSIDE_MAP)
    value, kind, named = _value_at(value, first), _hint_at(kind, first), first
    for i, part in enumerate(rest):
        inside, kind = '$' + _INSIDE_MAP.join(rest[i:]), get_args(_arm(kind, dict))[1]
        key, found = next(pair for pair in value.items() if _error(pair[1], kind) == (what, inside))
        value, kind, named = (
            _value_at(found, part),
            _hint_at(kind, part),
            f'{named}.{_shown(key)}{part}',
        )
    return named


def _error(value: object, kind: Any) -> tuple[str, str] | None:
    """Return the first error of decoded JSON and its path."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as exc:
        return _parted(str(exc))
    return None


def _hint_at(kind: Any, path: str) -> Any:
    """Return the type hint of what a path leads to."""
    for step in _STEP.finditer(path):
        if step['index']:
            kind = get_args(_arm(kind, (list, tuple)))[0]
        else:
            struct = _arm(kind, msgspec.Struct)
            names = dict(
                zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
            )
            kind = get_type_hints(struct)[names[step['key']]]
    return kind


def _arm(kind: Any, wanted: type | tuple[type, ...]) -> Any:
    """Return the one of a union's types that is of this kind."""
    arms = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return next(arm for arm in arms if issubclass(get_origin(arm) or arm, wanted))


def _completed(what: str, decoded: Any, expected: inspect.Type, path: str) -> str:
    if what.startswith('Object'):
        if 'unknown field' in what and isinstance(expected, inspect.StructType):
            what += f', expected {_one_of(field.encode_name for field in expected.fields)}'
        return what
    if isinstance(expected, inspect.LiteralType):
        what = f'Expected {_one_of(expected.values)}'
    elif isinstance(expected, inspect.DateTimeType):
        what = 'Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`'
    return f'{what}, got `{_shown(_value_at(decoded, path))}`'


def _one_of(choices: Iterable[object]) -> str:
    return 'one of ' + ', '.join(f'`{choice}`' for choice in choices)


def _shown(value: object) -> str:
    return _cut(value if isinstance(value, str) else msgspec.json.encode(value).decode(), _SHOWN)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + '...'


def _value_at(value: Any, path: str) -> Any:
    for step in _STEP.finditer(path):
        value = value[step['key'] or int(step['index'])]
    return value


def _type_at(kind: inspect.Type, path: str) -> inspect.Type:
    for step in _STEP.finditer(path):
        kind = _bare(kind)
        if isinstance(kind, inspect.StructType):
            kind = next(f.type for f in kind.fields if f.encode_name == step['key'])
        elif isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
            kind = kind.item_type
    return _bare(kind)


def _bare(kind: inspect.Type) -> inspect.Type:
    """The type behind `X | None` and behind descriptions."""
    if isinstance(kind, inspect.Metadata):
        return _bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        return _bare(next(t for t in kind.types if not isinstance(t, inspect.NoneType)))
    return kind
