"""The part that we need of what Nova, Keystone and Neutron answer."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from msgspec import Struct, field

from placement_worker.contract.model import ServerDetails

R_co = TypeVar('R_co', covariant=True)


class Rows(Protocol[R_co]):
    """A listing."""

    @property
    def rows(self) -> Sequence[R_co]:
        """What is listed."""


class PartialResponse(Struct, frozen=True, gc=False):
    """What else an answer holds is passed over."""


class ZoneState(PartialResponse, frozen=True):
    """Whether a host of the zone is up."""

    available: bool


class Zone(PartialResponse, frozen=True, rename='camel'):
    """An availability zone."""

    zone_name: str
    zone_state: ZoneState


class Zones(PartialResponse, frozen=True):
    """GET /os-availability-zone of Nova."""

    zones: list[Zone] = field(name='availabilityZoneInfo')


class Server(ServerDetails, frozen=True, kw_only=True):
    """A server, as /servers/detail shows it."""

    id: str

    @property
    def is_complete(self) -> bool:
        """Whether it has both zone and addresses; one that is being built has not yet."""
        return bool(self.availability_zone and self.addresses)


class Link(PartialResponse, frozen=True):
    """A link to the next page."""

    rel: str


class Servers(PartialResponse, frozen=True):
    """GET /servers/detail of Nova: a page."""

    servers: list[Server]
    links: list[Link] = field(name='servers_links', default_factory=list)

    @property
    def has_more(self) -> bool:
        """Whether a page follows."""
        return bool(self.servers) and any(link.rel == 'next' for link in self.links)


class Region(PartialResponse, frozen=True):
    """A region."""

    id: str


class Regions(PartialResponse, frozen=True):
    """GET /v3/regions of Keystone."""

    regions: list[Region]


class NetworkRow(PartialResponse, frozen=True):
    """A network."""

    id: str
    name: str


class Networks(PartialResponse, frozen=True):
    """GET /v2.0/networks of Neutron."""

    rows: list[NetworkRow] = field(name='networks')


class SubnetRow(PartialResponse, frozen=True):
    """A subnet."""

    id: str
    name: str
    network_id: str
    ip_version: int


class Subnets(PartialResponse, frozen=True):
    """GET /v2.0/subnets of Neutron."""

    rows: list[SubnetRow] = field(name='subnets')
