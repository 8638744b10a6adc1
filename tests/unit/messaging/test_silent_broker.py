"""A broker that is silent after the handshake blocks neither polling nor the start of a worker."""

import contextlib
import socket
import struct
import threading
from types import SimpleNamespace

import kombu
import pytest

from placement_worker.client.transport import load_transport_url
from placement_worker.errors import BrokerUnreachable
from placement_worker.late_ack.listener import ListenConnection
from placement_worker.messaging import topology
from tests.config_files import default_options

ENOUGH_S = 60


def frame(payload):
    return struct.pack('>BHI', 1, 0, len(payload)) + payload + b'\xce'


START = frame(
    struct.pack('>HHBBI', 10, 10, 0, 9, 0) + b'\0\0\0\x0ePLAIN AMQPLAIN' + b'\0\0\0\5en_US'
)
TUNE = frame(struct.pack('>HHHIH', 10, 30, 2047, 131072, 60))
OPEN_OK = frame(struct.pack('>HHB', 10, 41, 0))


def receive(peer, end):
    """Read until some bytes arrive."""
    received = b''
    while end not in received:
        received += peer.recv(4096)


@pytest.fixture
def port():
    """Serve one handshake of AMQP 0-9-1, and nothing else; return the port."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(('127.0.0.1', 0)))

        def serve():
            peer = stack.enter_context(server.accept()[0])
            receive(peer, b'AMQP\0\0\x09\x01')
            peer.sendall(START)
            receive(peer, b'\xce')
            peer.sendall(TUNE)
            receive(peer, struct.pack('>HH', 10, 40))  # Connection.Open
            peer.sendall(OPEN_OK)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield server.getsockname()[1]
        serving.join(ENOUGH_S)


class DriverConnection:
    """A connection like the driver's, which has no timeout for the channel and its declarations."""

    def __init__(self, port):
        self.connection = kombu.Connection(f'amqp://127.0.0.1:{port}//', heartbeat=12)

    def ensure_connection(self):
        self.connection.ensure_connection(max_retries=0)
        self.connection.channel()


def test_reconnect_to_a_broker_that_is_silent_after_the_handshake_fails(port, monkeypatch):
    """An attempt to reconnect ends even if the broker is silent after the handshake."""
    monkeypatch.setattr('placement_worker.late_ack.listener.RESPONSE_S', 1)
    connection = ListenConnection(SimpleNamespace(connection=DriverConnection(port)))

    with pytest.raises(TimeoutError):
        connection.reconnect()

    assert not connection.is_connected


def test_declare_at_a_broker_that_is_silent_after_the_handshake_raises_broker_unreachable(
    port, monkeypatch
):
    """A worker that starts at a frozen broker retries instead of waiting without a bound."""
    monkeypatch.setattr('placement_worker.client.transport.ANSWER_S', 1)
    conf = default_options()
    target = load_transport_url(conf, f'rabbit://guest:guest@127.0.0.1:{port}/')

    with pytest.raises(BrokerUnreachable, match='stopped responding'):
        topology.declare(conf, target, ['topic'], 'topic-parked')
