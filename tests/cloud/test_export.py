"""A request file of a cluster, made from Senlin's API."""

from tests.cloud.clusters import Cluster
from tests.cloud.exported import zones_planned
from tests.cloud.sources import zones


def test_plan_of_exported_cluster_is_what_the_scale_out_does(cloud):
    """An operator sees in the plan of an export the zone of the next node."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az2=100, az3=100)
    cluster.attach_deletion()
    cluster.change('scale_out', count=2)

    # In the catalog too; below v1, Senlin's description of its versions leads to v1/v1.
    url = cloud.engine.url.removesuffix('/v1')
    planned = zones_planned(cloud, 'clustering', url, '--senlin', cluster.id)
    change = cluster.change('scale_out', count=1)

    assert list(zones(change.added)) == [
        zone['name'] for zone in planned if zone['after'] > zone['before']
    ]
