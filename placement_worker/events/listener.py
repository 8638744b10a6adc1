"""The protocol of listeners, and the composite of several listeners."""

import logging
from typing import Protocol

from typing_extensions import override

from placement_worker.events.types import Event

LOG = logging.getLogger(__name__)


class Listener(Protocol):
    """A receiver of events."""

    def handle(self, event: Event) -> None:
        """Handle an event, or ignore it.

        The call blocks the thread of the request.
        """


class Listeners(Listener):
    """A listener that passes each event to several listeners.

    An empty instance is falsy. An exception of one listener is logged and affects neither the
    request nor other listeners.
    """

    def __init__(self, *listeners: Listener) -> None:
        """Take the listeners in the order in which they receive an event."""
        self._listeners = listeners

    def __bool__(self) -> bool:
        return bool(self._listeners)

    @override
    def handle(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener.handle(event)
            except Exception:
                LOG.exception(
                    'Listener %s failed to handle the event %s',
                    type(listener).__name__,
                    type(event).__name__,
                )


NO_LISTENERS = Listeners()
"""The listener of a component without observers."""
