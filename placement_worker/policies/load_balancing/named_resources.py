"""Check that the cloud has the resources that the properties name."""

from collections.abc import Iterator

from placement_worker.cloud.ports import ApiError, Cloud, Kind, OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.errors import CloudUnavailable, InvalidInput, InvalidSpec
from placement_worker.octavia import load_balancers
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.base import PROPERTIES
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties

SETTINGS = OctaviaSettings(max_attempts=3)
"""The settings for validation: a user waits for the result, and no load balancer changes."""


def check(properties: LoadBalancingProperties, cloud: Cloud) -> None:
    """Check that subnets, network, load balancer with its parts, flavor and zone exist.

    :raises InvalidSpec: naming all that are missing, and the path of the first.
    :raises CloudUnavailable: Octavia does not respond.
    """
    try:
        missing = list(_missing(properties, cloud))
    except ApiError as exc:
        raise CloudUnavailable(cause(exc)) from exc
    if missing:
        wrong = ', '.join(f'no {path} `{name}`' for path, name in missing)
        raise InvalidSpec(f'The cloud has {wrong} - at `{PROPERTIES}.{missing[0][0]}`')


def _missing(properties: LoadBalancingProperties, cloud: Cloud) -> Iterator[tuple[str, str]]:
    """Return the path and the name of each property whose resource does not exist."""
    pool, vip = properties.pool, properties.vip
    budget = TimeBudget(properties.lb_status_timeout, SETTINGS.clock)
    updater = Updater(cloud.octavia(None), SETTINGS, budget, '')
    for path, name, kind in (
        ('pool.subnet', pool.subnet, 'subnet'),
        ('vip.subnet', vip.subnet, 'subnet'),
        ('vip.network', vip.network, 'network'),
    ):
        if name is not None and not _exists_in_neutron(cloud, kind, name):
            yield path, name
    if properties.loadbalancer and not _load_balancer_exists(updater, properties.loadbalancer):
        yield 'loadbalancer', properties.loadbalancer
    monitor = properties.health_monitor.id if properties.health_monitor else None
    parts: list[tuple[str, str | None, Kind]] = [
        ('pool.id', pool.id, 'pool'),
        ('health_monitor.id', monitor, 'healthmonitor'),
        ('flavor_id', properties.flavor_id, 'flavor'),
        ('availability_zone', properties.availability_zone, 'availability_zone'),
    ]
    for path, name, part in parts:
        if name is not None and load_balancers.find_object(updater, part, name) is None:
            yield path, name


def _exists_in_neutron(cloud: Cloud, kind: str, name: str) -> bool:
    """Return whether a subnet or network exists; of several the owner may see only one."""
    look_up = cloud.subnet if kind == 'subnet' else cloud.network
    try:
        return look_up(None, name) is not None
    except InvalidInput:
        return True


def _load_balancer_exists(updater: Updater, name: str) -> bool:
    """Return whether a load balancer exists; of several the owner may see only one."""
    try:
        return load_balancers.find_load_balancer(updater, name) is not None
    except InvalidInput:
        return True
