"""The cluster that a request describes, with its nodes and profiles; all objects are frozen.

Keys that are not listed are dropped. This protects secrets: of the properties of a profile, which
may hold passwords and user data, only the two that placement needs survive, and of the metadata of
a node only one key.

`gc=False`: the objects are trees of plain data, so the garbage collector need not walk them.
"""

import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, field

Data = dict[str, Any]
"""A free-form map, kept as received."""


def in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a time with its time zone; a time without one is in UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


class Wire(Struct, frozen=True, gc=False):
    """The base class of all objects of the contract."""


class Excerpt(Wire, frozen=True):
    """The part that placement needs of an object that others define; other keys are ignored."""


class ProfileContext(Excerpt, frozen=True):
    """The part of a profile's `context` that placement needs."""

    region_name: str | None = None


class ProfileProperties(Excerpt, frozen=True):
    """The two properties of a profile that placement needs; no other one survives decoding."""

    availability_zone: str | None = None
    context: ProfileContext | None = None


class Profile(Wire, frozen=True):
    """The profile of nodes; `type` is type and version, e.g. os.nova.server-1.0."""

    type: str
    id: str | None = None
    properties: ProfileProperties = ProfileProperties()
    created_at: datetime.datetime | None = None

    @property
    def zone(self) -> str | None:
        """The availability zone that the profile asks for; an empty one counts as absent."""
        return self.properties.availability_zone or None

    @property
    def region(self) -> str | None:
        """The region that the profile asks for; an empty one counts as absent."""
        context = self.properties.context
        return (context.region_name or None) if context else None


class Address(Excerpt, frozen=True):
    """One address of a server."""

    addr: str
    version: int


class ServerDetails(Excerpt, frozen=True):
    """The part of Nova's view of a server that placement needs."""

    availability_zone: str | None = field(name='OS-EXT-AZ:availability_zone', default=None)
    addresses: dict[str, list[Address]] = field(default_factory=dict)


class NodeMetadata(Excerpt, frozen=True):
    """The only key of a node's metadata that survives decoding."""

    protected: Any = None


class Node(Wire, frozen=True, omit_defaults=True):
    """A member of a cluster."""

    id: str
    name: str | None = None
    physical_id: str | None = None
    index: int = -1
    status: str = ''
    status_reason: str | None = None
    tainted: bool = False
    created_at: datetime.datetime | None = None
    profile_id: str | None = None
    profile_created_at: datetime.datetime | None = None
    profile: Profile | None = None
    data: Data = field(default_factory=dict)
    details: ServerDetails | None = None
    metadata: NodeMetadata | None = None
    updated_at: datetime.datetime | None = None


class Cluster(Wire, frozen=True):
    """A cluster with all its members; a `max_size` below zero means no limit."""

    id: str
    profile: Profile
    nodes: list[Node]
    name: str | None = None
    user: str | None = None
    project: str | None = None
    min_size: Annotated[int, Meta(ge=0)] = 0
    max_size: int = -1
    desired_capacity: int = 0
    data: Data = field(default_factory=dict)
