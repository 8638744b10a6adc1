"""A simulated load balancer for tests of single modules."""

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.octavia.load_balancers import Layout, tags_of
from placement_worker.octavia.updater import Updater
from tests.simulated_octavia import Lab

TAGS = tags_of('c1', 'p1')
LAYOUT = Layout(
    'web',
    {'vip_subnet_id': 'sub1', 'flavor_id': None},
    {'protocol': 'HTTP', 'protocol_port': 80},
    {'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN', 'admin_state_up': False},
    None,
)


def updater(lab: Lab, *, batch_members: bool = True) -> Updater:
    """Return an updater for the load balancers of a lab."""
    settings = OctaviaSettings(batch_members, sleep=lab.clock.sleep, clock=lab.clock)
    return Updater(lab.octavia(None), settings, TimeBudget(300, lab.clock), 'seed')
