"""The plugin is switched on and off while clusters exist."""

from collections.abc import Iterator

import pytest

from tests.cloud.clusters import Cluster
from tests.cloud.nodes import zones
from tests.cloud.whole_cloud import WholeCloud


@pytest.fixture
def without_plugin(cloud: WholeCloud) -> Iterator[None]:
    """Engines without a broker of the workers; they have the plugin again afterwards."""
    cloud.senlin_programs.restart_engines(cloud.senlin_admin, with_plugin=False)
    yield
    cloud.senlin_programs.restart_engines(cloud.senlin_admin, with_plugin=True)


def test_cluster_outlives_switching_the_plugin(cloud: WholeCloud, without_plugin: None) -> None:
    """Policies that Senlin has attached by itself go on with the plugin, and without it again."""
    programs, admin = cloud.senlin_programs, cloud.senlin_admin
    cluster = Cluster(cloud, 1)
    cluster.attach_zones(az1=100, az2=100)
    balancing = cluster.attach_load_balancing()

    programs.restart_engines(admin, with_plugin=True)
    grown = cluster.change('scale_out', count=2)
    programs.restart_engines(admin, with_plugin=False)
    shrunk = cluster.change('scale_in', count=1)
    members, load_balancer = cluster.members(balancing), cluster.load_balancer(balancing)
    cluster.senlin.delete(cluster.target)

    assert len(zones(grown.added)) == 2
    assert cluster.decisions(shrunk.action) == []
    assert len(members) == 2
    assert load_balancer not in cloud.load_balancers()
