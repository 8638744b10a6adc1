"""The embedded cloud: zones, regions and servers from a description instead of a real cloud.

The file is YAML or JSON::

    zones: {az1: true, az2: false}           # name -> available; of regions without own zones
    regions: [RegionOne, RegionTwo]          # or {RegionOne: {zones: {az1: true}}, ...}
    home_region: RegionOne                   # of nodes that name no region
    servers:
      server-uuid:
        availability_zone: az1
        addresses: {private: [{addr: 10.0.0.5, version: 4}]}
    networks: {private: {id: net1}}
    subnets: {private-subnet: {id: sub1, network: private, ip_version: 4, cidr: 10.0.0.0/24}}
    load_balancer: {pending_s: 0, fail: []}  # see `octavia_simulator`
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field

from placement_worker import errors
from placement_worker.cloud.embedded.octavia_simulator import (
    FileStore,
    MemoryStore,
    OctaviaSimulator,
    Settings,
)
from placement_worker.cloud.ports import Network, Octavia, Subnet
from placement_worker.contract import codec
from placement_worker.contract.model import Address, Credentials, ServerDetails
from placement_worker.formats import documents


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """A region; without own zones it has the zones of the whole cloud."""

    zones: dict[str, bool] | None = None


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """A server; its key is its id."""

    availability_zone: str | None = None
    addresses: dict[str, list[Address]] = field(default_factory=dict)


class NetworkEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A network; its key is its name."""

    id: str


class SubnetEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A subnet of the network with that name; its key is its own name."""

    id: str
    network: str
    ip_version: Literal[4, 6] = 4
    cidr: str | None = None


class Inventory(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A cloud that returns what its description contains. All users see the same cloud."""

    zone_list: dict[str, bool] = field(name='zones', default_factory=dict)
    region_map: list[str] | dict[str, Region] = field(name='regions', default_factory=list)
    home_region: str | None = None
    server_map: dict[str, Server] = field(name='servers', default_factory=dict)
    networks: dict[str, NetworkEntry] = field(default_factory=dict)
    subnets: dict[str, SubnetEntry] = field(default_factory=dict)
    load_balancer: Settings = Settings()

    def __post_init__(self) -> None:
        path = self.load_balancer.state
        self.__dict__['_store'] = MemoryStore() if path is None else FileStore(path)
        for name, entry in self.subnets.items():
            if entry.network not in self.networks:
                raise ValueError(
                    f'Expected a key of `networks`, got `{entry.network}` '
                    f'in `subnets.{name}.network`'
                )

    @classmethod
    def parse(cls, raw: object, source: str) -> 'Inventory':
        try:
            return codec.decode(raw, cls)
        except errors.InvalidRequest as exc:
            raise errors.InvalidInventory(f'{source} does not describe a cloud: {exc}') from exc

    @classmethod
    def load(cls, path: str) -> 'Inventory':
        try:
            document, *others = documents.read(path)
        except (OSError, documents.Malformed) as exc:
            reason = errors.file_error(exc) if isinstance(exc, OSError) else exc
            raise errors.InvalidInventory(f'The cloud cannot be read: {reason}') from exc
        if others:
            count = 1 + len(others)
            raise errors.InvalidInventory(f'{path} contains {count} documents, expected one')
        try:
            return codec.decode(document.data, cls)
        except errors.InvalidRequest:
            invalid = document.invalid(codec.errors_in(document.data, cls))
            raise errors.InvalidInventory(
                f'{path} does not describe a cloud: {invalid}'
            ) from invalid

    def acting_for(self, credentials: Credentials, project: str | None) -> 'Inventory':
        return self

    def acting_as_service(self) -> 'Inventory':
        return self

    def with_state_in(self, path: str) -> 'Inventory':
        """Return the cloud with load balancers in a file that all processes share.

        A path in the description takes precedence.
        """
        if self.load_balancer.state is not None:
            return self
        return msgspec.structs.replace(
            self, load_balancer=msgspec.structs.replace(self.load_balancer, state=path)
        )

    def changed(self, **fields: Any) -> 'Inventory':
        """Return the cloud with other values of some fields, and with the same load balancers."""
        changed = msgspec.structs.replace(self, **fields)
        changed.__dict__['_store'] = self.__dict__['_store']
        return changed

    @property
    def load_balancer_region(self) -> str | None:
        """The home region, or else the first region of the description."""
        return self.home_region or next(iter(self.region_map), None)

    def octavia(self, region: str | None) -> Octavia:
        name = region or self.load_balancer_region
        subnets = {entry.id: entry.cidr for entry in self.subnets.values()}
        simulator = OctaviaSimulator(self.load_balancer, self.__dict__['_store'], subnets, name)
        return cast('Octavia', simulator)

    @property
    def described_regions(self) -> Mapping[str, Region]:
        """The regions by name; one without zones of its own has those of the cloud."""
        described = self.region_map
        return described if isinstance(described, dict) else {name: Region() for name in described}

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """Return the zones of a region; None stands for the home region, or else the whole cloud.

        A cloud without zones of its own shows those of its first region, and one without regions
        has the same zones in any region.
        """
        region, regions = region or self.home_region, self.described_regions
        if region is None and not self.zone_list:
            region = next(iter(regions), None)
        if region is None or not regions:
            return self.zone_list
        if region not in regions:
            return {}
        own = regions[region].zones
        return self.zone_list if own is None else own

    def regions(self) -> Collection[str]:
        return frozenset(self.region_map)

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """Return servers by id; all regions contain the same servers, subnets and networks."""
        return {
            server_id: ServerDetails(server.availability_zone, server.addresses)
            for server_id in server_ids
            if (server := self.server_map.get(server_id))
        }

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        for name, entry in self.subnets.items():
            if name_or_id in (name, entry.id):
                network = Network(self.networks[entry.network].id, entry.network)
                return Subnet(entry.id, name, network, entry.ip_version, entry.cidr)
        return None

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        for name, entry in self.networks.items():
            if name_or_id in (name, entry.id):
                return Network(entry.id, name)
        return None
