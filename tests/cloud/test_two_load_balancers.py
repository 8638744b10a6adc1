"""Two load-balancing policies on one cluster, for two ports of its nodes.

Senlin attaches only one policy of a type and version, so the policies have different versions.
"""

from typing import Any

from tests.cloud.clusters import LOAD_BALANCING, POOL, Cluster
from tests.cloud.whole_cloud import WholeCloud

SECOND = {**POOL, 'protocol_port': 443}


def test_two_load_balancers_follow_one_cluster(cloud: WholeCloud) -> None:
    """Both pools have the servers of the cluster after each action, and nothing remains.

    Each change checks that the members of all pools are the servers (`agreement`).
    """
    cluster = Cluster(cloud, 2)
    first = cluster.attach_load_balancing()
    properties: dict[str, Any] = {**LOAD_BALANCING, 'pool': SECOND, 'vip': SECOND}
    second = cluster.attach('loadbalance', '1.2', **properties)

    grown = cluster.change('scale_out', count=2)
    cluster.recover_node(grown.added[0].id)
    cluster.delete_node(grown.added[1].id)
    cluster.create_node()
    cluster.change('scale_in', count=1)
    cluster.change('resize', adjustment_type='EXACT_CAPACITY', number=4)
    cluster.do('policy_detach', policy_id=first)
    cluster.change('scale_in', count=2)
    balancers = cloud.load_balancers()
    left = cluster.load_balancer(second)
    cluster.senlin.delete(cluster.target)

    assert left in balancers
    assert left not in cloud.load_balancers()
