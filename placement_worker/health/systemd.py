"""Notifications to systemd, see https://www.freedesktop.org/software/systemd/man/sd_notify.html."""

import contextlib
import logging
import socket
from collections.abc import MutableMapping
from typing import Self

SEND_TIMEOUT_S = 1
LOG = logging.getLogger(__name__)


class Systemd:
    """The service manager that started this process; without an address nothing is sent."""

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = f'\0{address[1:]}' if address and address.startswith('@') else address
        self.watchdog_s = watchdog_s

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Self:
        """Return the service manager of an environment, and remove its address from there.

        With the address, cotyledon would send READY=1 before any process serves.
        """
        address = environment.pop('NOTIFY_SOCKET', None)
        microseconds = environment.get('WATCHDOG_USEC', '')
        return cls(address, int(microseconds) / 1e6 if microseconds.isdecimal() else None)

    def notify(self, state: str) -> None:
        """Send an assignment, e.g. READY=1; a failure is logged and not raised."""
        if not self._address:
            return
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as datagrams:
                datagrams.settimeout(SEND_TIMEOUT_S)
                datagrams.connect(self._address)
                datagrams.sendall(state.encode())
        except OSError as exc:
            LOG.warning('Notification %s did not reach systemd: %s', state, exc)
