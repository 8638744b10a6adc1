"""The buffer for frames, on a socket and a transport of py-amqp."""

import contextlib
import socket
import struct

import amqp
import pytest
from amqp.transport import TCPTransport
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.client import read_buffer


class CountingSocket(socket.socket):
    """A socket that counts the calls of the reader."""

    received = bounded = 0

    def recv(self, size):
        self.received += 1
        return super().recv(size)

    def settimeout(self, seconds):
        self.bounded += 1
        super().settimeout(seconds)


class Connection:
    """A connection of py-amqp that collects its frames instead of handling them."""

    blocking_read = amqp.Connection.blocking_read

    def __init__(self):
        end, self.broker = socket.socketpair()
        self.sock = CountingSocket(end.family, end.type, fileno=end.detach())
        self.sock.settimeout(5)
        self.transport = TCPTransport('test')
        self.transport.sock = self.sock
        self.transport._setup_transport()
        self.frames = []
        read_buffer.add_to(self)
        self.sock.bounded = 0

    def on_inbound_frame(self, frame):
        self.frames.append(frame)

    def read(self, timeout_s=0.01):
        """Read until the timeout, and return the frames."""
        with contextlib.suppress(TimeoutError):
            while True:
                self.blocking_read(timeout_s)
        return self.frames

    def close(self):
        self.sock.close()
        self.broker.close()


@pytest.fixture
def connection():
    with contextlib.closing(Connection()) as made:
        yield made


def encoded(payload):
    return struct.pack('>BHI', 1, 1, len(payload)) + payload + b'\xce'


def test_frames_that_arrive_together_are_received_at_once(connection):
    """The three frames of a message cost one system call, and one timeout that is reset."""
    connection.broker.sendall(encoded(b'method') + encoded(b'header') + encoded(b'body'))

    for _ in range(3):
        connection.blocking_read(1)

    assert [payload for _, _, payload in connection.frames] == [b'method', b'header', b'body']
    assert connection.sock.received == 1
    assert connection.sock.bounded == 2
    assert connection.sock.gettimeout() == 5


def test_incomplete_frame_ends_at_the_timeout_and_is_read_later(connection):
    """A slow broker neither holds up the reader for longer than the timeout, nor loses a byte."""
    whole = encoded(b'body')
    for part in (whole[:5], whole[5:-1]):
        connection.broker.sendall(part)
        assert not connection.read()
        assert not read_buffer.has_frame(connection)

    connection.broker.sendall(whole[-1:])
    assert connection.read() == [(1, 1, b'body')]


@given(
    st.lists(st.binary(max_size=2 * read_buffer.READ_BYTES), max_size=3),  # fits into the socket
    st.lists(st.integers(1, 2 * read_buffer.READ_BYTES), max_size=4),
)
def test_frames_are_the_same_in_whatever_parts_they_arrive(payloads, sizes):
    """The buffer neither drops, repeats nor reorders bytes."""
    with contextlib.closing(Connection()) as connection:
        text = b''.join(map(encoded, payloads))
        for size in [*sizes, len(text)]:
            connection.broker.sendall(text[:size])
            text = text[size:]
            connection.read(0.001)

        assert [payload for _, _, payload in connection.frames] == payloads
