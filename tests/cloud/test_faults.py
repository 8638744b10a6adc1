"""Faults of the services that an action needs."""

import pytest

from tests.cloud import computes
from tests.cloud.clusters import Cluster
from tests.cloud.layout import COMPUTES
from tests.cloud.sources import zones
from tests.integration.faults import slow

NO_WORKER = (
    'No worker replied on topic placement-worker within 30 s: no worker runs, or all threads are '
    'occupied'
)
NO_TRUST = 'Identity service refused the request: HTTP 401'
SLOW_S, SLOW_REQUESTS = 3, 4
DOWN, OTHER_ZONE = 'compute3', 'az1'

pytestmark = pytest.mark.alone


@pytest.fixture(scope='module')
def cluster(cloud):
    """A cluster with a policy for zones, which tests may grow."""
    made = Cluster(cloud)
    made.attach_zones(az1=100, az3=100)
    return made


def test_action_without_worker_fails_and_changes_nothing(cloud, cluster):
    """The user reads that no worker replied, and the request has no effect when one starts."""
    before = size_of(cluster)

    cloud.run_only()
    refused = cluster.fail('scale_out', count=2)
    after = size_of(cluster)
    cloud.run_only('worker1')
    grown = cluster.change('scale_out', count=1)

    assert NO_WORKER in refused.action['status_reason']
    assert after == before
    assert len(grown.added) == 1
    assert size_of(cluster) == (before[0] + 1, before[1] + 1)
    assert cluster.decisions(refused.action) == []


def test_slow_keystone_delays_action_and_fails_none(cloud, cluster):
    """An action succeeds while each login of the worker takes seconds."""
    forget_logins(cloud)
    rule = cloud.keystone.inject(slow(SLOW_S), times=SLOW_REQUESTS)
    grown = cluster.change('scale_out', count=2)

    assert rule.hits
    assert len(grown.added) == 2


def test_deleted_trust_fails_action_until_senlin_forgets_it(cloud, cluster):
    """The user reads that Keystone refused the trust; the row in Senlin's database is the cause."""
    trust = cloud.trust_of('demo')
    cloud.connect('demo').identity.delete_trust(trust)
    forget_logins(cloud)
    try:
        refused = cluster.fail('scale_out', count=1)
    finally:
        cloud.engine.database.forget_trusts()
    grown = cluster.change('scale_out', count=1)

    assert NO_TRUST in refused.action['status_reason']
    assert trust not in refused.action['status_reason']
    assert len(refused.added) == 0
    assert len(grown.added) == 1


def test_zone_whose_compute_is_down_is_avoided_after_first_failure(cloud):
    """Nova keeps offering the zone of a compute that is down; only the first node fails there."""
    cluster, zone = Cluster(cloud), COMPUTES['RegionOne'][DOWN]
    cluster.attach('zone_placement', '1.1', zones=[{'name': zone}, {'name': OTHER_ZONE}])

    with computes.down(cloud.connect('admin'), [DOWN]):
        first = cluster.fail('scale_out', count=2)
        second = cluster.change('scale_out', count=2)

    assert zones(first.added) == {zone: 1, OTHER_ZONE: 1}
    [failed] = [node for node in first.added if node.status == 'ERROR']
    assert failed.placement['zone'] == zone
    assert computes.NO_HOST in failed.status_reason
    assert zones(second.added) == {OTHER_ZONE: 2}


def size_of(cluster):
    """Return the number of nodes, and the size that users want."""
    return len(cluster.nodes()), cluster.desired_capacity()


def forget_logins(cloud):
    cloud.run_only()
    cloud.run_only('worker1')
