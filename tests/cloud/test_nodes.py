"""Single nodes of a cluster change through Senlin's API.

Each test changes the same cluster, whatever the others have left of it.
"""

from tests.cloud import agreement
from tests.cloud.clusters import MAX_SIZE, WEIGHTS


def test_added_node_becomes_member(managed):
    """A node that was created alone becomes a member of the pool, in the zone of its server."""
    managed.at_most(MAX_SIZE - 1)
    alone = managed.senlin.create_node(managed.profile)

    change = managed.change('add_nodes', nodes=[alone])

    assert [node.id for node in change.added] == [alone]


def test_deleted_nodes_leave_pool(managed):
    """Nodes that the user names are deleted, and no others."""
    managed.at_least(3)
    named = [node.id for node in managed.nodes()[1:3]]

    change = managed.change('del_nodes', nodes=named, destroy_after_deletion=True)

    assert [node.id for node in change.removed] == named


def test_replacement_takes_place_in_pool(managed):
    """A node that replaces another one becomes a member instead of it."""
    managed.at_least(1)
    new = managed.senlin.create_node(managed.profile)
    old = managed.nodes()[0].id

    change = managed.change('replace_nodes', nodes={old: new})

    assert [node.id for node in change.added] == [new]
    assert [node.id for node in change.removed] == [old]


def test_node_created_in_cluster_gets_planned_zone(managed):
    """A node that the user creates in a cluster gets the zone that the worker has recorded."""
    managed.at_most(MAX_SIZE - 1)

    change = managed.create_node()

    [node] = change.added
    assert node.placement['zone'] in WEIGHTS


def test_node_deleted_by_id_leaves_pool(managed):
    """A node that the user deletes leaves the pool."""
    managed.at_least(1)
    first, *others = managed.nodes()

    managed.delete_node(first.id)

    assert managed.nodes() == others


def test_recovered_node_replaces_its_member(managed):
    """A node whose server has disappeared gets a new one in its zone, and its member follows."""
    managed.at_least(1)
    lost = managed.nodes()[0]
    managed.cloud.delete_server(lost.physical_id)

    managed.do('check')
    checked = managed.nodes()[0]
    managed.recover_node(lost.id)

    recovered = managed.nodes()[0]
    assert (checked.id, checked.status) == (lost.id, 'ERROR')
    assert recovered.physical_id != lost.physical_id
    assert recovered.placement == lost.placement
    assert managed.is_active()


def test_node_recovered_with_its_cluster_replaces_its_member(managed):
    """A node whose server has disappeared becomes a member again when its cluster recovers."""
    managed.at_least(1)
    lost = managed.nodes()[0]
    managed.cloud.delete_server(lost.physical_id)

    managed.do('recover', operation='RECREATE', check=True)

    agreement.check_nodes(managed)
    recovered = managed.nodes()[0]
    assert recovered.id == lost.id
    assert recovered.physical_id != lost.physical_id
