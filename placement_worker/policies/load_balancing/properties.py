"""The properties of the load-balancing policy: a load balancer, its pool, and its members.

Specs that Senlin stored have to stay valid, so every value that Senlin accepts is accepted here.
Values that only Octavia refuses are refused before a load balancer is created (`refusals`).

:source: senlin/policies/lb_policy.py of Senlin 16; the values are those of
    https://docs.openstack.org/api-ref/load-balancer/v2/
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from placement_worker.cloud import spec_rules
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.formats.text import shortened
from placement_worker.policies.base import older_version

STATUS_TIMEOUT_S = 300
NO_TLS = (
    'A listener of protocol TERMINATED_HTTPS needs a TLS container, which the policy does not '
    'create: use an existing load balancer (`loadbalancer` and `pool.id`)'
)
# The longest plausible delay. Octavia takes seconds, but Senlin documents milliseconds.
_LONGEST_DELAY_S = 600
# The largest integer in Octavia's database.
_LARGEST = 2**31 - 1
# A percentage, or a number as a string, which Senlin accepts for any number.
_NUMBER_OR_PERCENTAGE = r'^([0-9]{1,9}|(100|[0-9]{1,2}(\.[0-9]{1,9})?) ?%)$'
Port = Annotated[int, Meta(ge=1, le=65535)]
Text = Annotated[str, Meta(min_length=1)]
Natural = Annotated[int, Meta(ge=0, le=_LARGEST)]
Percentage = Annotated[str, Meta(extra_json_schema={'pattern': _NUMBER_OR_PERCENTAGE})]
PoolProtocol = Literal['HTTP', 'HTTPS', 'TCP', 'PROXY', 'PROXYV2', 'UDP', 'SCTP']
ListenerProtocol = Literal['HTTP', 'HTTPS', 'TCP', 'TERMINATED_HTTPS', 'UDP', 'SCTP', 'PROMETHEUS']
Algorithm = Literal['ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP', 'SOURCE_IP_PORT']
MonitorType = Literal['PING', 'TCP', 'HTTP', 'HTTPS', 'TLS-HELLO', 'UDP-CONNECT', 'SCTP']
HttpMethod = Literal['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE']


class SessionPersistence(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule that sends all requests of one client to the same member."""

    type: Annotated[
        Literal['SOURCE_IP', 'HTTP_COOKIE', 'APP_COOKIE', 'NONE'],
        Meta(description='Type of persistence; NONE disables it.'),
    ] = 'NONE'
    cookie_name: Annotated[
        Text | None, Meta(description='Name of the cookie for APP_COOKIE; ignored for other types.')
    ] = None

    def __post_init__(self) -> None:
        if self.type == 'APP_COOKIE' and self.cookie_name is None:
            raise ValueError('Expected `cookie_name` with type `APP_COOKIE`, got none')


class Pool(Struct, frozen=True, forbid_unknown_fields=True):
    """The pool whose members are the nodes of the cluster."""

    subnet: Annotated[Text, Meta(description='Name or ID of the subnet of the nodes.')]
    protocol: Annotated[PoolProtocol, Meta(description='Protocol used for load balancing.')] = (
        'HTTP'
    )
    protocol_port: Annotated[Port, Meta(description='Port of the service on the nodes.')] = 80
    lb_method: Annotated[Algorithm, Meta(description='Load balancing algorithm.')] = 'ROUND_ROBIN'
    admin_state_up: Annotated[bool, Meta(description='Administrative state of the pool.')] = True
    session_persistence: Annotated[
        SessionPersistence, Meta(description='Session persistence configuration.')
    ] = SessionPersistence()
    id: Annotated[Text | None, Meta(description='ID of an existing pool, with `loadbalancer`.')] = (
        None
    )


class Vip(Struct, frozen=True, forbid_unknown_fields=True):
    """The virtual IP address of the service."""

    subnet: Annotated[Text | None, Meta(description='Name or ID of the subnet of the address.')] = (
        None
    )
    network: Annotated[
        Text | None, Meta(description='Name or ID of the network of the address. New in 1.2.')
    ] = None
    address: Annotated[
        Text | None, Meta(description='IP address; Octavia allocates one if it is omitted.')
    ] = None
    connection_limit: Annotated[
        int,
        Meta(ge=-1, le=_LARGEST, description='Maximum number of connections; -1 means no limit.'),
    ] = -1
    protocol: Annotated[ListenerProtocol, Meta(description='Protocol used for the VIP.')] = 'HTTP'
    protocol_port: Annotated[Port, Meta(description='Port to listen on.')] = 80
    admin_state_up: Annotated[bool, Meta(description='Administrative state of the VIP.')] = True


class HealthMonitor(Struct, frozen=True, forbid_unknown_fields=True):
    """The probes of members; Octavia takes delay and timeout in seconds."""

    type: Annotated[MonitorType, Meta(description='Type of probe.')] = 'PING'
    delay: Annotated[int, Meta(ge=0, le=_LARGEST, description='Seconds between probes.')] = 10
    timeout: Annotated[
        int,
        Meta(
            ge=0, le=_LARGEST, description='Seconds to wait for a response; use less than `delay`.'
        ),
    ] = 5
    max_retries: Annotated[
        int,
        Meta(ge=1, le=10, description='Number of failures after which a member gets no requests.'),
    ] = 3
    admin_state_up: Annotated[
        bool, Meta(description='Administrative state of the health monitor.')
    ] = True
    http_method: Annotated[
        HttpMethod | None,
        Meta(description='HTTP method of the probe for HTTP and HTTPS; ignored for other types.'),
    ] = None
    url_path: Annotated[
        Text | None,
        Meta(description='Path of the probe for HTTP and HTTPS; ignored for other types.'),
    ] = None
    expected_codes: Annotated[
        Text | None, Meta(description='HTTP codes of a successful probe, e.g. 200,202 or 200-204.')
    ] = None
    id: Annotated[Text | None, Meta(description='ID of an existing health monitor.')] = None

    def __post_init__(self) -> None:
        if self.probes_http and self.url_path is not None and not self.url_path.startswith('/'):
            raise ValueError(
                f'Expected a `url_path` that begins with `/`, got `{shortened(self.url_path)}`'
            )

    @property
    def probes_http(self) -> bool:
        """Whether Octavia accepts the options of HTTP for this type."""
        return self.type in ('HTTP', 'HTTPS')


class LoadBalancingProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.loadbalance. Senlin accepts all of its own in each version."""

    # Whether the nodes that leave the pool get a grace period.
    drains: ClassVar[bool] = True

    pool: Annotated[Pool, Meta(description='Pool whose members are the nodes.')]
    vip: Annotated[Vip, Meta(description='Virtual IP address of the load balancer.')] = Vip()
    health_monitor: Annotated[
        HealthMonitor | None, Meta(description='Health monitor of the pool.')
    ] = None
    lb_status_timeout: Annotated[
        int,
        Meta(ge=1, le=86400, description='Time limit in seconds for all changes of one operation.'),
    ] = STATUS_TIMEOUT_S
    loadbalancer: Annotated[
        Text | None, Meta(description='Name or ID of an existing load balancer, with `pool.id`.')
    ] = None
    availability_zone: Annotated[
        Text | None, Meta(description='Availability zone of the load balancer. New in 1.2.')
    ] = None
    flavor_id: Annotated[
        Text | None, Meta(description='ID of the flavor of the load balancer. New in 1.3.')
    ] = None
    min_online: Annotated[
        Natural | Percentage | None,
        Meta(
            description='Number or percentage of pool members that stay online while nodes leave '
            'the pool, e.g. 2 or 75%. New in 1.4.'
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.loadbalancer is not None and self.pool.id is None:
            raise ValueError('Expected `pool.id` with `loadbalancer`, got none')
        if self.loadbalancer is None and self.vip.subnet is None and self.vip.network is None:
            raise ValueError('Expected `vip.subnet` or `vip.network`, got neither')
        floor = self.min_online
        if isinstance(floor, str) and not re.fullmatch(_NUMBER_OR_PERCENTAGE, floor):
            raise ValueError(
                'Expected a `min_online` such as `2` or `75%`, up to `100%`, '
                f'got `{shortened(floor)}`'
            )

    def refusals(self) -> Iterator[tuple[str, str]]:
        """Yield path and reason of each value with which no load balancer can be created.

        Checks and detachments must not depend on it: a spec that Senlin stored stays usable.
        """
        if self.loadbalancer is not None:
            return
        pool, vip, monitor = self.pool.protocol, self.vip, self.health_monitor
        refusal: str | None = NO_TLS
        if vip.protocol != 'TERMINATED_HTTPS':
            refusal = spec_rules.pool_refusal(vip.protocol, pool)
        reasons = {'vip.protocol': refusal}
        if vip.address is not None:
            reasons['vip.address'] = spec_rules.address_refusal(vip.address)
        if monitor:
            reasons['health_monitor.type'] = spec_rules.monitor_refusal(pool, monitor.type)
        if monitor and monitor.probes_http and monitor.expected_codes:
            codes = spec_rules.codes_refusal(monitor.expected_codes)
            reasons['health_monitor.expected_codes'] = codes
        yield from ((path, reason) for path, reason in reasons.items() if reason)

    def doubtful_values(self) -> list[str]:
        monitor = self.health_monitor
        if monitor is None or monitor.delay <= _LONGEST_DELAY_S:
            return []
        return [
            f'The health monitor has a delay of {monitor.delay} s and a timeout of '
            f'{monitor.timeout} s; Octavia expects seconds, so check that the values are not in '
            'milliseconds.'
        ]


_UNTIL_1_3 = older_version(LoadBalancingProperties, {'min_online': None, 'drains': False})
VERSIONS: Mapping[str, type[LoadBalancingProperties]] = {
    **dict.fromkeys(('1.0', '1.1', '1.2', '1.3'), _UNTIL_1_3),
    '1.4': LoadBalancingProperties,
}


def properties_type(type_name: str) -> type[LoadBalancingProperties] | None:
    """Return the properties of a version of this type; None for other types and versions."""
    name, _, version = type_name.rpartition('-')
    return VERSIONS.get(version) if name == LOAD_BALANCING else None
