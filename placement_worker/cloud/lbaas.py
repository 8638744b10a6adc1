"""The calls of Octavia's API v2 that we use, whoever answers them."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from placement_worker.errors import PlacementWorkerError

Kind = Literal['loadbalancer', 'listener', 'pool', 'healthmonitor', 'flavor', 'availability_zone']
Resource = dict[str, Any]
"""An object as the API shows it, e.g. {'id': ..., 'provisioning_status': 'ACTIVE', 'tags':
[...]}.
"""


class ApiError(PlacementWorkerError):
    """Octavia answered with an error, or not at all."""

    def __init__(
        self, message: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        """Say what happened.

        :param status: of HTTP; None if no answer came, so that nobody knows whether the call had an
            effect.
        :param retry_after_s: how long Octavia asks to wait before the next try.
        """
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class Octavia(Protocol):
    """One region's load balancers, as one project sees them: one HTTP request a call (but for
    paging), no retry.

    Every method raises `ApiError`; it is the caller's part to make sense of it.
    """

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        """The objects that fit all filters of the API, e.g. name, project_id, loadbalancer_id, tags
        (a list).
        """

    def show(self, kind: Kind, object_id: str) -> Resource:
        """One object; status 404 if there is none."""

    def create(self, kind: Kind, body: Resource) -> Resource:
        """Create an object, with all its children for a load balancer that names some."""

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        """Delete an object; with `cascade` a load balancer and all its children."""

    def members(self, pool_id: str) -> list[Resource]:
        """All members of a pool."""

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        """Add one member."""

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """Add or change members, matched by address and port, in one update.

        :param additive_only: whether members that are not listed stay; else they are deleted.
        """

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """Remove one member."""
