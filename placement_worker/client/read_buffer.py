"""A buffer for what a broker sends.

For each frame, py-amqp 5.4 (`amqp/transport.py`) sets a timeout, receives the header, the payload
and the last byte, and resets the timeout. Each of these system calls releases the global
interpreter lock. A message has three frames, which arrive together.
"""

import struct
from typing import Any

READ_BYTES = 16 * 2**10
"""The bytes that are requested from the socket at once; a TLS record has as many at most."""
_SIZE = struct.Struct('>3xI')
_OVERHEAD = 8  # the header and the last byte of a frame


def add_to(amqp: Any) -> None:
    """Receive all that has arrived at once, and set no timeout for a frame in the buffer.

    Call this after each connection, since py-amqp creates another transport for the next one.

    :param amqp: a connection of py-amqp.
    """
    receive, read_frame = amqp.transport._quick_recv, amqp.blocking_read

    def receive_more(size: int) -> Any:
        return receive(max(size, READ_BYTES))

    def blocking_read(timeout: float | None = None) -> Any:
        return read_frame(None if has_frame(amqp) else timeout)

    amqp.transport._quick_recv = receive_more
    amqp.blocking_read = blocking_read


def has_frame(amqp: Any) -> bool:
    """Return whether a whole frame has been received.

    :source: section 4.2.3 of AMQP 0-9-1, https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf
    """
    buffer = amqp.transport._read_buffer
    received = len(buffer) - _OVERHEAD
    return received >= 0 and received >= _SIZE.unpack_from(buffer)[0]
