"""The message size limit: refuse bodies that are too large, compressed, or ambiguous."""

from collections.abc import Callable
from typing import Any, NoReturn

import kombu.compression
import kombu.serialization
import msgspec
from kombu.utils import json

from placement_worker.contract import strict_json
from placement_worker.formats import duplicate_keys

ENVELOPE_FACTOR = 4
"""The bytes that one quotation mark of a request may take: message and envelope both escape it."""
HEADER_BYTES = 64 * 2**10
"""The size of the rest of a message: method, ids and the caller's context."""
MESSAGE = 'oslo.message'
"""The key of the message in an envelope."""
VERSION = '2.0'
"""The version of oslo.messaging's envelope."""
LARGE_BYTES = 4 * 2**20
"""The smallest body that leaves enough memory behind to be worth releasing."""


def install(max_request_bytes: Callable[[], int], on_large: Callable[[], object]) -> None:
    """Refuse message bodies that are compressed or exceed the limit, in the whole process.

    The driver rejects a body that cannot be read: it logs the cause, and the message is lost.

    :param max_request_bytes: returns the limit in force; called for each message.
    :param on_large: called for each accepted body above `LARGE_BYTES`.
    """
    for content_type in kombu.compression.encoders():
        kombu.compression.register(_refuse_compressed, _refuse_compressed, content_type)
    kombu.serialization.register(
        'json',
        json.dumps,
        limited_loads(max_request_bytes, on_large),
        content_type='application/json',
        content_encoding='utf-8',
    )


def limited_loads(
    max_request_bytes: Callable[[], int], on_large: Callable[[], object]
) -> Callable[[Any], Any]:
    """Return a JSON decoder with the limits of `install`."""

    def loads(body: Any) -> Any:
        limit = ENVELOPE_FACTOR * max_request_bytes() + HEADER_BYTES
        if len(body) > limit:
            raise ValueError(f'Expected a message of at most {limit} bytes, got {len(body)}')
        if len(body) > LARGE_BYTES:
            on_large()
        try:
            decoded = [msgspec.json.decode(body)]
        except (msgspec.DecodeError, RecursionError):
            decoded = []
        if len(body) <= strict_json.UNIQUE_KEYS_BYTES:
            _check_unique_keys(body, *decoded)
        # Python's JSON also has NaN, for example.
        return _unwrapped(decoded[0] if decoded else json.loads(body))

    return loads


def _unwrapped(envelope: Any) -> Any:
    """Return the message in an envelope; oslo.messaging also accepts it without one.

    oslo.messaging would take twice as long to decode it.

    :raises ValueError: the message has a duplicate key, since JSON readers differ in the value that
        they keep; or the envelope contains another one, or no text.
    :source: `deserialize_msg` in oslo_messaging/_drivers/common.py, of 18.3.
    """
    if not isinstance(envelope, dict) or MESSAGE not in envelope:
        return envelope
    text = envelope[MESSAGE]
    if not isinstance(text, str):
        raise ValueError(f'Expected a text as {MESSAGE} of the envelope')
    try:
        decoded = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        decoded = []
    if len(text) <= strict_json.UNIQUE_KEYS_BYTES:
        _check_unique_keys(text, *decoded)
    if not decoded or envelope.get('oslo.version') != VERSION:
        return envelope
    if isinstance(decoded[0], dict) and MESSAGE in decoded[0]:
        raise ValueError('Expected one envelope, got another one inside')
    return decoded[0]


def _check_unique_keys(text: bytes | str, *decoded: object) -> None:
    try:
        duplicate = duplicate_keys.found(text, *decoded)
    except (ValueError, RecursionError):  # oslo.messaging rejects it with a better message
        return
    if duplicate:
        raise ValueError(f'Expected each key once, got {duplicate}')


def _refuse_compressed(_body: bytes) -> NoReturn:
    raise ValueError('Expected a body that is not compressed')
