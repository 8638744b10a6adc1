"""Decoders of JSON, made by one thread at a time.

msgspec 0.22 looks at a type when it first decodes it, and lets other threads use what it has found
before it has found all: two first requests at once ended a worker by a segmentation fault. A type
that was looked at once is safe.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar('T')

_made: dict[Any, msgspec.json.Decoder[Any]] = {}
_making = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """What decodes JSON to objects of this type, and is shared by all threads.

    :raises TypeError: msgspec cannot decode to this type.
    """
    made = _made.get(kind)
    if made is None:
        with _making:
            made = _made[kind] = msgspec.json.Decoder(kind)
    return made
