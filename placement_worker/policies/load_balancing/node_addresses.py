"""The addresses of nodes in the network of a pool, by which their members are found and added.

The request may show them; otherwise Nova is asked once for all nodes. A node without an address
there cannot be a member, and its failure says which of network, server or region is to blame.

:source: senlin/drivers/os/lbaas.py of Senlin 16, for the choice among several addresses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from placement_worker.cloud.ports import Subnet
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import Node, ServerDetails
from placement_worker.errors import InvalidInput
from placement_worker.formats.text import shortened
from placement_worker.octavia.pools import Key, Member
from placement_worker.policies.load_balancing.properties import Pool


@dataclass(frozen=True, slots=True)
class Located:
    """The wanted members of nodes.

    :ivar failed: the causes for nodes without one: node id -> cause.
    """

    members: Sequence[Member] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()


MembersOf = Callable[[Sequence[Node]], Located]


@dataclass(frozen=True)
class AddressLookup:
    """The wanted members of nodes in a pool.

    :ivar region: that of the cluster's profile.
    """

    cloud: Snapshot
    region: str | None
    pool: Pool

    @cached_property
    def subnet(self) -> Subnet:
        """The subnet of the pool.

        :raises InvalidInput: the cloud has no such subnet.
        """
        subnet = self.cloud.subnet(self.region, self.pool.subnet)
        if subnet is None:
            raise InvalidInput(
                f'Subnet {self.pool.subnet} of `pool.subnet` does not exist in the cloud.'
            )
        return subnet

    def members(self, nodes: Sequence[Node]) -> Located:
        """Look up the members of nodes.

        Of two nodes with one address the later one fails.

        :raises Rejected: the cloud does not respond, or has no such subnet.
        """
        network, version = self.subnet.network.name, self.subnet.ip_version
        failed = self._in_other_regions(nodes)
        here = [node for node in nodes if node.id not in failed]
        servers = self.cloud.servers_of([node for node in here if not _has_addresses(node)])
        members, repeated = [], {}
        first: dict[Key, str] = {}
        for node in here:
            address = _address(node, servers.get(node.physical_id or ''), network, version)
            if address is None:
                failed[node.id] = self._no_address(node, servers)
                continue
            member = Member(node.id, node.name or node.id, address, self.pool.protocol_port)
            if first.setdefault(member.key, node.id) == node.id:
                members.append(member)
            else:
                repeated[node.id] = f'Node {first[member.key]} has the same address'
        return Located(members, failed | repeated)

    def _in_other_regions(self, nodes: Sequence[Node]) -> dict[str, str]:
        home = self.region or self.cloud.load_balancer_region
        return {
            node.id: f'The node is in region {region}, the load balancer in {home}'
            for node, region in zip(nodes, map(self.cloud.region_of, nodes), strict=True)
            if region and home and region != home
        }

    def _no_address(self, node: Node, servers: Mapping[str, ServerDetails]) -> str:
        if node.physical_id and node.physical_id not in servers and not _has_addresses(node):
            return f'The cloud has no server {shortened(node.physical_id)} (physical_id)'
        return (
            f'The node has no address of IP version {self.subnet.ip_version} on network '
            f'{self.subnet.network.name} of subnet {self.subnet.name}'
        )


def _address(node: Node, server: ServerDetails | None, network: str, ip_version: int) -> str | None:
    """Return the node's first address of this version on the network; the request comes first."""
    details = node.details if _has_addresses(node) else server
    addresses = (details and details.addresses) or {}
    on_network = addresses.get(network, ())
    return next((one.addr for one in on_network if one.version == ip_version), None)


def _has_addresses(node: Node) -> bool:
    return bool(node.details and node.details.addresses)
