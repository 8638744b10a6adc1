"""Protected nodes in the whole cloud."""

import pytest

from tests.cloud.clusters import Cluster
from tests.cloud.nodes import ids
from tests.cloud.whole_cloud import WholeCloud

PROTECTED = {'protected': '{"until": "9999-12-01", "reason": "batch job"}'}
REFUSED = 'Protected nodes must not be deleted: {} is protected until 9999-12-01 (batch job)'


@pytest.fixture
def cluster(cloud: WholeCloud) -> Cluster:
    """A cluster that deletes its oldest node first."""
    made = Cluster(cloud, 1)
    made.attach_deletion()
    made.attach_load_balancing()
    made.change('scale_out', count=2)
    return made


def test_protected_node_survives_scale_in_resize_and_replacement(cluster: Cluster) -> None:
    """A node that a user protects survives all actions until the user removes the protection."""
    senlin, oldest = cluster.senlin, cluster.nodes()[0]
    senlin.update_node(oldest.id, metadata=PROTECTED)

    shrunk = cluster.change('scale_in', count=1)
    resized = cluster.change('resize', adjustment_type='EXACT_CAPACITY', number=0)
    assert ids(shrunk.removed + resized.removed).isdisjoint({oldest.id})
    new = senlin.create_node(cluster.profile)
    refused = cluster.fail('replace_nodes', nodes={oldest.id: new})
    survivors, servers = cluster.nodes(), cluster.cloud.servers()
    senlin.update_node(oldest.id, metadata={})
    replaced = cluster.change('replace_nodes', nodes={oldest.id: new})

    assert [len(change.removed) for change in (shrunk, resized)] == [1, 1]
    assert REFUSED.format(oldest.id) in refused.action['status_reason']
    assert ids(survivors) == {oldest.id}
    assert oldest.physical_id in servers
    assert ids(replaced.added) == {new}
