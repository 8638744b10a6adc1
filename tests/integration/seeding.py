"""The initial content of the test cloud: regions, users, roles, the catalog and networks."""

from collections.abc import Iterable, Mapping

from openstack.connection import Connection
from openstack.identity.v3.project import Project

from tests.integration.service import Service

PASSWORD = 'secret'
REGIONS = ('RegionOne', 'RegionTwo', 'RegionThree')
ZONES = {'RegionOne': ('az1', 'az2', 'az3'), 'RegionTwo': ('az1', 'az4')}
SERVICE_USERS = {
    'neutron': ('admin', 'service'),
    'nova': ('admin', 'service'),
    'octavia': ('admin', 'service'),
    'placement-worker': ('reader', 'service'),
}
PLAIN_USERS = ('demo', 'other')
PLAIN_ROLES = ('member', 'load-balancer_member')
SUBNETS = {
    'private': {'private-subnet-v6': 'fd00::/64', 'private-subnet': '10.0.0.0/16'},
    'other': {'other-subnet': '10.99.0.0/16'},
}


def fill_keystone(admin: Connection, services: Mapping[str, Service]) -> None:
    """Create regions, users, roles and the catalog."""
    identity = admin.identity
    for region in REGIONS[1:]:
        identity.create_region(id=region)
    identity.create_role(name='load-balancer_member')
    service = identity.create_project(name='service', domain_id='default')
    for name, roles in SERVICE_USERS.items():
        _add_user(admin, name, service, roles)
    for name in PLAIN_USERS:
        _add_user(admin, name, identity.create_project(name=name, domain_id='default'), PLAIN_ROLES)
    _fill_catalog(admin, services)


def _add_user(admin: Connection, name: str, project: Project, roles: Iterable[str]) -> None:
    identity = admin.identity
    user = identity.create_user(
        name=name, password=PASSWORD, domain_id='default', default_project_id=project.id
    )
    for role in roles:
        identity.assign_project_role_to_user(
            project, user, identity.find_role(role, ignore_missing=False)
        )


def _fill_catalog(admin: Connection, services: Mapping[str, Service]) -> None:
    """Add Keystone in all regions, Nova in the first two, Neutron and Octavia in the first."""
    identity = admin.identity
    keystone = identity.find_service('keystone', ignore_missing=False)
    nova = identity.create_service(name='nova', type='compute')
    neutron = identity.create_service(name='neutron', type='network')
    octavia = identity.create_service(name='octavia', type='load-balancer')
    endpoints = [
        *((keystone, region, f'{services["keystone"].url}/v3') for region in REGIONS[1:]),
        (nova, 'RegionOne', f'{services["nova-one"].url}/v2.1'),
        (nova, 'RegionTwo', f'{services["nova-two"].url}/v2.1'),
        (neutron, 'RegionOne', services['neutron'].url),
        (octavia, 'RegionOne', services['octavia'].url),
    ]
    for service, region, url in endpoints:
        for interface in 'public', 'internal':
            identity.create_endpoint(
                service_id=service.id, interface=interface, region_id=region, url=url
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
