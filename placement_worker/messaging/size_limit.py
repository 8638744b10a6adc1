"""Limits on message bodies: no compression, a maximum size, and no duplicate keys."""

from collections.abc import Callable
from typing import Any, NoReturn

import kombu.compression
import kombu.serialization
from kombu.utils import json

from placement_worker.contract import strict_json
from placement_worker.formats import duplicate_keys
from placement_worker.worker import garbage_collection

ENVELOPE = (
    4  # a request is text in a message, which is text in an envelope: a quote becomes four bytes
)
AROUND_BYTES = 64 * 2**10  # what stands beside the request: method, ids, and the caller's context

LARGE_BYTES = 4 * 2**20  # smaller bodies leave too little memory behind to release it


def guard(max_request_bytes: Callable[[], int]) -> None:
    """Refuse bodies that could fill the memory of this process: compressed ones, and ones beyond a
    size.

    The driver rejects what cannot be read: the message is gone, and the log says why.

    :param max_request_bytes: the limit in force; asked at each message.
    """
    for content_type in kombu.compression.encoders():
        kombu.compression.register(_refuse, _refuse, content_type)
    kombu.serialization.register(
        'json',
        json.dumps,
        reader(max_request_bytes),
        content_type='application/json',
        content_encoding='utf-8',
    )


def reader(max_request_bytes: Callable[[], int]) -> Callable[[Any], Any]:
    """Return a decoder of JSON bodies that refuses too large ones."""

    def loads(body: Any) -> Any:
        most = ENVELOPE * max_request_bytes() + AROUND_BYTES
        if len(body) > most:
            raise ValueError(f'Expected a message of at most {most} bytes, got {len(body)}')
        if len(body) > LARGE_BYTES:
            garbage_collection.release_later()
        read = json.loads(body)
        message = read.get('oslo.message') if isinstance(read, dict) else None
        if isinstance(message, str) and len(message) <= strict_json.UNIQUE_KEYS_BYTES:
            _see_keys_once(message)
        return read

    return loads


def _see_keys_once(text: Any) -> None:
    """Refuse objects with a duplicate key: JSON readers differ in which value they keep."""
    try:
        twice = duplicate_keys.found(text)
    except (ValueError, RecursionError):  # oslo.messaging cannot read it either, and says so
        return
    if twice:
        raise ValueError(f'Expected each key once, got {twice}')


def _refuse(_body: bytes) -> NoReturn:
    raise ValueError('Expected a body that is not compressed')
