"""The HTTP server of the metrics; test_multiprocess.py reads from it."""

import socket

import pytest

from placement_worker.errors import ConfigurationError
from placement_worker.metrics import http_server


def test_is_free_of_a_free_port_closes_it_again():
    """The worker can listen after the check."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        assert not http_server.is_free(port, '127.0.0.1')

    assert http_server.is_free(port, '127.0.0.1')

    socket.create_server(('127.0.0.1', port)).close()


def test_is_free_on_an_address_of_another_host_raises_an_error():
    """A port in use may be that of the running worker; any other error prevents a start."""
    with pytest.raises(
        ConfigurationError, match=r'\[metrics\] address 192\.0\.2\.1 and port 9100 cannot be used: '
    ):
        http_server.is_free(9100, '192.0.2.1')
