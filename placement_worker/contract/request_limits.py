"""The limits of requests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request.

    `nodes_per_cluster`: the largest cluster that a creation may lead to. `request_bytes`: the
    largest request, as JSON.
    """

    nodes_per_cluster: int = 1000
    request_bytes: int = 64 * 2**20
