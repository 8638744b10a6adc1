"""The changes that the decisions of a reply would make, for `placement-policy plan`."""

from typing import Any

from msgspec import Struct, field


class PlaceChange(Struct, frozen=True):
    """The number of nodes in one place before and after the action.

    A place is a zone, a region, or a zone of a region (`RegionOne/az1`).
    """

    name: str
    before: int
    after: int
    note: str = ''


class Victim(Struct, frozen=True):
    """A node to delete; strings are empty if the reply lacks the value."""

    id: str
    place: str = ''
    reason: str = ''
    status: str = ''


class ProtectedNode(Struct, frozen=True):
    """A node that must not be deleted; strings are empty if the reply lacks the value."""

    id: str
    place: str = ''
    until: str = ''
    reason: str = ''


class SkippedPolicy(Struct, frozen=True):
    """A policy of the request that does not take part, and the reason."""

    policy: str
    reason: str


class PoolChange(Struct, frozen=True):
    """The changes of a load-balancing policy: the `details` of its decision."""

    policy: str
    details: dict[str, Any]

    @property
    def is_changed(self) -> bool:
        """Whether members would be added or removed."""
        return bool(self.details.get('added') or self.details.get('removed'))


class Changes(Struct, frozen=True):
    """The difference that one action would make.

    :ivar policies: the number of policies in the request.
    :ivar places: kind of place (`zones`, `regions`, `nodes`) -> the change of each place.
    :ivar protected: the first nodes that must not be deleted, if the deletion policy chose victims.
    :ivar details: the details of the decision that failed.
    :ivar is_decided: whether a policy placed the nodes to create or chose the nodes to delete.
    :ivar wait_s: the seconds between the removal of members and the deletion of their nodes.
    :ivar patched: the ids of nodes whose data would change.
    """

    action: str
    action_id: str
    target: str
    cluster: str
    status: str
    reason: str
    size: int
    policies: int = 0
    warnings: list[str] = []
    created: int = 0
    deleted: int = 0
    is_decided: bool = False
    places: dict[str, list[PlaceChange]] = field(default_factory=dict)
    victims: list[Victim] = field(default_factory=list)
    protected: list[ProtectedNode] = []
    pools: list[PoolChange] = field(default_factory=list)
    wait_s: int = 0
    patched: list[str] = field(default_factory=list)
    skipped: list[SkippedPolicy] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether anything would change."""
        nodes_changed = self.created or self.deleted or self.patched
        return bool(nodes_changed or any(pool.is_changed for pool in self.pools))
