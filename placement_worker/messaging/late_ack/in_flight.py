"""The requests in flight: a thread has begun them, and they have not ended."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from placement_worker.events.listener import Listener
from placement_worker.events.types import MessageSettled, MessageTaken
from placement_worker.formats.text import escaped, shortened
from placement_worker.messaging.late_ack import message_subject

LOG = logging.getLogger(__name__)


class Request(Protocol):
    """A request of oslo.messaging; its message is empty after its end."""

    key: object
    message: Mapping[str, Any]
    ctxt: Mapping[str, Any]


@dataclass(slots=True)
class _Begun:
    """A request that a thread has begun."""

    at: float
    request: Request
    was_logged: bool = False


class RequestsInFlight:
    """The requests in flight of one topic, with their start times."""

    def __init__(self, monotonic: Callable[[], float], events: Listener, topic: str) -> None:
        self._monotonic = monotonic
        self._events = events
        self._topic = topic
        self._lock = threading.Lock()
        self._begun: dict[object, _Begun] = {}

    def add(self, request: Request) -> None:
        """Record that a thread begins a request."""
        with self._lock:
            self._begun[request.key] = _Begun(self._monotonic(), request)
        self._events.handle(MessageTaken(self._topic))

    def remove(self, request: Request) -> None:
        """Record that the reply to a request is sent, or that the request returns to its queue."""
        with self._lock:
            self._begun.pop(request.key, None)
        self._events.handle(MessageSettled(self._topic))

    def oldest(self) -> float | None:
        """Return the start time of the oldest request; the dictionary keeps the order of starts."""
        with self._lock:
            return next((one.at for one in self._begun.values()), None)

    def log_longer_than(self, seconds: float) -> None:
        """Log each request that has been in flight for longer, once per request."""
        with self._lock:
            begun = list(self._begun.values())
        for one in begun:
            if not one.was_logged and self._monotonic() - one.at > seconds:
                one.was_logged = True
                LOG.warning('%s', self._described(one))

    def described(self) -> list[str]:
        """Return a line per request, the oldest first.

        A handler of a signal calls this, and it may have interrupted the thread that holds the
        lock. Copying the values needs no lock, since it is one step of the interpreter.
        """
        return [self._described(one) for one in list(self._begun.values())]

    def _described(self, one: _Begun) -> str:
        request = one.request
        method, request_id = (
            escaped(shortened(value)) if isinstance(value, str) else 'unknown'
            for value in (request.message.get('method'), request.ctxt.get('request_id'))
        )
        return (
            f'{message_subject.of_message(request.message)}{method} has been in flight for '
            f'{self._monotonic() - one.at:.0f} s (request {request_id}, topic {self._topic})'
        )
