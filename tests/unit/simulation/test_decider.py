"""The worker of a simulation."""

import datetime

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import Action, Binding, CheckRequest, Cluster, Profile, Spec
from placement_worker.simulation.decider import Decider

NOW = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)


def request(count, **more):
    """Return a check of growth by a number of nodes."""
    zones = {'zones': [{'name': 'a'}]}
    binding = Binding('z', Spec('senlin.policy.zone_placement', '1.0', zones))
    cluster = Cluster('c', Profile('os.nova.server-1.0'), [])
    action = Action('a', 'CLUSTER_SCALE_OUT', inputs={'count': count})
    return CheckRequest('BEFORE', action, cluster, [binding], **more)


def decider(registry, max_nodes=10):
    cloud = Inventory.parse({'zones': {'a': True}}, 'test')
    return Decider(cloud, registry, OctaviaSettings(), max_nodes, lambda: NOW)


def test_check_is_decided_by_the_installed_policies(registry):
    """The reply is the one of the real chain."""
    reply = decider(registry).check(request(2))

    assert [one['zone'] for one in reply.action.data['placement']['placements']] == ['a', 'a']


def test_check_beyond_the_limit_of_nodes_fails(registry):
    """The limit of the scenario is the limit of the worker."""
    assert decider(registry, max_nodes=1).check(request(2)).action.data['status'] == 'ERROR'


def test_check_before_its_expiry_in_simulated_time_is_decided(registry):
    """The expiry of a request is compared with the simulated time, not with the time of day."""
    soon = request(1, expires_at=NOW + datetime.timedelta(seconds=1))

    assert decider(registry).check(soon).action.data['status'] == 'OK'


def test_check_measures_no_duration(registry):
    """Two runs of a scenario do not differ by the times that they took."""
    (decision,) = decider(registry).check(request(1)).decisions

    assert decision.elapsed_ms == 0
