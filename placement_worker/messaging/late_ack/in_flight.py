"""The requests in flight: a thread has begun them, and they have not ended."""

import threading
from collections.abc import Callable

from placement_worker.events.listener import Listener
from placement_worker.events.types import MessageSettled, MessageTaken


class RequestsInFlight:
    """The start times of the requests in flight of one topic."""

    def __init__(self, monotonic: Callable[[], float], events: Listener, topic: str) -> None:
        self._monotonic = monotonic
        self._events = events
        self._topic = topic
        self._lock = threading.Lock()
        self._begun: dict[object, float] = {}

    def add(self, key: object) -> None:
        """Record that a thread begins a request."""
        with self._lock:
            self._begun[key] = self._monotonic()
        self._events.handle(MessageTaken(self._topic))

    def remove(self, key: object) -> None:
        """Record that the reply to a request is sent, or that the request returns to its queue."""
        with self._lock:
            self._begun.pop(key, None)
        self._events.handle(MessageSettled(self._topic))

    def oldest(self) -> float | None:
        """Return the start time of the oldest request; the dictionary keeps the order of starts."""
        with self._lock:
            return next(iter(self._begun.values()), None)
