"""What a worker reads of a message before it is a request: no compressed bodies, and none beyond a size."""

from typing import Any, NoReturn

import kombu.compression
import kombu.serialization
from kombu.utils import json

ENVELOPE = 2  # a request inside oslo.messaging's envelope, each quote of it escaped, is at most so much larger


def guard(max_request_bytes: int) -> None:
    """Refuse, in this process, what could fill the memory: bombs in compressed bodies, and bodies beyond a size.

    The driver rejects what cannot be read: the message is gone, and the log says why.
    """
    for content_type in kombu.compression.encoders():
        kombu.compression.register(_refuse, _refuse, content_type)
    most = ENVELOPE * max_request_bytes

    def loads(body: Any) -> Any:
        if len(body) > most:
            raise ValueError(f'Expected a message of at most {most} bytes, got {len(body)}')
        return json.loads(body)

    kombu.serialization.register('json', json.dumps, loads, content_type='application/json', content_encoding='utf-8')


def _refuse(_body: bytes) -> NoReturn:
    raise ValueError('Expected a body that is not compressed')
