"""Single nodes of a cluster change through Senlin's API.

Each test changes the same cluster, whatever the others have left of it.
"""

from tests.cloud.managed import ManagedCluster, recorded_zones
from tests.cloud.nodes import zones


def test_added_node_becomes_member(managed: ManagedCluster) -> None:
    """A node that was created alone becomes a member of the pool, in the zone of its server."""
    managed.set_size(3)
    alone = managed.senlin.create_node(managed.profile)

    change = managed.change('add_nodes', nodes=[alone])

    assert [node.id for node in change.added] == [alone]


def test_deleted_nodes_leave_pool(managed: ManagedCluster) -> None:
    """Nodes that the user names are deleted, and no others."""
    managed.set_size(4)
    named = [node.id for node in managed.nodes()[1:3]]

    change = managed.change('del_nodes', nodes=named, destroy_after_deletion=True)

    assert [node.id for node in change.removed] == named


def test_replacement_takes_place_in_pool(managed: ManagedCluster) -> None:
    """A node that replaces another one becomes a member instead of it."""
    managed.set_size(3)
    new = managed.senlin.create_node(managed.profile)
    old = managed.nodes()[0].id

    change = managed.change('replace_nodes', nodes={old: new})

    assert [node.id for node in change.added] == [new]
    assert [node.id for node in change.removed] == [old]


def test_node_created_in_cluster_gets_planned_zone(managed: ManagedCluster) -> None:
    """A node that the user creates in a cluster gets the zone that the worker has recorded."""
    managed.set_size(3)
    senlin = managed.senlin

    created = senlin.create_node(managed.profile, cluster_id=managed.id)

    decision, *_ = managed.decisions(senlin.last_action(created))
    assert zones([node for node in managed.nodes() if node.id == created]) == recorded_zones(
        decision
    )
    managed.check()


def test_node_deleted_by_id_leaves_pool(managed: ManagedCluster) -> None:
    """A node that the user deletes leaves the pool."""
    managed.set_size(3)
    first, *others = managed.nodes()

    managed.senlin.delete(f'nodes/{first.id}')

    assert managed.nodes() == others
    managed.check()


def test_recovered_node_replaces_its_member(managed: ManagedCluster) -> None:
    """A node whose server has disappeared gets a new one in its zone, and its member follows."""
    managed.set_size(3)
    lost = managed.nodes()[0]
    managed.cloud.delete_server(lost.physical_id)

    managed.do('check')
    checked = managed.nodes()[0]
    managed.senlin.succeed(f'nodes/{lost.id}', 'recover', operation='RECREATE')

    recovered = managed.nodes()[0]
    assert (checked.id, checked.status) == (lost.id, 'ERROR')
    assert recovered.physical_id != lost.physical_id
    assert recovered.placement == lost.placement
    managed.check()
