"""JSON decoders that threads share.

msgspec 0.22 inspects a type on its first decoding and publishes what it has found before it has
found all of it: two concurrent first requests crashed a worker with a segmentation fault. A lock
around the construction of decoders prevents that, since a type that was inspected once is safe.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar('T')

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_constructing = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the shared decoder from JSON to objects of this type.

    :raises TypeError: msgspec cannot decode to this type.
    """
    found = _decoders.get(kind)
    if found is None:
        with _constructing:
            found = _decoders[kind] = msgspec.json.Decoder(kind)
    return found
