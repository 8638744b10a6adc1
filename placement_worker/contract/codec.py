"""Decode requests once, with errors that name path, expectation and finding; encode replies."""

import contextlib
import re
import threading
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from placement_worker import errors
from placement_worker.formats.text import shortened

T = TypeVar('T')

SECOND_DECODE_BYTES = 2**20
"""The size of the largest request that is decoded a second time to explain an error."""
_STEP = re.compile(r'\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]')
_TYPE_AND_VERSION = re.compile(r'(?P<type>.+)-(?P<version>\d{1,4}\.\d{1,4})')
_INSIDE_MAP = '[...]'  # msgspec's paths show any key of a free-form map like this
_MESSAGE = 300  # characters of msgspec's message, which repeats an unknown key of any length
_UNEXPLAINED = (msgspec.DecodeError, LookupError, TypeError, ValueError, RecursionError)
"""Errors of the second decoding.

The rest of the request is not JSON, is nested too deeply, or has a number that Python's float
cannot hold.
"""

NOT_PLAIN = (TypeError, ValueError, RecursionError, OverflowError)
"""Errors of encoding data that JSON cannot hold, or that are nested too deeply."""

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_constructing = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder from JSON to objects of this type, which all threads share.

    A lock guards the construction of decoders: msgspec 0.22 publishes what it has found about a
    type before it has found all of it, so two concurrent first requests crashed a worker with a
    segmentation fault.

    :raises TypeError: msgspec cannot decode to this type.
    """
    found = _decoders.get(kind)
    if found is None:
        with _constructing:
            found = _decoders[kind] = msgspec.json.Decoder(kind)
    return found


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
    :param error: the class of the error.
    :raises Refused: as `error`, e.g. ``Expected `int`, got `str` - at `$.cluster.nodes[3].index`
        ``.
    """
    try:
        encoded = msgspec.json.encode(raw)
    except NOT_PLAIN as exc:
        raise not_plain(exc, at, error) from exc
    return decode_encoded(encoded, kind, max_bytes, at, error)


def not_plain(cause: Exception, at: str, error: type[errors.Refused]) -> errors.Refused:
    """Return the error of data that JSON cannot hold."""
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


def encode(reply: object, like: object) -> Any:
    """Encode a reply in the form of its request: as a JSON string, an object or plain data."""
    if isinstance(like, str):
        return msgspec.json.encode(reply).decode()
    if isinstance(like, msgspec.Struct):
        return reply
    return msgspec.to_builtins(reply)


def _explained(message: str, encoded: bytes | str, kind: type, at: str) -> str:
    """Add to msgspec's message the values that were allowed, and the one that was found."""
    what, path = _parted(message)
    what = shortened(what, _MESSAGE) or 'Invalid value'  # of a ValueError without a text
    is_complete = ', got ' in what or _INSIDE_MAP in path or len(encoded) > SECOND_DECODE_BYTES
    if not is_complete:
        with contextlib.suppress(*_UNEXPLAINED):
            what = _completed(what, *_found(msgspec.json.decode(encoded), kind, path))
    return f'{what} - at `{at}{path.removeprefix("$")}`'


def _parted(message: str) -> tuple[str, str]:
    """Split msgspec's message into text and path; it has no path if the whole request is wrong."""
    what, separator, path = message.rpartition(' - at `')
    if separator and path.endswith('`') and path.startswith('$'):
        return what, path[:-1]
    return message, '$'


def _found(value: Any, kind: type, path: str) -> tuple[Any, inspect.Type]:
    """Return the value at a path and the type that was expected there."""
    expected = bare(inspect.type_info(kind))
    for step in _STEP.finditer(path):
        if isinstance(expected, inspect.StructType):
            value = value[step['key']]
            types = {field.encode_name: field.type for field in expected.fields}
            expected = bare(types[step['key']])
        elif isinstance(expected, (inspect.ListType, inspect.VarTupleType)):
            value, expected = value[int(step['index'])], bare(expected.item_type)
    return value, expected


def _completed(what: str, value: Any, expected: inspect.Type) -> str:
    if what.startswith('Object'):
        if 'unknown field' in what and isinstance(expected, inspect.StructType):
            what += f', expected {_one_of(field.encode_name for field in expected.fields)}'
        elif what.endswith('missing required field `version`'):
            what += written_apart(value.get('type'))
        return what
    if isinstance(expected, inspect.LiteralType):
        what = f'Expected {_one_of(expected.values)}'
    elif isinstance(expected, inspect.DateTimeType):
        what = 'Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`'
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f'{what}, got `{shortened(shown)}`'


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


def _one_of(choices: Iterable[object]) -> str:
    return 'one of ' + ', '.join(f'`{choice}`' for choice in choices)


def bare(kind: inspect.Type) -> inspect.Type:
    """Return the type inside `X | None` and inside descriptions."""
    if isinstance(kind, inspect.Metadata):
        return bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        return bare(next(t for t in kind.types if not isinstance(t, inspect.NoneType)))
    return kind
