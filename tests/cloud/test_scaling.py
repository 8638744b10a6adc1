"""Clusters that scale through Senlin's API."""

from collections import Counter

from tests.cloud.whole_cloud import WholeCloud


def test_scale_out_with_zones_creates_servers_in_planned_zones(cloud: WholeCloud) -> None:
    """A scale-out through Senlin creates the servers in the zones that the worker plans."""
    senlin = cloud.senlin
    cluster = senlin.create_cluster(senlin.create_profile())
    zones = [{'name': 'az1', 'weight': 100}, {'name': 'az2', 'weight': 200}]
    policy = senlin.create_policy('zone_placement', zones=zones)
    senlin.succeed(f'clusters/{cluster}', 'policy_attach', policy_id=policy, enabled=True)

    senlin.succeed(f'clusters/{cluster}', 'scale_out', count=3)

    nodes = senlin.get(f'nodes?cluster_id={cluster}')['nodes']
    compute = cloud.connect('demo').compute
    found = Counter(compute.get_server(node['physical_id']).availability_zone for node in nodes)
    assert found == {'az1': 1, 'az2': 2}
