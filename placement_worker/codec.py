"""Decode once, at the edge, with errors that name path, expectation and finding; encode the reply."""

import bisect
import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from placement_worker import errors
from placement_worker.decoders import decoder
from placement_worker.model import Excerpt

T = TypeVar('T')

_STEP = re.compile(r'\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]')
_INSIDE_MAP = '[...]'  # how msgspec's paths show a key of a free-form map
_SHOWN = 80  # characters of a refused value that an error repeats


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
    :raises Refused: as `error`, e.g. ``Expected `int`, got `str` - at `$.cluster.nodes[3].index` ``.
    """
    try:
        encoded = msgspec.json.encode(raw)
    except (TypeError, ValueError, RecursionError, OverflowError) as exc:
        raise error(f'Expected plain data that JSON can hold - at `{at}`: {exc}') from exc
    return decode_json(encoded, kind, max_bytes=max_bytes, at=at, error=error)


def decode_json(
    encoded: bytes | str,
    kind: type[T],
    *,
    max_bytes: int | None = None,
    at: str = '$',
    error: type[errors.Refused] = errors.InvalidRequest,
) -> T:
    """Build an object of the contract from JSON; see `decode`."""
    try:  # ASCII, which is as long in bytes as in characters, need not be copied
        data = encoded.encode() if isinstance(encoded, str) and not encoded.isascii() else encoded
    except UnicodeEncodeError as exc:
        raise error(f'Expected JSON - at `{at}`: {exc}') from exc
    if max_bytes is not None and len(data) > max_bytes:
        raise error(f'Expected at most {max_bytes} bytes, got {len(data)} - at `{at}`')
    try:
        return decoder(kind).decode(data)
    except msgspec.ValidationError as exc:
        raise error(_explained(str(exc), data, kind, at)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise error(f'Expected JSON - at `{at}`: {exc}') from exc


def plain(encoded: bytes) -> Any:
    """Decode JSON to dictionaries, lists and scalars.

    :raises InvalidRequest: it is no JSON.
    """
    try:
        return msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise errors.InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc


def encode(reply: object, like: object) -> Any:
    """Give the reply the form that the request had: one JSON string for a string, else plain data."""
    return msgspec.json.encode(reply).decode() if isinstance(like, str) else msgspec.to_builtins(reply)


def unknown_keys(raw: object, kind: type, path: str = '$') -> Iterator[str]:
    """Name, as paths, the keys that the contract does not list, each with the nearest that it does.

    Free-form maps and excerpts may hold any key.
    """
    yield from _unknown(raw, inspect.type_info(kind), path)


def _unknown(raw: object, kind: inspect.Type, path: str) -> Iterator[str]:
    kind = _bare(kind)
    if isinstance(kind, inspect.StructType) and isinstance(raw, dict) and not issubclass(kind.cls, Excerpt):
        known = {f.encode_name: f.type for f in kind.fields}
        for key, value in raw.items():
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                yield f'`{path}.{key}`' + (f' (did you mean `{near[0]}`?)' if near else '')
            else:
                yield from _unknown(value, known[key], f'{path}.{key}')
    elif isinstance(kind, (inspect.ListType, inspect.VarTupleType)) and isinstance(raw, list):
        for i, item in enumerate(raw):
            yield from _unknown(item, kind.item_type, f'{path}[{i}]')


def _explained(message: str, encoded: bytes | str, kind: type, at: str) -> str:
    """Add what msgspec leaves out: what would have been right, and what stood there instead."""
    what, _, path = message.rpartition(' - at `')
    if what and path.endswith('`') and path.startswith('$'):
        path = path[:-1]
    else:
        what, path = message, '$'
    named = _with_keys(message, path, encoded, kind) if _INSIDE_MAP in path else path
    where = f' - at `{at}{named.removeprefix("$")}`'
    if ', got ' in what or _INSIDE_MAP in path:
        return what + where
    try:
        return _completed(what, encoded, _type_at(inspect.type_info(kind), path), path) + where
    except (LookupError, TypeError, StopIteration, ValueError, RecursionError):  # no path, or the rest is no JSON
        return f'{message} - at `{at}`'


def _with_keys(message: str, path: str, encoded: bytes | str, kind: type) -> str:
    """A path with the keys that msgspec leaves out: of each map the first that brings the error about."""
    try:
        whole = value = msgspec.json.decode(encoded)
    except msgspec.DecodeError:  # a number that no JSON library of ours can hold
        return path
    first, *rest = path.split(_INSIDE_MAP)
    value, named = _value_at(value, first), first
    for part in rest:
        items = list(value.items())

        def fails(count: int, value: Any = value, items: list[Any] = items) -> bool:
            value.clear()
            value.update(items[:count])
            try:
                decoder(kind).decode(msgspec.json.encode(whole))
            except msgspec.ValidationError as exc:
                return str(exc) == message
            return False

        count = bisect.bisect_left(range(len(items)), True, lo=1, key=fails)
        fails(count)  # what comes after it may bring the same about
        key, found = items[count - 1]
        value, named = _value_at(found, part), f'{named}.{_shown(key)}{part}'
    return named


def _completed(what: str, encoded: bytes | str, expected: inspect.Type, path: str) -> str:
    if what.startswith('Object'):
        if 'unknown field' in what and isinstance(expected, inspect.StructType):
            what += f', expected {_one_of(field.encode_name for field in expected.fields)}'
        return what
    if isinstance(expected, inspect.LiteralType):
        what = f'Expected {_one_of(expected.values)}'
    elif isinstance(expected, inspect.DateTimeType):
        what = 'Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`'
    return f'{what}, got `{_shown(_value_at(msgspec.json.decode(encoded), path))}`'


def _one_of(choices: Iterable[object]) -> str:
    return 'one of ' + ', '.join(f'`{choice}`' for choice in choices)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + '...'


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
