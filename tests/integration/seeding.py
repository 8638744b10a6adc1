"""The initial content of the test cloud: regions, users, roles, the catalog and networks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from openstack.connection import Connection
from openstack.identity.v3.project import Project

from tests.integration.layout import Endpoint, Layout

PASSWORD = 'secret'
FIRST_REGION = 'RegionOne'  # created with Keystone
ZONES = {'RegionOne': ('az1', 'az2', 'az3'), 'RegionTwo': ('az1', 'az4')}
PLAIN_USERS = ('demo', 'other')
PLAIN_ROLES = ('member', 'load-balancer_member')
SUBNETS = {'private': {'private-subnet-v6': 'fd00::/64', 'private-subnet': '10.0.0.0/16'}}


class HasUrl(Protocol):
    """A service, or a proxy before it."""

    @property
    def url(self) -> str: ...


def fill_keystone(admin: Connection, services: Mapping[str, HasUrl], layout: Layout) -> None:
    """Create regions, users, roles and the catalog."""
    identity = admin.identity
    for region in sorted({endpoint.region for endpoint in layout.catalog} - {FIRST_REGION}):
        identity.create_region(id=region)
    identity.create_role(name='load-balancer_member')
    service = identity.create_project(name='service', domain_id='default')
    for name, roles in layout.service_users.items():
        _add_user(admin, name, service, roles)
    for name in PLAIN_USERS:
        _add_user(admin, name, identity.create_project(name=name, domain_id='default'), PLAIN_ROLES)
    _fill_catalog(admin, services, layout.catalog)


def _add_user(admin: Connection, name: str, project: Project, roles: Iterable[str]) -> None:
    identity = admin.identity
    user = identity.create_user(
        name=name, password=PASSWORD, domain_id='default', default_project_id=project.id
    )
    for role in roles:
        identity.assign_project_role_to_user(
            project, user, identity.find_role(role, ignore_missing=False)
        )


def _fill_catalog(
    admin: Connection, services: Mapping[str, HasUrl], catalog: Sequence[Endpoint]
) -> None:
    identity = admin.identity
    ids = {service.type: service.id for service in identity.services()}
    for endpoint in catalog:
        if endpoint.type not in ids:
            ids[endpoint.type] = identity.create_service(
                name=endpoint.service, type=endpoint.type
            ).id
        for interface in 'public', 'internal':
            identity.create_endpoint(
                service_id=ids[endpoint.type],
                interface=interface,
                region_id=endpoint.region,
                url=services[endpoint.service].url + endpoint.path,
            )


def fill_neutron(admin: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """Create shared networks with their subnets; return the ids of both by name."""
    networks, subnets = {}, {}
    for name, cidrs in SUBNETS.items():
        networks[name] = admin.network.create_network(name=name, shared=True).id
        for subnet, cidr in cidrs.items():
            version = 6 if ':' in cidr else 4
            made = admin.network.create_subnet(
                name=subnet, network_id=networks[name], ip_version=version, cidr=cidr
            )
            subnets[subnet] = made.id
    return networks, subnets
