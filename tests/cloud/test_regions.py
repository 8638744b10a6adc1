"""Servers in the regions that workers plan."""

from tests.cloud import agreement
from tests.cloud.clusters import Cluster

ELSEWHERE = {'region_name': 'RegionTwo', 'zone': 'az1'}


def test_server_lives_in_planned_region(cloud):
    """A server is created, checked, created again and deleted in the region of its node."""
    cluster = Cluster(cloud)
    cluster.attach('region_placement', regions=[{'name': 'RegionTwo'}])
    cluster.attach_zones(az1=100)

    change = cluster.change('scale_out', count=1)
    [node] = change.added
    created = cluster.zones()
    cluster.do('check')
    [checked] = cluster.nodes()
    cloud.delete_server(node.physical_id, 'RegionTwo')
    cluster.do('check')
    cluster.senlin.succeed(f'nodes/{node.id}', 'recover', operation='RECREATE')
    agreement.check_nodes(cluster)
    [recovered] = cluster.nodes()
    servers = cloud.servers('RegionTwo')
    cluster.change('scale_in', count=1)

    decision, *_ = cluster.decisions(change.action)
    assert decision['placement']['placements'] == [ELSEWHERE]
    assert node.placement == recovered.placement == ELSEWHERE
    assert created == {'az1': 1}
    assert checked.status == 'ACTIVE'
    assert recovered.physical_id in servers - {node.physical_id}
    assert recovered.physical_id not in cloud.servers('RegionTwo')
