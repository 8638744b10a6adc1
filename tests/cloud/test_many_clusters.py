"""Several clusters at once, with two workers."""

from functools import partial

from tests.cloud.background import at_once
from tests.cloud.clusters import Cluster
from tests.cloud.sources import zones

CLUSTERS = 6


def test_clusters_scale_at_once_with_two_workers(cloud):
    """Each of several clusters that scale at once gets its servers in its planned zones."""
    cloud.run_only('worker1', 'worker2')
    clusters = at_once([partial(with_zones, cloud)] * CLUSTERS)

    begun = [cluster.begin('scale_out', count=2) for cluster in clusters]
    changes = at_once(running.end for running in begun)

    assert [zones(change.added) for change in changes] == [{'az1': 1, 'az3': 1}] * CLUSTERS


def with_zones(cloud):
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)
    return cluster
