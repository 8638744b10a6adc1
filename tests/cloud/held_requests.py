"""Requests to a service that get no response, so that their client can be killed."""

import threading
from dataclasses import dataclass, field

from tests.integration.proxy import Exchange, Proxy


@dataclass
class HeldRequest:
    """The next request of a kind; its client waits for the response until it is killed."""

    method: str
    """A regular expression, as for `target`."""
    target: str
    is_executed: bool
    """Whether the service receives the request."""
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def hold(self, proxy: Proxy) -> None:
        """Hold the next such request; `reached` is set after the service has carried it out."""
        proxy.inject(self._wait, f'^({self.method})$', self.target)

    def _wait(self, exchange: Exchange) -> None:
        if self.is_executed:
            exchange.forward()
        self.reached.set()
        exchange.server.wait(self.released)
        exchange.abort()


def choose(number: int, *kinds: tuple[str, str]) -> HeldRequest:
    """Return the request of a kill: the service receives it if the number is odd.

    :param number: of the kill, from 1; two kills in a row are at the same kind of request.
    :param kinds: methods and targets.
    """
    method, target = kinds[(number - 1) // 2 % len(kinds)]
    return HeldRequest(method, target, is_executed=number % 2 == 1)
