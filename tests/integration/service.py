"""One running service as the tests see it: its address, the requests that reached it, what it can
be told.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import requests

TIMEOUT_S = 120


class Request(NamedTuple):
    """A request as the service or a proxy saw it; target is path and query."""

    method: str
    target: str
    agent: str


def matching(requests: Iterable[Request], method: str = '', target: str = '') -> list[Request]:
    """The requests whose method and target contain these regular expressions."""
    return [
        one for one in requests if re.search(method, one.method) and re.search(target, one.target)
    ]


@dataclass(frozen=True)
class Service:
    """A process of the harness."""

    name: str
    url: str

    def tell(self, control: str, **arguments: Any) -> Any:
        """Call one of its controls (see services/) and return its answer."""
        answer = requests.post(f'{self.url}/harness/{control}', json=arguments, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()

    def requests(self, first: int = 0) -> list[Request]:
        """What reached it, from the given position on."""
        return [Request(*one) for one in self.tell('requests', first=first)]

    @contextmanager
    def watch(self) -> Iterator[list[Request]]:
        """Fill the list with the requests of the block when it ends."""
        before = len(self.requests())
        seen: list[Request] = []
        yield seen
        seen.extend(self.requests(before))
