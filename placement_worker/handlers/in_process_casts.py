"""Casts in this process: their replies wait for a receiver, as on a broker, but in one thread."""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Self

from placement_worker.contract.model import CheckReply
from placement_worker.errors import PlacementWorkerError

Place = tuple[str, str]
"""The exchange and the topic of replies."""
Callback = Callable[[str, CheckReply | PlacementWorkerError], object]
"""A function that takes the request id of a cast, and its reply or error."""


class Replies:
    """The replies to casts, in order, until the callback of their place has taken them."""

    def __init__(self) -> None:
        self._waiting: defaultdict[Place, deque[tuple[str, CheckReply | PlacementWorkerError]]] = (
            defaultdict(deque)
        )
        self._callbacks: dict[Place, Callback] = {}
        self._busy: set[Place] = set()

    def add(self, place: Place, request_id: str, reply: CheckReply | PlacementWorkerError) -> None:
        """Pass a reply to the callback of its place, or keep it until there is one."""
        self._waiting[place].append((request_id, reply))
        self._pass_on(place)

    def serve(self, place: Place, callback: Callback) -> 'Receiver':
        """Pass the replies of a place to a callback until the receiver is stopped."""
        self._callbacks[place] = callback
        receiver = Receiver(lambda: self._callbacks.pop(place, None))
        self._pass_on(place)
        return receiver

    def _pass_on(self, place: Place) -> None:
        if place in self._busy:  # a callback casts again; its reply follows after the callback
            return
        waiting = self._waiting[place]
        self._busy.add(place)
        try:
            while waiting and (callback := self._callbacks.get(place)):
                callback(*waiting[0])
                waiting.popleft()  # a callback that raises gets the reply again
        finally:
            self._busy.remove(place)


class Receiver:
    """The end of a callback: a context manager that stops at the end of the block."""

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Pass no more replies; they wait for another callback."""
        self._stop()
