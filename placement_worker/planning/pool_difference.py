"""Pool members of nodes: the address of a node in a pool, and the identity of a member.

:source: senlin/drivers/os/lbaas.py of Senlin 16, for the address.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placement_worker.contract.model import Address, Node, ServerDetails

Key = tuple[str, int]
"""The address and protocol port of a member, which Octavia keeps unique within a pool."""


@dataclass(frozen=True, slots=True)
class Member:
    """A node as a member of a pool, present or wanted."""

    node_id: str
    name: str
    address: str
    port: int

    @property
    def key(self) -> Key:
        """The identity of the member within its pool."""
        return key(self.address, self.port)


def key(address: str, port: int) -> Key:
    """Return the identity of a member, the same for all notations of its address."""
    try:
        return str(ipaddress.ip_address(address)), port
    except ValueError:
        return address, port


def address_of(
    node: Node, server: ServerDetails | None, network: str, ip_version: int
) -> str | None:
    """Return the node's first address of this version on the named network, or None.

    :param server: Nova's view of the server, if it was looked up; the request takes precedence.
    """
    for details in (node.details, server):
        if details is not None and details.addresses:
            return _first(details.addresses.get(network, ()), ip_version)
    return None


def by_key(members: Iterable[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """Return members as Octavia shows them, by address and port."""
    return {key(member['address'], member['protocol_port']): member for member in members}


def duplicates(members: Sequence[Member]) -> dict[str, str]:
    """Return the nodes whose address an earlier node has: node id -> id of the earlier node."""
    first: dict[Key, str] = {}
    return {
        member.node_id: first[member.key]
        for member in members
        if first.setdefault(member.key, member.node_id) != member.node_id
    }


def _first(addresses: Iterable[Address], ip_version: int) -> str | None:
    return next((address.addr for address in addresses if address.version == ip_version), None)
