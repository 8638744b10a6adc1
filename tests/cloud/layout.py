"""The services, regions, zones and databases of the whole cloud."""

from tests.broker import Broker
from tests.integration.layout import NOVAS, SERVICE_ROLES, Endpoint, Layout

PLACEMENTS = {'RegionOne': 'placement-one', 'RegionTwo': 'placement-two'}
# The zone of each compute by region.
COMPUTES = {
    'RegionOne': {'compute1': 'az1', 'compute2': 'az2', 'compute3': 'az3', 'compute4': 'az1'},
    'RegionTwo': {'compute5': 'az1', 'compute6': 'az4'},
}
SHARED = ('keystone', 'neutron', 'octavia', 'glance')
SENLIN, SECOND_SENLIN = SENLINS = ('senlin', 'second-senlin')
VIRTUAL_HOSTS = (*NOVAS.values(), *SENLINS)
USERS = ('neutron', 'nova', 'octavia', 'glance', 'placement', SENLIN)


def whole_cloud(broker: Broker) -> Layout:
    return Layout(
        kinds={
            **{name: name for name in SHARED},
            **dict.fromkeys(NOVAS.values(), 'nova'),
            **dict.fromkeys(PLACEMENTS.values(), 'placement'),
        },
        catalog=[
            Endpoint('identity', 'RegionTwo', 'keystone', '/v3'),
            Endpoint('load-balancer', 'RegionOne', 'octavia'),
            *(Endpoint('compute', region, nova, '/v2.1') for region, nova in NOVAS.items()),
            *(Endpoint('placement', region, name) for region, name in PLACEMENTS.items()),
            *(Endpoint('network', region, 'neutron') for region in NOVAS),
            *(Endpoint('image', region, 'glance') for region in NOVAS),
        ],
        service_users=dict.fromkeys(USERS, SERVICE_ROLES),
        trustee=SENLIN,
        in_mariadb=[
            *SHARED,
            *PLACEMENTS.values(),
            *SENLINS,
            *(f'{nova}{part}' for nova in NOVAS.values() for part in ('', '-api', '-cell0')),
        ],
        variables={
            nova: {'region': region, 'transport_url': broker.url + nova}
            for region, nova in NOVAS.items()
        },
    )
