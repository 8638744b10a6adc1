"""A TCP proxy that counts AMQP 0-9-1 frames by type in both directions."""

import collections
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
NAMES = {
    (60, 40): 'basic.publish',
    (60, 60): 'basic.deliver',
    (60, 80): 'basic.ack',
    (60, 120): 'basic.nack',
    (50, 20): 'queue.bind',
    (10, 10): 'connection',
    (20, 10): 'channel',
}
OPENING = {10, 20, 85}  # the classes connection, channel and confirm
GREETING = 8  # bytes before a client's first frame
QUIET_S = 0.5


class Proxy:
    """A proxy on a free port of the loopback interface.

    It counts frames by name, but not those that depend on time: heartbeats, and the bindings that
    workers repeat. Of the frames that open and close a connection or a channel it counts one each.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(('127.0.0.1', 0))
        self._lock = threading.Lock()
        self._counted: collections.Counter[str] = collections.Counter()
        self._last = time.monotonic()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The transport URL of the proxy."""
        return f'rabbit://guest:guest@127.0.0.1:{self._listening.getsockname()[1]}/'

    def taken(self) -> collections.Counter[str]:
        """Wait until no frame arrives, and return the counts since the last call."""
        while time.monotonic() - self._last < QUIET_S:
            time.sleep(QUIET_S / 10)
        with self._lock:
            counted, self._counted = self._counted, collections.Counter()
        return counted

    def close(self) -> None:
        """Close the listening socket and all connections."""
        for one in [self._listening, *self._sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listening.accept()
                broker = socket.create_connection(('127.0.0.1', self._to))
                self._sockets += [client, broker]
                for source, sink, greeting in ((client, broker, GREETING), (broker, client, 0)):
                    threading.Thread(
                        target=self._pass_on, args=(source, sink, greeting), daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, greeting: int) -> None:
        with contextlib.suppress(OSError), source.makefile('rb') as stream:
            sink.sendall(stream.read(greeting))
            for frame in _frames(stream):
                self._count(frame)
                sink.sendall(frame)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _count(self, frame: bytes) -> None:
        if (name := _name(frame)) not in {'heartbeat', 'queue.bind', 'opening'}:
            with self._lock:
                self._counted[name] += 1
                self._counted['bytes'] += len(frame)
                self._last = time.monotonic()


def _frames(stream: BinaryIO) -> Iterator[bytes]:
    """Return complete frames: type, channel, size, payload, end."""
    while len(start := stream.read(7)) == 7:
        _, _, size = struct.unpack('>BHI', start)
        yield start + stream.read(size + 1)


def _name(frame: bytes) -> str:
    if frame[0] == METHOD:
        kind = struct.unpack('>HH', frame[7:11])
        other = 'opening' if kind[0] in OPENING else f'method {kind[0]}.{kind[1]}'
        return NAMES.get(kind, other)
    return {HEADER: 'header', BODY: 'body', HEARTBEAT: 'heartbeat'}[frame[0]]
