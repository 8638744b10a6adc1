"""The addresses of simulated nodes on the networks of the cloud."""

import ipaddress
from collections import deque
from itertools import islice

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Address, ServerDetails

DEFAULT_CIDR = {4: '10.0.0.0/8', 6: 'fd00::/64'}
RESERVED = 10  # the first addresses of a subnet: gateway, DHCP, load balancers


class Addresses:
    """The free addresses of each subnet; a new node gets one on each network."""

    def __init__(self, inventory: Inventory) -> None:
        self._subnets = {
            subnet.network: _Subnet(subnet.cidr or DEFAULT_CIDR[subnet.ip_version])
            for subnet in inventory.subnets.values()
        }

    def take(self) -> ServerDetails | None:
        """Return the addresses of a new node, or None if the cloud has no subnet."""
        taken = {network: subnet.take() for network, subnet in self._subnets.items()}
        return ServerDetails(addresses=taken) if taken else None

    def give_back(self, details: ServerDetails | None) -> None:
        """Take back the addresses of a deleted node."""
        for network, addresses in (details.addresses if details else {}).items():
            self._subnets[network].released.extend(addresses)


class _Subnet:
    """Released addresses are used again only when the subnet has no other ones."""

    def __init__(self, cidr: str) -> None:
        self._unused = islice(ipaddress.ip_network(cidr).hosts(), RESERVED, None)
        self.released: deque[Address] = deque()

    def take(self) -> list[Address]:
        """Return one free address, or none."""
        unused = next(self._unused, None)
        if unused is not None:
            return [Address(str(unused), unused.version)]
        return [self.released.popleft()] if self.released else []
