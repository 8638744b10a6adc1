"""The services of a test cloud, and what distinguishes one cloud from another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.integration import mariadb

NOVAS = {'RegionOne': 'nova-one', 'RegionTwo': 'nova-two'}


@dataclass(frozen=True)
class Layout:
    """The services of a test cloud."""

    kinds: Mapping[str, str]
    """The kind of each service by its name; services/KIND_service.py serves etc/KIND.conf."""
    in_mariadb: Sequence[str] = ()
    """The databases in MariaDB; the others are sqlite files."""
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """More variables of the services' templates by service."""


def integration() -> Layout:
    """Return the cloud of the integration tests, without computes and a broker."""
    names = ('keystone', 'neutron', 'octavia')
    nova = {'region': 'RegionOne', 'transport_url': 'fake://'}
    return Layout(
        {**{name: name for name in names}, **dict.fromkeys(NOVAS.values(), 'nova')},
        in_mariadb=['octavia'] if mariadb.chosen() else [],
        variables=dict.fromkeys(NOVAS.values(), nova),
    )
