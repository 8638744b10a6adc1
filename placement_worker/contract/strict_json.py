"""Decode JSON texts, and refuse objects with duplicate keys."""

from typing import Any, TypeVar

import msgspec

from placement_worker.contract import codec
from placement_worker.errors import InvalidRequest
from placement_worker.formats import duplicate_keys

T = TypeVar('T')

UNIQUE_KEYS_BYTES = 64 * 2**10
"""The size of the largest text that is searched for duplicate keys.

The search takes as long as decoding the text. In a larger text the last of two values counts.
"""


def decode(encoded: bytes | str, kind: type[T], *, max_bytes: int | None = None) -> T:
    """Build an object of the contract from JSON.

    :param max_bytes: the largest size that is accepted.
    :raises InvalidRequest: as `codec.decode`, or an object of a text of up to `UNIQUE_KEYS_BYTES`
        has a duplicate key.
    """
    try:  # ASCII, which is as long in bytes as in characters, need not be copied
        data = encoded.encode() if isinstance(encoded, str) and not encoded.isascii() else encoded
    except UnicodeEncodeError as exc:
        raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    decoded = codec.decode_encoded(data, kind, max_bytes)
    _check_unique_keys(data)
    return decoded


def decode_plain(encoded: bytes) -> Any:
    """Decode JSON of any size to dictionaries, lists and scalars.

    :raises InvalidRequest: the text is not JSON, or an object of a text of up to
        `UNIQUE_KEYS_BYTES` has a duplicate key.
    """
    try:
        decoded = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    _check_unique_keys(encoded, decoded)
    return decoded


def _check_unique_keys(encoded: bytes | str, *decoded: Any) -> None:
    if len(encoded) > UNIQUE_KEYS_BYTES:
        return
    try:
        duplicate = duplicate_keys.found(encoded, *decoded)
    except RecursionError as exc:
        raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
    if duplicate:
        raise InvalidRequest(f'Expected each key once, got {duplicate}')
