"""The addresses of nodes in the subnet of a pool, by which their members are found and added.

The request may show them; otherwise Nova is asked once for all nodes. A network may have several
subnets, and Nova lists fixed addresses together with floating ones, which the load balancer may be
unable to reach. A node without an address cannot be a member, and its failure says which of
network, server or region is to blame.
"""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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


Locate = Callable[[Sequence[Node]], Located]


@dataclass
class AddressLookup:
    cloud: Snapshot
    pool: Pool
    # Not functools.cached_property, as in Snapshot: one silent Neutron would block all checks.
    _subnet: Subnet | None = field(init=False, default=None)

    @property
    def subnet(self) -> Subnet:
        if self._subnet is None:
            self._subnet = self.cloud.subnet(self.pool.subnet)
        if self._subnet is None:
            raise InvalidInput(
                f'Subnet {self.pool.subnet} of `pool.subnet` does not exist in the cloud.'
            )
        return self._subnet

    def locate(self, nodes: Sequence[Node]) -> Located:
        failed = self._in_other_regions(nodes)
        here = [node for node in nodes if node.id not in failed]
        servers = self.cloud.servers_of([node for node in here if not _has_addresses(node)])
        members, repeated, warnings = [], {}, []
        first: dict[Key, str] = {}
        for node in here:
            fixed = self._fixed_addresses(node, servers.get(node.physical_id or ''))
            if not fixed:
                failed[node.id] = self._no_address(node, servers)
                continue
            inside = [address for address in fixed if self._is_inside(address)]
            address = (inside or fixed)[0]
            if not inside:
                warnings.append(
                    f'Node {shortened(node.id)} has no address in subnet {self.subnet.name} '
                    f'({self.subnet.cidr}), so its member has address {address}'
                )
            member = Member(node.id, node.name or node.id, address, self.pool.protocol_port)
            if first.setdefault(member.key, node.id) == node.id:
                members.append(member)
            else:
                repeated[node.id] = f'Node {first[member.key]} has the same address'
        return Located(members, failed | repeated, warnings)

    def _fixed_addresses(self, node: Node, server: ServerDetails | None) -> list[str]:
        """Return the node's addresses on the network with the IP version of the subnet.

        Those in the request take precedence.
        """
        details = node.details if _has_addresses(node) else server
        addresses = (details and details.addresses) or {}
        return [
            address.addr
            for address in addresses.get(self.subnet.network.name, ())
            if address.version == self.subnet.ip_version and address.type != 'floating'
        ]

    def _is_inside(self, address: str) -> bool:
        """Return whether the subnet has an address; the range of the subnet may be unknown."""
        if self.subnet.cidr is None:
            return True
        try:
            return ipaddress.ip_address(address) in ipaddress.ip_network(
                self.subnet.cidr, strict=False
            )
        except ValueError:
            return False

    def _in_other_regions(self, nodes: Sequence[Node]) -> dict[str, str]:
        home = self.cloud.load_balancer_region
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


def _has_addresses(node: Node) -> bool:
    return bool(node.details and node.details.addresses)
