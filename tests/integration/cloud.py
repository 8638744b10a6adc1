"""The test cloud: addresses, ids, sessions, trusts, servers and zones."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from openstack.connection import Connection
from typing_extensions import override

from tests.integration import layout, seeding
from tests.integration.deployment import Deployment
from tests.integration.service import Request

FIRST_ADDRESS = 256  # of servers; Neutron assigns the addresses below


@dataclass(frozen=True)
class Server:
    """A server in a Nova."""

    id: str
    name: str


class Cloud(Deployment):
    """Keystone, Neutron, Octavia, and one Nova in each of two regions."""

    networks: dict[str, str]  # name -> ID
    subnets: dict[str, str]

    def __init__(self) -> None:
        super().__init__(layout.integration())
        self.has_row_locks = 'octavia' in self.layout.in_mariadb
        self._serials = itertools.count(1)

    @override
    def fill(self) -> None:
        seeding.fill_keystone(self.connect('admin'), self.services, self.layout)
        self.networks, self.subnets = seeding.fill_neutron(self.connect('admin'))
        for region, zones in seeding.ZONES.items():
            self.nova(region).control('add_zones', zones=zones)
        self.services['octavia'].requests()

    def make_trust(self, user: str = 'demo', roles: Iterable[str] = seeding.PLAIN_ROLES) -> str:
        """Create a trust from a user to the service user in the user's project; return its id.

        :param roles: the names of the roles that the trust grants.
        """
        session, identity = self.session(user), self.connect('admin').identity
        trusted = identity.find_user(self.layout.trustee, ignore_missing=False)
        made = Connection(session=session).identity.create_trust(
            trustor_user_id=session.get_user_id(),
            trustee_user_id=trusted.id,
            project_id=session.get_project_id(),
            impersonation=True,
            roles=[{'name': name} for name in roles],
        )
        return str(made.id)

    def add_servers(self, count: int) -> list[Server]:
        """Create active servers of `demo`, spread over the zones of RegionOne.

        A server has one address per subnet of the network `private`.
        """
        zones, session = itertools.cycle(seeding.ZONES['RegionOne']), self.session('demo')
        made = [self._server(next(self._serials), next(zones)) for _ in range(count)]
        owner = {'project_id': session.get_project_id(), 'user_id': session.get_user_id()}
        ids = self.nova('RegionOne').control('add_servers', servers=made, **owner)
        return [Server(id_, server['name']) for id_, server in zip(ids, made, strict=True)]

    def _server(self, serial: int, zone: str) -> dict[str, Any]:
        addresses = [
            (cidr, str(ip_network(cidr)[FIRST_ADDRESS + serial]))
            for cidr in seeding.SUBNETS['private'].values()
        ]
        card = {'id': self.networks['private'], 'label': 'private', 'addresses': addresses}
        return {'name': f'web{serial}', 'zone': zone, 'networks': [card]}

    @contextmanager
    def lookups(self) -> Iterator[tuple[list[Request], list[Request]]]:
        """Provide the requests of the block to Keystone and to the Nova of RegionOne."""
        with self.services['keystone'].watch() as keystone, self.nova('RegionOne').watch() as nova:
            yield keystone, nova

    def url(self, service_type: str, region: str = 'RegionOne') -> str:
        """Return the URL of a service in the catalog."""
        session = self.session('admin')
        catalog = session.auth.get_access(session).service_catalog
        return str(catalog.url_for(service_type, interface='public', region_name=region))

    @contextmanager
    def redirected(self, service_type: str, region: str, url: str) -> Iterator[None]:
        """Change the public endpoint of a service during the block; services use internal ones."""
        identity = self.connect('admin').identity
        [service] = identity.services(type=service_type)
        [endpoint] = identity.endpoints(service_id=service.id, region_id=region, interface='public')
        before = endpoint.url
        identity.update_endpoint(endpoint.id, url=url)
        try:
            yield
        finally:
            identity.update_endpoint(endpoint.id, url=before)

    @contextmanager
    def zone_unavailable(self, zone: str, region: str = 'RegionOne') -> Iterator[None]:
        """Let Nova report a zone as unavailable during the block."""
        self.nova(region).control('set_zone', zone=zone, available=False)
        try:
            yield
        finally:
            self.nova(region).control('set_zone', zone=zone, available=True)
