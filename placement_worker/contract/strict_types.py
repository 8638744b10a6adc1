"""Find out at the speed of decoding whether a JSON text has only keys of the contract."""

import datetime
import functools
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType, defstruct, structs

from placement_worker.contract import codec
from placement_worker.contract.model import Excerpt
from placement_worker.formats import duplicate_keys

S = TypeVar('S', bound=Struct)
_NOT_ACCEPTED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(text: bytes, kind: type[S]) -> S | None:
    """Return an object like `kind`, or None if the text does not fit or an object repeats a key.

    The result holds every value of the text, and encodes to the same JSON. Fields without a value
    are unset; times and excerpts are plain data.
    """
    try:
        decoded = codec.decoder(strict(kind)).decode(text)
        return None if duplicate_keys.found(text, decoded) else decoded
    except _NOT_ACCEPTED:
        return None


@functools.cache
def strict(kind: type[S]) -> type[S]:
    """Return a type with the keys of `kind` that refuses any other key, at any depth.

    Free-form maps and excerpts accept any key.
    """
    fields = structs.fields(kind)
    return defstruct(  # type: ignore[return-value]
        kind.__name__,
        [
            (one.name, _strict(one.type))
            if one.required
            else (one.name, Union[_strict(one.type), UnsetType], UNSET)  # noqa: UP007
            for one in fields
        ],
        rename={one.name: one.encode_name for one in fields},
        kw_only=True,
        forbid_unknown_fields=True,
        gc=False,
    )


def _strict(kind: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return Union[tuple(map(_strict, get_args(kind)))]  # noqa: UP007
    if origin is list:
        return list[_strict(get_args(kind)[0])]  # type: ignore[misc]
    if isinstance(kind, type) and issubclass(kind, (Excerpt, datetime.datetime)):
        return Any
    return strict(kind) if isinstance(kind, type) and issubclass(kind, Struct) else kind
