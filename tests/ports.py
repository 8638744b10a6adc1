"""Ports of loopback for servers that tests start, stop and start again."""

import atexit
import itertools
import random
import socket

# Ports that Linux does not assign to clients (`net.ipv4.ip_local_port_range`). A client that looks
# for a stopped server on a port of that range may take the port for itself.
RANGE = range(10_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return free ports that other test runs on this machine do not get while this process runs."""
    shuffled = random.sample(RANGE, len(RANGE))
    return list(itertools.islice(filter(_reserve, shuffled), count))


def _reserve(port: int) -> bool:
    """Reserve a port for this process, and return False if it is in use.

    The reservation is an abstract Unix socket: the kernel removes it when the process ends.
    """
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f'\0placement-worker-test-port-{port}')
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', port))
    except OSError:
        reservation.close()
        return False
    atexit.register(reservation.close)
    return True
