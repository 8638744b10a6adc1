"""The load balancer that the properties of a policy describe."""

from typing import Any

import msgspec

from placement_worker.contract.model import BindRequest
from placement_worker.errors import InvalidInput
from placement_worker.octavia.load_balancers import Layout
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.properties import (
    HealthMonitor,
    LoadBalancingProperties,
    SessionPersistence,
)

NAME_LENGTH = 255
"""The longest name that Octavia accepts."""


def layout_of(properties: LoadBalancingProperties, request: BindRequest, state: State) -> Layout:
    """Return the load balancer to create, with its parts.

    :raises InvalidInput: the cloud has no such subnet or network for the VIP.
    """
    cluster, vip = request.cluster, properties.vip
    monitor = properties.health_monitor
    return Layout(
        name=f'placement-worker-{cluster.name or cluster.id}'[:NAME_LENGTH],
        load_balancer={
            **_vip_location(properties, request, state),
            'vip_address': vip.address,
            'admin_state_up': vip.admin_state_up,
            'availability_zone': properties.availability_zone,
            'flavor_id': properties.flavor_id,
        },
        listener={
            'protocol': vip.protocol,
            'protocol_port': vip.protocol_port,
            'connection_limit': vip.connection_limit,
            'admin_state_up': vip.admin_state_up,
        },
        pool=_pool(properties),
        monitor=_monitor(monitor) if monitor else None,
    )


def _vip_location(
    properties: LoadBalancingProperties, request: BindRequest, state: State
) -> dict[str, str]:
    region, vip = request.cluster.profile.region, properties.vip
    found: dict[str, str] = {}
    for key, name, look_up in (
        ('vip_subnet_id', vip.subnet, state.cloud.subnet),
        ('vip_network_id', vip.network, state.cloud.network),
    ):
        if name is not None:
            location = look_up(region, name)
            if location is None:
                kind = key[4:-3]
                raise InvalidInput(
                    f'{kind.capitalize()} {name} of `vip.{kind}` does not exist in the cloud.'
                )
            found[key] = location.id
    return found


def _pool(properties: LoadBalancingProperties) -> dict[str, Any]:
    pool = properties.pool
    return {
        'protocol': pool.protocol,
        'lb_algorithm': pool.lb_method,
        'admin_state_up': pool.admin_state_up,
        'session_persistence': _persistence(pool.session_persistence),
    }


def _persistence(wanted: SessionPersistence) -> dict[str, Any] | None:
    """Return the session persistence; Octavia refuses a cookie name with other types."""
    if wanted.type == 'NONE':
        return None
    cookie = {'cookie_name': wanted.cookie_name} if wanted.type == 'APP_COOKIE' else {}
    return {'type': wanted.type, **cookie}


def _monitor(wanted: HealthMonitor) -> dict[str, Any]:
    """Return the health monitor; Octavia refuses options of HTTP with other types."""
    dropped = ('id',) if wanted.probes_http else ('id', 'http_method', 'url_path', 'expected_codes')
    return {key: value for key, value in msgspec.to_builtins(wanted).items() if key not in dropped}
