"""The log lines about the lost connections of one process."""

import logging
import threading
import time
from collections.abc import Callable

LOG = logging.getLogger(__name__)
WARN_DISCONNECTED_S = 30
"""The interval of warnings while no host of the broker responds."""


class OutageLog:
    """Log each outage once per process, whose topics have a connection each.

    An outage lasts from the first lost connection until all are restored.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._began = self._warned_at = 0.0
        self._lost: set[str] = set()
        self._restored: set[str] = set()
        self._logged: set[tuple[str, str]] = set()

    def lost(self, topic: str, host: str, cause: object) -> None:
        """Log a lost connection, unless the line would differ from an earlier one by its topic."""
        with self._lock:
            if not self._lost:
                self._began = self._warned_at = self._monotonic()
                self._restored, self._logged = set(), set()
            self._lost.add(topic)
            line = (host, str(cause))
            if line not in self._logged:
                self._logged.add(line)
                LOG.warning(
                    'Lost the connection to the broker at %s (topic %s): %s', host, topic, cause
                )

    def attempt_failed(self, host: str, cause: object) -> None:
        """Log the topics without a connection, at most once per `WARN_DISCONNECTED_S`."""
        with self._lock:
            now = self._monotonic()
            if now - self._warned_at >= WARN_DISCONNECTED_S:
                self._warned_at = now
                LOG.warning(
                    'No broker connection for %d s (%s); %s: %s',
                    now - self._began,
                    _topics(self._lost),
                    host,
                    cause,
                )

    def restored(self, topic: str, host: str) -> None:
        """Log the end of the outage when the last connection is restored."""
        with self._lock:
            self._lost.discard(topic)
            self._restored.add(topic)
            if not self._lost:
                LOG.info(
                    'Reconnected to the broker at %s (%s) after %.1f s',
                    host,
                    _topics(self._restored),
                    self._monotonic() - self._began,
                )


def _topics(topics: set[str]) -> str:
    return f'topic{"s" if len(topics) > 1 else ""} {", ".join(sorted(topics))}'
