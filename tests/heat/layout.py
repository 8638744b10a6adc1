"""The services, zones and databases of a cloud with Heat."""

from tests.broker import Broker
from tests.integration.layout import SERVICE_ROLES, Endpoint, Layout

REGION = 'RegionOne'
NOVA, PLACEMENT, HEAT = 'nova-one', 'placement-one', 'heat'
# The zone of each compute by region.
COMPUTES = {REGION: {'compute1': 'az1', 'compute2': 'az2', 'compute3': 'az3'}}
SHARED = ('keystone', 'neutron', 'glance')
VIRTUAL_HOSTS = (NOVA, HEAT)
USERS = ('neutron', 'nova', 'glance', 'placement', HEAT)


def heat_cloud(broker: Broker) -> Layout:
    """Return a cloud with one region; the worker has Heat's user."""
    return Layout(
        kinds={**{name: name for name in SHARED}, NOVA: 'nova', PLACEMENT: 'placement'},
        catalog=[
            Endpoint('compute', REGION, NOVA, '/v2.1'),
            Endpoint('placement', REGION, PLACEMENT),
            Endpoint('network', REGION, 'neutron'),
            Endpoint('image', REGION, 'glance'),
        ],
        service_users=dict.fromkeys(USERS, SERVICE_ROLES),
        trustee=HEAT,
        in_mariadb=[*SHARED, PLACEMENT, HEAT, NOVA, f'{NOVA}-api', f'{NOVA}-cell0'],
        variables={NOVA: {'region': REGION, 'transport_url': broker.url + NOVA}},
    )
