"""The properties of the load-balancing policy.

:source: seed 003; Senlin's policies/lb_policy.py; Octavia's API reference for the values of today.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Port = Annotated[int, Meta(ge=1, le=65535)]
Text = Annotated[str, Meta(min_length=1)]
Path = Annotated[str, Meta(pattern='^/')]
PoolProtocol = Literal['HTTP', 'HTTPS', 'TCP', 'PROXY', 'PROXYV2', 'UDP', 'SCTP']
ListenerProtocol = Literal['HTTP', 'HTTPS', 'TCP', 'TERMINATED_HTTPS', 'UDP', 'SCTP', 'PROMETHEUS']
Algorithm = Literal['ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP', 'SOURCE_IP_PORT']
MonitorType = Literal['PING', 'TCP', 'HTTP', 'HTTPS', 'TLS-HELLO', 'UDP-CONNECT', 'SCTP']
HttpMethod = Literal['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE']


class SessionPersistence(Struct, frozen=True, forbid_unknown_fields=True):
    """How requests of one client keep going to one member."""

    type: Annotated[
        Literal['SOURCE_IP', 'HTTP_COOKIE', 'APP_COOKIE', 'NONE'], Meta(description='NONE: they do not.')
    ] = 'NONE'
    cookie_name: Annotated[Text | None, Meta(description='Name of the cookie, for APP_COOKIE.')] = None

    def __post_init__(self) -> None:
        if (self.type == 'APP_COOKIE') != (self.cookie_name is not None):
            raise ValueError('Expected `cookie_name` with type `APP_COOKIE`, and with no other')


class Pool(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the nodes of the cluster are members."""

    subnet: Annotated[Text, Meta(description='Name or ID of the subnet on which nodes are connected.')]
    protocol: Annotated[PoolProtocol, Meta(description='Protocol used for load balancing.')] = 'HTTP'
    protocol_port: Annotated[Port, Meta(description='Port on which servers are running on the nodes.')] = 80
    lb_method: Annotated[Algorithm, Meta(description='Load balancing algorithm.')] = 'ROUND_ROBIN'
    admin_state_up: Annotated[bool, Meta(description='Administrative state of the pool.')] = True
    session_persistence: Annotated[SessionPersistence, Meta(description='Session persistence configuration.')] = (
        SessionPersistence()
    )
    id: Annotated[Text | None, Meta(description='ID of a pool that is there already, with `loadbalancer`.')] = None


class Vip(Struct, frozen=True, forbid_unknown_fields=True):
    """The virtual IP address that users of the service see."""

    subnet: Annotated[Text | None, Meta(description='Name or ID of the subnet that the address is of.')] = None
    address: Annotated[Text | None, Meta(description='IP address; any, if none is given.')] = None
    connection_limit: Annotated[int, Meta(ge=-1, description='Maximum number of connections; -1: no limit.')] = -1
    protocol: Annotated[ListenerProtocol, Meta(description='Protocol used for the VIP.')] = 'HTTP'
    protocol_port: Annotated[Port, Meta(description='Port to listen on.')] = 80
    admin_state_up: Annotated[bool, Meta(description='Administrative state of the VIP.')] = True


class VipWithNetwork(Vip, frozen=True, forbid_unknown_fields=True):
    """The virtual IP address, in any subnet of a network."""

    network: Annotated[Text | None, Meta(description='Name or ID of the network that the address is of.')] = None


class HealthMonitor(Struct, frozen=True, forbid_unknown_fields=True):
    """How members are probed. Delay and timeout are passed on as they are: Octavia takes them in seconds."""

    type: Annotated[MonitorType, Meta(description='Type of probe.')] = 'PING'
    delay: Annotated[int, Meta(ge=1, description='Seconds between probes.')] = 10
    timeout: Annotated[int, Meta(ge=1, description='Seconds to wait for an answer; at most `delay`.')] = 5
    max_retries: Annotated[int, Meta(ge=1, le=10, description='Failures before a member is taken out.')] = 3
    admin_state_up: Annotated[bool, Meta(description='Administrative state of the health monitor.')] = True
    http_method: Annotated[HttpMethod | None, Meta(description='Method of the probe, for HTTP and HTTPS.')] = None
    url_path: Annotated[Path | None, Meta(description='Path of the probe, for HTTP and HTTPS.')] = None
    expected_codes: Annotated[
        Text | None, Meta(description='HTTP codes of a passing probe, e.g. 200,202 or 200-204.')
    ] = None
    id: Annotated[Text | None, Meta(description='ID of a health monitor that is there already.')] = None

    def __post_init__(self) -> None:
        if self.timeout > self.delay:
            raise ValueError(f'Expected `timeout` of at most `delay` ({self.delay}), got {self.timeout}')
        of_http = {'http_method': self.http_method, 'url_path': self.url_path, 'expected_codes': self.expected_codes}
        given = [name for name, value in of_http.items() if value is not None]
        if given and self.type not in ('HTTP', 'HTTPS'):
            raise ValueError(f'Expected `{given[0]}` only with type `HTTP` or `HTTPS`, got `{self.type}`')


class LoadBalancingProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.loadbalance-1.0 and 1.1."""

    pool: Annotated[Pool, Meta(description='Pool whose members the nodes are.')]
    vip: Annotated[Vip, Meta(description='Virtual IP address of the load balancer.')] = Vip()
    health_monitor: Annotated[HealthMonitor | None, Meta(description='Health monitor of the pool.')] = None
    lb_status_timeout: Annotated[
        int, Meta(ge=1, le=86400, description='Seconds that the changes of one operation may take together.')
    ] = 300
    loadbalancer: Annotated[
        Text | None, Meta(description='Name or ID of a load balancer that is there already, with `pool.id`.')
    ] = None

    def __post_init__(self) -> None:
        if self.loadbalancer is not None and self.pool.id is None:
            raise ValueError('Expected `pool.id` with `loadbalancer`, got none')
        if self.loadbalancer is None and self.vip.subnet is None and self.vip_network is None:
            raise ValueError('Expected `vip.subnet` or `vip.network`, got neither')

    @property
    def vip_network(self) -> str | None:
        """`vip.network`, in versions that have it."""
        return self.vip.network if isinstance(self.vip, VipWithNetwork) else None


class LoadBalancingPropertiesWithFlavor(LoadBalancingProperties, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.loadbalance-1.2 and 1.3."""

    vip: Annotated[VipWithNetwork, Meta(description='Virtual IP address of the load balancer.')] = VipWithNetwork()
    availability_zone: Annotated[
        Text | None, Meta(description='Availability zone that the load balancer is created in.')
    ] = None
    flavor_id: Annotated[Text | None, Meta(description='ID of the flavor that it is created with.')] = None
