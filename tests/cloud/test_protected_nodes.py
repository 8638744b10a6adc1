"""Protected nodes in the whole cloud."""

from tests.cloud.clusters import Cluster
from tests.cloud.sources import ids

PROTECTED = {'protected': '{"until": "9999-12-01", "reason": "batch job"}'}
REFUSED = 'Protected nodes must not be deleted: {} is protected until 9999-12-01 (batch job)'


def test_protected_node_survives_scale_in_resize_and_replacement(cloud):
    """A node that a user protects survives all actions until the user removes the protection."""
    cluster = Cluster(cloud, 1)
    cluster.attach_deletion()
    cluster.attach_load_balancing()
    cluster.change('scale_out', count=2)
    senlin, oldest = cluster.senlin, cluster.nodes()[0]
    senlin.update_node(oldest.id, metadata=PROTECTED)

    shrunk = cluster.change('scale_in', count=1)
    resized = cluster.change('resize', adjustment_type='EXACT_CAPACITY', number=0)
    assert ids(shrunk.removed + resized.removed).isdisjoint({oldest.id})
    new = senlin.create_node(cluster.profile)
    refused = cluster.fail('replace_nodes', nodes={oldest.id: new})
    survivors, servers = cluster.nodes(), cloud.servers()
    senlin.update_node(oldest.id, metadata={})
    replaced = cluster.change('replace_nodes', nodes={oldest.id: new})

    assert [len(change.removed) for change in (shrunk, resized)] == [1, 1]
    assert REFUSED.format(oldest.id) in refused.action['status_reason']
    assert ids(survivors) == {oldest.id}
    assert oldest.physical_id in servers
    assert ids(replaced.added) == {new}
