"""One resolver says where a node is, for every policy."""

from collections import Counter

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster
from tests.factories import node

SERVERS = {'s1': {'availability_zone': 'of-nova'}, 's2': {}}


def profile(region=None, zone=None):
    return {
        'type': 't',
        'properties': {'availability_zone': zone, 'context': {'region_name': region}},
    }


def located(member, *, cluster=None, home=None):
    """The region and zone of the only member of a cluster."""
    raw = {'id': 'c', 'profile': cluster or profile(), 'nodes': [member]}
    decoded = codec.decode(raw, Cluster)
    snapshot = Snapshot(Inventory.parse({'servers': SERVERS, 'home_region': home}, 'test'), decoded)
    place = snapshot.region_of(decoded.nodes[0]), snapshot.zone_of(decoded.nodes[0])
    counted = snapshot.regions_of(decoded.nodes), snapshot.zones_of(decoded.nodes)
    assert counted == (Counter([place[0]]), Counter([place[1]]))
    if place[0]:
        assert snapshot.zones_in_regions(decoded.nodes, [place[0]]) == Counter([place])
    return place


@pytest.mark.parametrize(
    ('member', 'cluster', 'home', 'region'),
    [
        (node(1, None, 'Data', profile=profile('Own')), profile('Cluster'), 'Home', 'Data'),
        (node(1, profile=profile('Own')), profile('Cluster'), 'Home', 'Own'),
        (node(1, profile=profile('')), profile('Cluster'), 'Home', 'Cluster'),
        (node(1), profile('Cluster'), 'Home', 'Cluster'),
        (node(1), profile(''), 'Home', 'Home'),
        (node(1), None, None, None),
    ],
)
def test_region_of_a_node_comes_from_the_first_that_names_one(member, cluster, home, region):
    """The region is that of the data, the own profile, the cluster's profile or the home region, in
    this order.
    """
    assert located(member, cluster=cluster, home=home)[0] == region


@pytest.mark.parametrize(
    ('member', 'cluster', 'zone'),
    [
        (
            node(1, 'data', physical_id='s1', details={'OS-EXT-AZ:availability_zone': 'details'}),
            profile(zone='cluster'),
            'data',
        ),
        (
            node(1, physical_id='s1', details={'OS-EXT-AZ:availability_zone': 'details'}),
            profile(zone='cluster'),
            'details',
        ),
        (
            node(1, physical_id='s1', profile=profile(zone='own')),
            profile(zone='cluster'),
            'of-nova',
        ),
        (node(1, physical_id='s2', profile=profile(zone='own')), profile(zone='cluster'), 'own'),
        (node(1, physical_id='gone'), profile(zone='cluster'), 'cluster'),
        (node(1), profile(zone='cluster'), 'cluster'),
        (node(1, profile=profile()), profile(zone='cluster'), None),
        (node(1), profile(zone=''), None),
    ],
)
def test_zone_of_a_node_comes_from_the_first_that_names_one(member, cluster, zone):
    """The zone is that of the data, the server's details, Nova or the node's profile, in this
    order.
    """
    assert located(member, cluster=cluster)[1] == zone


def test_home_region_of_nodes_with_named_regions_is_not_asked_for():
    """A check whose nodes all name their regions asks the cloud for no home region."""

    class Silent:
        """A cloud that must not be asked."""

    raw = {'id': 'c', 'profile': profile('Cluster'), 'nodes': [node(1, 'a'), node(2, 'b', 'Data')]}
    cluster = codec.decode(raw, Cluster)
    snapshot = Snapshot(Silent(), cluster)

    assert snapshot.regions_of(cluster.nodes) == {'Cluster': 1, 'Data': 1}
    assert snapshot.zones_of(cluster.nodes) == {'a': 1, 'b': 1}
    assert snapshot.zones_in_regions(cluster.nodes, ['Data']) == {('Data', 'b'): 1}


def test_servers_of_nodes_are_looked_up_where_the_nodes_are():
    """The servers of nodes without data are looked up in the region that their profile names."""
    asked = []

    class Listening:
        def servers(self, region, server_ids):
            asked.append((region, list(server_ids)))
            return {}

    members = [node(1, physical_id='s1', profile=profile('Own')), node(2, physical_id='s2')]
    cluster = codec.decode({'id': 'c', 'profile': profile('Cluster'), 'nodes': members}, Cluster)

    Snapshot(Listening(), cluster).zone_of(cluster.nodes[0])

    assert asked == [('Own', ['s1']), ('Cluster', ['s2'])]
