"""The computes of a Nova, their zones and their capacity."""

from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openstack.compute.v2.service import Service as ComputeService
from openstack.connection import Connection

from tests.integration.service import Service
from tests.waiting import wait_for

START_S = 300
POLL_S = 1
# The image of all servers.
IMAGE = 'cirros-0.4.0-x86_64-disk'
# The version of Placement in which a whole inventory can be reserved. :source:
# https://docs.openstack.org/placement/latest/placement-api-microversion-history.html
VERSION = '1.26'
PROCESSORS = 'inventories/VCPU'
OK = 200
# The fault of a server for which Nova finds no compute.
NO_HOST = 'No valid host was found'
DATABASES = ('api_database', 'database')


def configure(nova: Path, file: Path) -> None:
    """Write the configuration of a compute: that of its Nova without the databases.

    A compute reports its resources when it starts, and not every minute again, for which it asks
    Placement about each of its servers.

    A compute with `[api_database]` compares the versions of all cells when it starts, in a thread
    per cell. It does not start if they copy the options of the database at the same time:
    RuntimeError in `_get_db_conf` (nova/db/main/api.py of Nova 34).
    """
    options = ConfigParser(interpolation=None)
    options.read_string(nova.read_text())
    for section in DATABASES:
        options.remove_section(section)
    options['DEFAULT']['update_resources_interval'] = '-1'
    with file.open('w') as opened:
        options.write(opened)


def add_to_zones(admin: Connection, nova: Service, zones: Mapping[str, str]) -> None:
    """Add a flavor, and each compute to its zone when it has reported to Nova and Placement.

    :param zones: the zone of each compute.
    """
    admin.compute.create_flavor(name='m1.tiny', id='1', ram=64, vcpus=1, disk=1)
    wait_for(lambda: set(nova.control('discover_hosts')) == set(zones), START_S, POLL_S)
    for zone in sorted(set(zones.values())):
        aggregate = admin.compute.create_aggregate(name=zone, availability_zone=zone)
        for host in (host for host, its in zones.items() if its == zone):
            wait_for(lambda host=host: _is_complete(admin, host), START_S, POLL_S)
            admin.compute.add_host_to_aggregate(aggregate, host)
            wait_for(lambda host=host, to=aggregate: _is_mirrored(admin, host, to), START_S)


@contextmanager
def full(admin: Connection, hosts: Iterable[str]) -> Iterator[None]:
    """Leave no room for new servers on some computes during a block.

    Nova then finds no valid host, while the zones of the computes stay available.
    """
    before = {_provider_path(admin, host): _processors(admin, host) for host in hosts}
    try:
        for path, found in before.items():
            _reserve(admin, path, found['total'])
        yield
    finally:
        for path, found in before.items():
            _reserve(admin, path, found['reserved'])


@contextmanager
def down(admin: Connection, hosts: Iterable[str]) -> Iterator[None]:
    """Let Nova know some computes as down during a block, as after a fencing.

    Nova then finds no valid host, while the zones of the computes stay available.
    """
    services = [_service(admin, host) for host in hosts]
    for service in services:
        admin.compute.update_service_forced_down(service, forced=True)
    try:
        yield
    finally:
        for service in services:
            admin.compute.update_service_forced_down(service, forced=False)


@contextmanager
def disabled(admin: Connection, hosts: Iterable[str]) -> Iterator[None]:
    """Disable some computes during a block; a zone without an enabled one is unavailable."""
    services = [_service(admin, host) for host in hosts]
    for service in services:
        admin.compute.disable_service(service)
    try:
        yield
    finally:
        for service in services:
            admin.compute.enable_service(service)


def _service(admin: Connection, host: str) -> ComputeService:
    """Return the service of a compute, as Nova shows it."""
    (found,) = admin.compute.services(binary='nova-compute', host=host)
    return found


def _processors(admin: Connection, host: str) -> Any:
    """Return the inventory of processors of a compute."""
    return _get(admin, f'{_provider_path(admin, host)}/{PROCESSORS}')


def _reserve(admin: Connection, path: str, number: int) -> None:
    """Reserve some of the processors of a compute.

    A server that is created or deleted at the same time changes the generation of the provider,
    which Placement refuses as a conflict.
    """

    def is_reserved() -> bool:
        inventory = {**_get(admin, f'{path}/{PROCESSORS}'), 'reserved': number}
        response = admin.placement.put(f'{path}/{PROCESSORS}', json=inventory, microversion=VERSION)
        return bool(response.status_code == OK)

    wait_for(is_reserved)


def _is_complete(admin: Connection, host: str) -> bool:
    """Return whether Placement has the traits of a compute, which follow its inventory."""
    provider = _provider(admin, host)
    return bool(provider) and bool(_get(admin, f'{_path(provider)}/traits')['traits'])


def _is_mirrored(admin: Connection, host: str, aggregate: Any) -> bool:
    """Return whether Placement has a compute in an aggregate, and add it if not."""
    path = f'{_provider_path(admin, host)}/aggregates'
    known = _get(admin, path)
    if aggregate.uuid in known['aggregates']:
        return True
    body = {**known, 'aggregates': [*known['aggregates'], aggregate.uuid]}
    admin.placement.put(path, json=body, microversion=VERSION)
    return False


def _provider(admin: Connection, host: str) -> Any:
    found = _get(admin, f'/resource_providers?name={host}')['resource_providers']
    return found[0] if found else None


def _provider_path(admin: Connection, host: str) -> str:
    return _path(_provider(admin, host))


def _path(provider: Any) -> str:
    return f'/resource_providers/{provider["uuid"]}'


def _get(admin: Connection, path: str) -> Any:
    return admin.placement.get(path, microversion=VERSION).json()
