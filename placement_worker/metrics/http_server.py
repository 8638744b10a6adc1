"""The HTTP server that Prometheus scrapes."""

import errno
from threading import Thread
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server

from placement_worker.errors import ConfigurationError


class MetricsServer:
    """A server in a thread of its own."""

    def __init__(self, port: int, address: str, registry: CollectorRegistry) -> None:
        """Listen.

        :raises ConfigurationError: address and port cannot be used.
        """
        self._server: Any
        self._thread: Thread
        try:
            self._server, self._thread = start_http_server(port, address, registry)
        except (OSError, OverflowError) as exc:
            cause = getattr(exc, 'strerror', None) or exc
            raise ConfigurationError(
                f'[metrics] address {address} and port {port} cannot be used: {cause}'
            ) from exc

    @property
    def port(self) -> int:
        """The port; it was free if port 0 was asked for."""
        return int(self._server.server_port)

    def leave(self) -> None:
        """Close the socket of a forked process; its parent keeps listening."""
        self._server.socket.close()

    def close(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def is_free(port: int, address: str) -> bool:
    """Return False if a program listens on the port.

    :raises ConfigurationError: address and port cannot be used for another reason.
    """
    try:
        MetricsServer(port, address, CollectorRegistry()).close()
    except ConfigurationError as exc:
        if isinstance(exc.__cause__, OSError) and exc.__cause__.errno == errno.EADDRINUSE:
            return False
        raise
    return True
