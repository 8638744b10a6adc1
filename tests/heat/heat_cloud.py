"""A cloud with Heat, whose engines have the plugin."""

from functools import cached_property

from openstack.compute.v2._proxy import Proxy

from tests.broker import Broker
from tests.cloud.compute_cloud import ComputeCloud
from tests.heat.heat_programs import HEAT, Heat, HeatPrograms
from tests.integration.layout import SERVICE_ROLES, Endpoint, Layout

REGION, NOVA, PLACEMENT = 'RegionOne', 'nova-one', 'placement-one'
# The zone of each compute by region.
COMPUTES = {REGION: {'compute1': 'az1', 'compute2': 'az2', 'compute3': 'az3'}}
SHARED = ('keystone', 'neutron', 'glance')
USERS = ('neutron', 'nova', 'glance', 'placement', HEAT)


class HeatCloud(ComputeCloud):
    """A region with computes in three zones, a worker with a broker of its own, and Heat."""

    engine: HeatPrograms

    def __init__(self) -> None:
        super().__init__(_layout, COMPUTES, (NOVA, HEAT))
        self.engine = HeatPrograms(self)
        self.heat = Heat(self.engine.url, self.session('demo'))

    @cached_property
    def compute(self) -> Proxy:
        """Nova, as the user of the stacks; the user exists once the cloud has started."""
        return self.connect('demo').compute


def _layout(broker: Broker) -> Layout:
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
