"""Response types of Nova, Keystone and Neutron, limited to the fields in use."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from msgspec import Struct, field

from placement_worker.contract.model import ServerDetails

R_co = TypeVar('R_co', covariant=True)


class Rows(Protocol[R_co]):
    """A listing of objects of one type."""

    @property
    def rows(self) -> Sequence[R_co]:
        """The objects of the listing."""


class PartialResponse(Struct, frozen=True, gc=False):
    """The base of responses: the decoder ignores all fields that a subclass does not declare."""


class ZoneState(PartialResponse, frozen=True):
    """The state of a zone; it is available if one of its hosts is up."""

    available: bool


class Zone(PartialResponse, frozen=True, rename='camel'):
    """An availability zone."""

    zone_name: str
    zone_state: ZoneState


class Zones(PartialResponse, frozen=True):
    """The response of Nova to GET /os-availability-zone."""

    zones: list[Zone] = field(name='availabilityZoneInfo')


class Server(ServerDetails, frozen=True, kw_only=True):
    """A server in the response to GET /servers/detail."""

    id: str

    @property
    def is_complete(self) -> bool:
        """Whether zone and addresses are known; a server that is being built lacks them."""
        return bool(self.availability_zone and self.addresses)


class Link(PartialResponse, frozen=True):
    """A link to another page."""

    rel: str


class Servers(PartialResponse, frozen=True):
    """A page of the response of Nova to GET /servers/detail."""

    servers: list[Server]
    links: list[Link] = field(name='servers_links', default_factory=list)

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return bool(self.servers) and any(link.rel == 'next' for link in self.links)


class Region(PartialResponse, frozen=True):
    """A region."""

    id: str


class Regions(PartialResponse, frozen=True):
    """The response of Keystone to GET /v3/regions."""

    regions: list[Region]


class NetworkRow(PartialResponse, frozen=True):
    """A network."""

    id: str
    name: str


class Networks(PartialResponse, frozen=True):
    """The response of Neutron to GET /v2.0/networks."""

    rows: list[NetworkRow] = field(name='networks')


class SubnetRow(PartialResponse, frozen=True):
    """A subnet."""

    id: str
    name: str
    network_id: str
    ip_version: int


class Subnets(PartialResponse, frozen=True):
    """The response of Neutron to GET /v2.0/subnets."""

    rows: list[SubnetRow] = field(name='subnets')
