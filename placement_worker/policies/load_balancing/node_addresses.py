"""Find the desired members of nodes: their addresses on the network of the pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from placement_worker.cloud.ports import Subnet
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import Cluster, Node, ServerDetails
from placement_worker.errors import InvalidInput
from placement_worker.formats import text
from placement_worker.octavia.pools import Key, Member
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties


class WantedMembers(Protocol):
    """A source of the desired members of nodes."""

    def members(self, nodes: Sequence[Node]) -> tuple[list[Member], dict[str, str]]:
        """Return the members of nodes, and the causes for nodes without one: node id -> cause."""


@dataclass(frozen=True, slots=True)
class ResolvedMembers(WantedMembers):
    """Members that are known already, by node id; nodes without one are ignored."""

    by_node: Mapping[str, Member]

    @override
    def members(self, nodes: Sequence[Node]) -> tuple[list[Member], dict[str, str]]:
        return [self.by_node[node.id] for node in nodes if node.id in self.by_node], {}


@dataclass(frozen=True, slots=True)
class AddressLookup(WantedMembers):
    """Members by the addresses of the nodes in the request or in Nova."""

    cloud: Snapshot
    region: str | None
    subnet: Subnet
    port: int

    @classmethod
    def of(
        cls, state: State, cluster: Cluster, properties: LoadBalancingProperties
    ) -> 'AddressLookup':
        """Look up the subnet of the pool.

        :raises InvalidInput: the cloud has no such subnet.
        """
        region, pool = cluster.profile.region, properties.pool
        subnet = state.cloud.subnet(region, pool.subnet)
        if subnet is None:
            raise InvalidInput(
                f'Subnet {pool.subnet} of `pool.subnet` does not exist in the cloud.'
            )
        return cls(state.cloud, region, subnet, pool.protocol_port)

    @override
    def members(self, nodes: Sequence[Node]) -> tuple[list[Member], dict[str, str]]:
        failed = self._in_other_regions(nodes)
        here = [node for node in nodes if node.id not in failed]
        found = []
        servers = self._servers(here)
        for node in here:
            address = self._address(node, servers)
            if address is None:
                failed[node.id] = self._no_address(node, servers)
            else:
                found.append(Member(node.id, node.name or node.id, address, self.port))
        repeated = _duplicates(found)
        failed.update(
            {node_id: f'Node {first} has the same address' for node_id, first in repeated.items()}
        )
        return [member for member in found if member.node_id not in repeated], failed

    def _in_other_regions(self, nodes: Sequence[Node]) -> dict[str, str]:
        home = self.region or self.cloud.load_balancer_region
        return {
            node.id: f'The node is in region {region}, the load balancer in {home}'
            for node, region in zip(nodes, map(self.cloud.region_of, nodes), strict=True)
            if region and home and region != home
        }

    def _servers(self, nodes: Sequence[Node]) -> Mapping[str, ServerDetails]:
        """Ask Nova for the servers of the nodes whose addresses the request omits."""
        return self.cloud.servers_of([node for node in nodes if not _has_addresses(node)])

    def _address(self, node: Node, servers: Mapping[str, ServerDetails]) -> str | None:
        server = servers.get(node.physical_id or '')
        return address_of(node, server, self.subnet.network.name, self.subnet.ip_version)

    def _no_address(self, node: Node, servers: Mapping[str, ServerDetails]) -> str:
        if node.physical_id and node.physical_id not in servers and not _has_addresses(node):
            return f'The cloud has no server {text.shortened(node.physical_id)} (physical_id)'
        return (
            f'The node has no address of IP version {self.subnet.ip_version} on network '
            f'{self.subnet.network.name} of subnet {self.subnet.name}'
        )


def _duplicates(members: Sequence[Member]) -> dict[str, str]:
    """Return the nodes whose address an earlier node has: node id -> id of the earlier node."""
    first: dict[Key, str] = {}
    return {
        member.node_id: first[member.key]
        for member in members
        if first.setdefault(member.key, member.node_id) != member.node_id
    }


def _has_addresses(node: Node) -> bool:
    return bool(node.details and node.details.addresses)


def address_of(
    node: Node, server: ServerDetails | None, network: str, ip_version: int
) -> str | None:
    """Return the node's first address of this version on the named network, or None.

    :param server: Nova's view of the server, if it was looked up; the request takes precedence.
    :source: senlin/drivers/os/lbaas.py of Senlin 16
    """
    for details in (node.details, server):
        if details is not None and details.addresses:
            addresses = details.addresses.get(network, ())
            return next((one.addr for one in addresses if one.version == ip_version), None)
    return None


@dataclass(frozen=True, slots=True)
class LateLookup(WantedMembers):
    """Members as `AddressLookup` finds them; the subnet is looked up when they are needed."""

    state: State
    cluster: Cluster
    properties: LoadBalancingProperties

    @override
    def members(self, nodes: Sequence[Node]) -> tuple[list[Member], dict[str, str]]:
        return AddressLookup.of(self.state, self.cluster, self.properties).members(nodes)
