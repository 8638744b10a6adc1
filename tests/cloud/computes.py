"""The computes of a Nova, their zones and their capacity."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from configparser import ConfigParser
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

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
    for section in ('api_database', 'database'):
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
    paths = [_provider_path(admin, host) for host in hosts]
    before = {path: _get(admin, f'{path}/{PROCESSORS}') for path in paths}
    try:
        for path, found in before.items():
            _reserve(admin, path, found['total'])
        yield
    finally:
        for path, found in before.items():
            _reserve(admin, path, found['reserved'])


def down(admin: Connection, hosts: Iterable[str]) -> AbstractContextManager[None]:
    """Let Nova know some computes as down during a block, as after a fencing.

    Nova then finds no valid host, while the zones of the computes stay available. The fake driver
    of Nova refuses to start again after a kill.
    """
    force = admin.compute.update_service_forced_down
    return _switched(admin, hosts, partial(force, forced=True), partial(force, forced=False))


def disabled(admin: Connection, hosts: Iterable[str]) -> AbstractContextManager[None]:
    """Disable some computes during a block; a zone without an enabled one is unavailable."""
    return _switched(admin, hosts, admin.compute.disable_service, admin.compute.enable_service)


@contextmanager
def _switched(
    admin: Connection, hosts: Iterable[str], off: Callable[..., Any], on: Callable[..., Any]
) -> Iterator[None]:
    services = [
        service
        for host in hosts
        for service in admin.compute.services(binary='nova-compute', host=host)
    ]
    for service in services:
        off(service)
    try:
        yield
    finally:
        for service in services:
            on(service)


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
    path = _provider_path(admin, host)
    return bool(path and _get(admin, f'{path}/traits')['traits'])


def _is_mirrored(admin: Connection, host: str, aggregate: Any) -> bool:
    """Return whether Placement has a compute in an aggregate, and add it if not."""
    path = f'{_provider_path(admin, host)}/aggregates'
    known = _get(admin, path)
    if aggregate.uuid in known['aggregates']:
        return True
    body = {**known, 'aggregates': [*known['aggregates'], aggregate.uuid]}
    admin.placement.put(path, json=body, microversion=VERSION)
    return False


def _provider_path(admin: Connection, host: str) -> str | None:
    found = _get(admin, f'/resource_providers?name={host}')['resource_providers']
    return f'/resource_providers/{found[0]["uuid"]}' if found else None


def _get(admin: Connection, path: str) -> Any:
    return admin.placement.get(path, microversion=VERSION).json()
