"""Faults of the services that an action needs."""

from tests.cloud.clusters import Cluster
from tests.cloud.whole_cloud import WholeCloud

NO_WORKER = 'No worker replied on topic placement-worker within 30 s: is placement-worker running?'


def test_action_without_worker_fails_and_changes_nothing(cloud: WholeCloud) -> None:
    """The user reads that no worker replied, and the request has no effect when one starts."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)

    cloud.run_only()
    refused = cluster.fail('scale_out', count=2)
    sizes = len(cluster.nodes()), cluster.desired_capacity()
    cloud.run_only('worker1')
    grown = cluster.change('scale_out', count=1)

    assert NO_WORKER in refused.action['status_reason']
    assert sizes == (0, 0)
    assert len(grown.added) == cluster.desired_capacity() == 1
    assert cluster.decisions(refused.action) == []
