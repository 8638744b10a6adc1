"""A load balancer whose provisioning status is ERROR."""

from tests.cloud.clusters import Cluster
from tests.cloud.databases import Database

SET_STATUS = 'UPDATE load_balancer SET provisioning_status = %s WHERE id = %s'


def test_member_is_added_after_repair_of_load_balancer_in_error(cloud):
    """The user reads that the load balancer is in ERROR; the new node becomes a member later.

    The action fails, but keeps the node that it has created. The repair is that of the manual.
    """
    cluster = Cluster(cloud)
    policy = cluster.attach_load_balancing()
    load_balancer = cluster.load_balancer(policy)

    set_status(cloud, load_balancer, 'ERROR')
    refused = cluster.senlin.wait(cluster.senlin.begin(cluster.target, 'scale_out', count=1))
    set_status(cloud, load_balancer, 'ACTIVE')
    [node], members = cluster.nodes(), cluster.members(policy)
    cluster.senlin.succeed(f'nodes/{node.id}', 'recover', check=True)

    assert refused['status'] == 'FAILED'
    assert f'Load balancer {load_balancer} is in ERROR' in refused['status_reason']
    assert members == []
    assert cluster.members(policy) == cluster.addresses()
    assert cluster.nodes()[0].physical_id == node.physical_id


def set_status(cloud, load_balancer, status):
    """Change the status of a load balancer; the no-op driver of Octavia has no failover."""
    Database(cloud.folder, 'octavia').execute(SET_STATUS, status, load_balancer)
