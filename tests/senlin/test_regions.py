"""The regions in which Senlin creates, checks and deletes servers."""

import pytest
from senlin.objects import node as nodes

from tests.senlin import cloud, engine

ELSEWHERE = {'region_name': 'RegionTwo', 'zone': 'az1'}


def region_of(node):
    return cloud.requests()[node.physical_id]['region_name']


def created_elsewhere():
    return engine.add_node(engine.add_cluster(), engine.add_profile(), ELSEWHERE)


@pytest.mark.parametrize(
    ('placement', 'region'),
    [(ELSEWHERE, 'RegionTwo'), ({'zone': 'az1'}, 'RegionOne'), (None, 'RegionOne')],
)
def test_server_is_created_and_deleted_in_region_of_node(senlin_here, placement, region):
    """A server is created, shown, checked and deleted in the region of its node."""
    cluster = engine.add_cluster()
    node = engine.add_node(cluster, engine.add_profile(), placement)
    created = region_of(node)

    checked = node.do_check(engine.context())
    deleted = node.do_delete(engine.context())

    assert (created, checked, deleted) == (region, True, True)
    assert node.physical_id not in cloud.requests()


def test_region_of_server_is_kept_without_plugin(senlin_here, by_itself):
    """A node keeps the region of its server while Senlin decides by itself."""
    node = created_elsewhere()

    with by_itself():
        assert node.do_check(engine.context())


def test_node_created_without_plugin_stays_in_region_of_senlin(senlin_here, by_itself):
    """A node whose server Senlin has created in its own region is found there afterwards."""
    with by_itself():
        node = created_elsewhere()

    checked = node.do_check(engine.context())

    assert checked
    assert region_of(node) == 'RegionOne'
    assert 'server_region' not in nodes.Node.get(engine.context(), node.id).data
