"""A running service: its address, the requests that it received, and its controls."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import requests

TIMEOUT_S = 120


class Request(NamedTuple):
    """A request that a service or a proxy received; the target is path and query."""

    method: str
    target: str
    agent: str


def matching(requests: Iterable[Request], method: str = '', target: str = '') -> list[Request]:
    """Return the requests whose method and target match these regular expressions."""
    return [
        request
        for request in requests
        if re.search(method, request.method) and re.search(target, request.target)
    ]


@dataclass(frozen=True)
class Service:
    """A process of the harness."""

    name: str
    url: str

    def control(self, name: str, **arguments: Any) -> Any:
        """Call a control of the service (see services/) and return its result."""
        response = requests.post(f'{self.url}/harness/{name}', json=arguments, timeout=TIMEOUT_S)
        response.raise_for_status()
        return response.json()

    def requests(self, first: int = 0) -> list[Request]:
        """Return the requests that the service received, from the given position on."""
        return [Request(*row) for row in self.control('requests', first=first)]

    @contextmanager
    def watch(self) -> Iterator[list[Request]]:
        """Provide a list that contains the requests of the block after its end."""
        before = len(self.requests())
        seen: list[Request] = []
        yield seen
        seen.extend(self.requests(before))
