"""The plugin is switched on and off while clusters exist."""

from tests.cloud.clusters import Cluster
from tests.cloud.sources import zones


def test_cluster_outlives_switching_the_plugin(cloud):
    """Policies that Senlin has attached by itself go on with the plugin, and without it again."""
    with cloud.with_second_senlin(with_plugin=False) as second:
        cluster = Cluster(second, 1)
        cluster.attach_zones(az1=100, az2=100, az3=100)
        balancing = cluster.attach_load_balancing()

        second.engine.restart_engines(with_plugin=True)
        grown = cluster.change('scale_out', count=2)
        second.engine.restart_engines(with_plugin=False)
        shrunk = cluster.change('scale_in', count=1)
        members, load_balancer = cluster.members(balancing), cluster.load_balancer(balancing)
        cluster.senlin.delete(cluster.target)

    assert len(zones(grown.added)) == 2
    assert cluster.decisions(shrunk.action) == []
    assert len(members) == 2
    assert load_balancer not in cloud.load_balancers()
