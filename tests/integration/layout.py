"""The services of a test cloud, and what distinguishes one cloud from another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.integration import mariadb

NOVAS = {'RegionOne': 'nova-one', 'RegionTwo': 'nova-two'}
SERVICE_ROLES = ('admin', 'service')


class Endpoint(NamedTuple):
    """An entry of the catalog; the path follows the URL of the service."""

    type: str
    region: str
    service: str
    path: str = ''


@dataclass(frozen=True)
class Layout:
    """The services of a test cloud."""

    kinds: Mapping[str, str]
    """The kind of each service by its name; services/KIND_service.py serves etc/KIND.conf."""
    catalog: Sequence[Endpoint]
    """The endpoints, without that of Keystone in its first region."""
    service_users: Mapping[str, Sequence[str]]
    """The roles of the users in the project `service` by name."""
    trustee: str
    """The service user to which plain users give trusts."""
    in_mariadb: Sequence[str] = ()
    """The databases in MariaDB; the others are sqlite files."""
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """More variables of the services' templates by service."""


def integration() -> Layout:
    """Return the cloud of the integration tests, without computes and a broker.

    Nova is in two of three regions; Neutron and Octavia are in the first.
    """
    names = ('keystone', 'neutron', 'octavia')
    nova = {'region': 'RegionOne', 'transport_url': 'fake://'}
    return Layout(
        kinds={**{name: name for name in names}, **dict.fromkeys(NOVAS.values(), 'nova')},
        catalog=[
            Endpoint('identity', 'RegionTwo', 'keystone', '/v3'),
            Endpoint('identity', 'RegionThree', 'keystone', '/v3'),
            *(Endpoint('compute', region, nova, '/v2.1') for region, nova in NOVAS.items()),
            Endpoint('network', 'RegionOne', 'neutron'),
            Endpoint('load-balancer', 'RegionOne', 'octavia'),
        ],
        service_users={
            **dict.fromkeys(('neutron', 'nova', 'octavia'), SERVICE_ROLES),
            'placement-worker': ('reader', 'service'),
        },
        trustee='placement-worker',
        in_mariadb=['octavia'] if mariadb.chosen() else [],
        variables=dict.fromkeys(NOVAS.values(), nova),
    )
