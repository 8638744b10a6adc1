"""The embedded cloud: a description of zones, regions and servers in place of the real thing.

The file is YAML or JSON::

    zones: {az1: true, az2: false}           # name -> available; where regions have none of their own
    regions: [RegionOne, RegionTwo]          # or {RegionOne: {zones: {az1: true}}, ...}
    home_region: RegionOne                   # of nodes for which nothing else names one
    servers: {server-uuid: {availability_zone: az1, addresses: {private: [{addr: 10.0.0.5, version: 4}]}}}
    networks: {private: {id: net1}}
    subnets: {private-subnet: {id: sub1, network: private, ip_version: 4, cidr: 10.0.0.0/24}}
    load_balancer: {pending_s: 0, fail: []}  # see `simulator`
"""

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec
from msgspec import Struct, field

from placement_worker import errors
from placement_worker.cloud.embedded import octavia_simulator
from placement_worker.cloud.embedded.stores import FileStore, MemoryStore
from placement_worker.cloud.ports import Network, Octavia, Subnet
from placement_worker.contract import codec
from placement_worker.contract.model import Address, Credentials, ServerDetails
from placement_worker.formats import documents


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """A region, with zones of its own or those of the whole cloud."""

    zones: dict[str, bool] | None = None


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """A server as Nova would show it."""

    availability_zone: str | None = None
    addresses: dict[str, list[Address]] = field(default_factory=dict)


class NetworkEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A network; its key is its name."""

    id: str


class SubnetEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A subnet of the network of that name; its key is its name."""

    id: str
    network: str
    ip_version: Literal[4, 6] = 4
    cidr: str | None = None


class Inventory(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A cloud that answers from its description, to whoever asks."""

    zone_list: dict[str, bool] = field(name='zones', default_factory=dict)
    region_map: list[str] | dict[str, Region] = field(name='regions', default_factory=list)
    home_region: str | None = None
    server_map: dict[str, Server] = field(name='servers', default_factory=dict)
    networks: dict[str, NetworkEntry] = field(default_factory=dict)
    subnets: dict[str, SubnetEntry] = field(default_factory=dict)
    load_balancer: octavia_simulator.Settings = octavia_simulator.Settings()

    def __post_init__(self) -> None:
        path = self.load_balancer.state
        self.__dict__['_store'] = MemoryStore() if path is None else FileStore(path)
        for name, entry in self.subnets.items():
            if entry.network not in self.networks:
                raise ValueError(
                    f'Expected a key of `networks`, got `{entry.network}` in `subnets.{name}.network`'
                )

    @classmethod
    def parse(cls, raw: object, source: str) -> 'Inventory':
        """Build it from plain data.

        :param source: where the data comes from, for errors.
        :raises InvalidInventory: the data does not describe a cloud.
        """
        try:
            return codec.decode(raw, cls)
        except errors.InvalidRequest as exc:
            raise errors.InvalidInventory(f'{source} does not describe a cloud: {exc}') from exc

    @classmethod
    def load(cls, path: str) -> 'Inventory':
        """Read it from a file.

        :raises InvalidInventory: the file cannot be read, or does not describe a cloud.
        """
        try:
            raw = documents.read(path)
        except OSError as exc:
            raise errors.InvalidInventory(
                f'The cloud cannot be read: {errors.file_error(exc)}'
            ) from exc
        except documents.Malformed as exc:
            raise errors.InvalidInventory(f'The cloud cannot be read: {exc}') from exc
        if len(raw) > 1:
            raise errors.InvalidInventory(f'{path} holds {len(raw)} documents, expected one')
        return cls.parse(raw[0], path)

    def acting_for(self, credentials: Credentials, project: str | None) -> 'Inventory':
        """As `Clouds.acting_for`; everybody sees the same."""
        return self

    def acting_as_service(self) -> 'Inventory':
        """As `Clouds.acting_as_service`."""
        return self

    def with_state_in(self, path: str) -> 'Inventory':
        """The same, with load balancers that all processes share, unless the description says where
        they are kept.
        """
        if self.load_balancer.state is not None:
            return self
        return msgspec.structs.replace(
            self, load_balancer=msgspec.structs.replace(self.load_balancer, state=path)
        )

    @property
    def load_balancer_region(self) -> str | None:
        """The region for load balancers: the home region, else the first one of the file."""
        return self.home_region or next(iter(self.region_map), None)

    def octavia(self, region: str | None) -> Octavia:
        """As `Cloud.octavia`: load balancers that are not real, see `simulator`."""
        name = region or self.load_balancer_region
        subnets = {entry.id: entry.cidr for entry in self.subnets.values()}
        return octavia_simulator.OctaviaSimulator(
            self.load_balancer, self.__dict__['_store'], subnets, name
        )

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """Return the zones of a region; without one, of the home region, the cloud, or its first
        region.
        """
        region = region or self.home_region
        if not isinstance(self.region_map, dict):
            return (
                self.zone_list
                if region is None or not self.region_map or region in self.region_map
                else {}
            )
        if region is None:
            if self.zone_list:
                return self.zone_list
            region = next(iter(self.region_map), None)
        known = self.region_map.get(region) if region else None
        if known is None:
            return {}
        return self.zone_list if known.zones is None else known.zones

    def regions(self) -> Collection[str]:
        """As `Cloud.regions`."""
        return frozenset(self.region_map)

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """As `Cloud.servers`; servers belong to no region here."""
        found = ((server_id, self.server_map.get(server_id)) for server_id in server_ids)
        return {
            server_id: ServerDetails(server.availability_zone, server.addresses)
            for server_id, server in found
            if server
        }

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """As `Cloud.subnet`; every region has all of them."""
        for name, entry in self.subnets.items():
            if name_or_id in (name, entry.id):
                network = Network(self.networks[entry.network].id, entry.network)
                return Subnet(entry.id, name, network, entry.ip_version)
        return None

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """As `Cloud.network`; every region has all of them."""
        for name, entry in self.networks.items():
            if name_or_id in (name, entry.id):
                return Network(entry.id, name)
        return None
