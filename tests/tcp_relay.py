"""A TCP relay in front of a broker that can leave connections half-open."""

import contextlib
import socket
import threading


class Relay:
    """A relay to a port of loopback that forwards or drops the data of its connections."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept)
        self._half_open = threading.Event()  # replaced with each generation of connections
        self._sockets: list[socket.socket] = []
        self._pumps: list[threading.Thread] = []
        self._accepting.start()

    def silence(self) -> None:
        """Stop forwarding on all present connections, and keep both of their sockets open.

        Connections made from here on are forwarded.
        """
        silenced, self._half_open = self._half_open, threading.Event()
        silenced.set()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
        self._accepting.join()  # no connection is added from here on
        for opened in self._sockets:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
        for pump in self._pumps:
            pump.join()
        for opened in (self._listener, *self._sockets):
            opened.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                self._forward(client)

    def _forward(self, client: socket.socket) -> None:
        try:
            upstream = socket.create_connection(('127.0.0.1', self._upstream_port))
        except OSError:  # the broker is unreachable
            client.close()
            return
        self._sockets.append(upstream)
        for source, sink in ((client, upstream), (upstream, client)):
            pump = threading.Thread(target=self._pump, args=(source, sink, self._half_open))
            self._pumps.append(pump)
            pump.start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket, half_open: threading.Event) -> None:
        """Copy one direction; drop all data, and its end, once the connection is half-open."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not half_open.is_set():
                    sink.sendall(data)
        if not half_open.is_set():
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
