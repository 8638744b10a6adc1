"""The nodes of the simulated cluster."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import NodeMetadata, NodePatch
from placement_worker.simulation.cluster_nodes import NO_ROOM, ClusterNodes
from placement_worker.simulation.scenario import START

SUBNET = {'id': 'sub', 'network': 'net', 'ip_version': 4, 'cidr': '192.0.2.0/28'}
CLOUD = Inventory.parse({'networks': {'net': {'id': 'net'}}, 'subnets': {'sub': SUBNET}}, 'test')


@pytest.fixture
def nodes():
    """Return the nodes of an empty cluster."""
    return ClusterNodes('web', CLOUD)


def test_create_with_room_returns_an_active_node_in_its_place(nodes):
    """A new node is ACTIVE, and has a name, a place and an address."""
    node = nodes.create({'zone': 'a'}, START, has_room=True)

    assert (node.id, node.name, node.status) == ('n1', 'web-1', 'ACTIVE')
    assert (node.data, node.created_at) == ({'placement': {'zone': 'a'}}, START)
    assert node.details
    assert nodes.by_id == {'n1': node}


def test_create_without_room_returns_a_failed_node_without_a_server(nodes):
    """A node for which the cloud has no room stays in the cluster in ERROR."""
    node = nodes.create({}, START, has_room=False)

    assert (node.status, node.status_reason, node.created_at) == ('ERROR', NO_ROOM, None)
    assert (node.details, node.data, nodes.failed) == (None, {}, ['n1'])


def test_delete_releases_the_addresses_of_the_nodes(nodes):
    """The address of a deleted node is used again when the subnet has no other one."""
    first, *_ = [nodes.create({}, START, has_room=True) for _ in range(4)]

    nodes.delete([first.id])

    assert nodes.create({}, START, has_room=True).details == first.details


def test_fail_protect_and_patch_change_only_the_given_nodes(nodes):
    """Status, protection and data of other nodes stay the same."""
    changed, other = (nodes.create({}, START, has_room=True).id for _ in range(2))
    before = nodes.by_id[other]

    nodes.fail([changed])
    nodes.protect([changed], NodeMetadata({'until': None, 'reason': ''}))
    nodes.patch({changed: NodePatch({'key': 'value'})})

    assert nodes.failed == list(nodes.protected(START)) == [changed]
    assert nodes.by_id[changed].data == {'key': 'value'}
    assert nodes.by_id[other] == before
