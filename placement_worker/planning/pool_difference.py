"""Which address a node has in a pool, and what a pool holds of a cluster.

:source: spec.md 5; Senlin's drivers/os/lbaas.py for the address.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placement_worker.contract.model import Address, Node, ServerDetails

Key = tuple[str, int]
"""What Octavia tells the members of a pool apart by: address and protocol port."""


@dataclass(frozen=True, slots=True)
class Member:
    """A node as a member of a pool, as it is or as it should be."""

    node_id: str
    name: str
    address: str
    port: int

    @property
    def key(self) -> Key:
        """See `key`."""
        return key(self.address, self.port)


def key(address: str, port: int) -> Key:
    """The same for every way to write an address."""
    try:
        return str(ipaddress.ip_address(address)), port
    except ValueError:
        return address, port


def address_of(
    node: Node, server: ServerDetails | None, network: str, ip_version: int
) -> str | None:
    """The node's first address of this version on the network of this name; None if it has none.

    :param server: what Nova says, if it was asked; what the request says comes first.
    """
    for details in (node.details, server):
        if details is not None and details.addresses:
            return _first(details.addresses.get(network, ()), ip_version)
    return None


def by_key(members: Iterable[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """The members that Octavia shows, by address and port."""
    return {key(member['address'], member['protocol_port']): member for member in members}


def doubled(members: Sequence[Member]) -> dict[str, str]:
    """The nodes that cannot be members because an earlier one has their address: node id -> that
    one's id.
    """
    first: dict[Key, str] = {}
    return {
        member.node_id: first[member.key]
        for member in members
        if first.setdefault(member.key, member.node_id) != member.node_id
    }


def _first(addresses: Iterable[Address], ip_version: int) -> str | None:
    return next((address.addr for address in addresses if address.version == ip_version), None)
