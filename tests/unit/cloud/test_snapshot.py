"""The location of nodes, and the lookups that a check makes for it."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster, ServerDetails
from tests.factories import node

WAIT_S = 60
SERVERS = {'s1': {'availability_zone': 'of-nova'}, 's2': {}}
CLUSTER = codec.decode(
    {
        'id': 'c',
        'profile': {'type': 'os.nova.server-1.0'},
        'nodes': [{'id': 'n1', 'physical_id': 's1'}],
    },
    Cluster,
)


class Slow:
    """A cloud that responds when all threads of a barrier have sent their request."""

    def __init__(self, barrier):
        self.barrier = barrier
        self.calls = []

    def regions(self):
        self.calls.append('regions')
        self.barrier.wait(WAIT_S)
        return {'R1'}

    def servers(self, region, server_ids):
        self.calls.append('servers')
        self.barrier.wait(WAIT_S)
        return {'s1': ServerDetails('az1')}


class Counting:
    """A cloud that counts what it is asked."""

    home_region = None

    def __init__(self):
        self.asked = []

    def zones(self, region):
        self.asked.append(('zones', region))
        return {'a': True}

    def regions(self):
        self.asked.append('regions')
        return ['R1']

    def servers(self, region, server_ids):
        self.asked.append(('servers', region, sorted(server_ids)))
        return dict.fromkeys(server_ids, ServerDetails(f'zone of {region}'))


def profile(region=None, zone=None):
    return {
        'type': 't',
        'properties': {'availability_zone': zone, 'context': {'region_name': region}},
    }


def located(member, *, cluster=None, home=None):
    """Return region and zone of the only member of a cluster."""
    raw = {'id': 'c', 'profile': cluster or profile(), 'nodes': [member]}
    decoded = codec.decode(raw, Cluster)
    snapshot = Snapshot(Inventory.parse({'servers': SERVERS, 'home_region': home}, 'test'), decoded)
    place = snapshot.region_of(decoded.nodes[0]), snapshot.zone_of(decoded.nodes[0])
    counted = snapshot.regions_of(decoded.nodes), snapshot.zones_of(decoded.nodes)
    assert counted == (Counter([place[0]]), Counter([place[1]]))
    if place[0]:
        assert sizes(snapshot.by_place(decoded.nodes, regions=[place[0]])) == Counter([place])
    return place


def sizes(located):
    """Return place -> number of nodes."""
    return {place: len(members) for place, members in located.items()}


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
def test_region_of_node_comes_from_first_source_that_names_one(member, cluster, home, region):
    """Data, own profile, cluster profile and home region name the region, in this order."""
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
def test_zone_of_node_comes_from_first_source_that_names_one(member, cluster, zone):
    """Data, server details, Nova and the profile of the node name the zone, in this order."""
    assert located(member, cluster=cluster)[1] == zone


def test_counts_of_nodes_with_named_regions_need_no_home_region():
    """A check whose nodes all name their regions looks up no home region."""

    class Silent:
        """A cloud that must not be asked."""

    raw = {'id': 'c', 'profile': profile('Cluster'), 'nodes': [node(1, 'a'), node(2, 'b', 'Data')]}
    cluster = codec.decode(raw, Cluster)
    snapshot = Snapshot(Silent(), cluster)

    assert snapshot.regions_of(cluster.nodes) == {'Cluster': 1, 'Data': 1}
    assert snapshot.zones_of(cluster.nodes) == {'a': 1, 'b': 1}
    assert sizes(snapshot.by_place(cluster.nodes, regions=['Data'])) == {('Data', 'b'): 1}


def test_zone_of_node_looks_up_servers_in_its_region_alone():
    """A service of another region that does not respond must not fail the lookup."""
    asked = []

    class Listening:
        def servers(self, region, server_ids):
            asked.append((region, list(server_ids)))
            return {}

    members = [node(1, physical_id='s1', profile=profile('Own')), node(2, physical_id='s2')]
    cluster = codec.decode({'id': 'c', 'profile': profile('Cluster'), 'nodes': members}, Cluster)

    Snapshot(Listening(), cluster).zone_of(cluster.nodes[0])

    assert asked == [('Own', ['s1'])]


def test_lookups_of_one_check_are_made_once():
    """A check looks up each value once, and all servers of a region in one call."""
    cloud = Counting()
    members = [
        node(1, physical_id='s1'),
        node(2, 'known', physical_id='s2'),
        node(3, None, 'R2', physical_id='s3'),
        node(4, physical_id='s4'),
        node(5),
        node(6, details={'OS-EXT-AZ:availability_zone': 'said'}, physical_id='s6'),
    ]
    profile = {'type': 't', 'properties': {'context': {'region_name': 'R1'}}}
    cluster = codec.decode({'id': 'c', 'profile': profile, 'nodes': members}, Cluster)
    snapshot = Snapshot(cloud, cluster)

    zones = [snapshot.zone_of(member) for member in cluster.nodes * 2]
    for _ in range(2):
        snapshot.zones('R1')
        snapshot.zones(None)
        assert snapshot.regions == ['R1']

    assert zones == ['zone of R1', 'known', 'zone of R2', 'zone of R1', None, 'said'] * 2
    assert cloud.asked == [
        ('servers', 'R1', ['s1', 's4']),
        ('servers', 'R2', ['s3']),
        ('zones', 'R1'),
        ('zones', None),
        'regions',
    ]


def test_counts_of_many_nodes_equal_single_lookups():
    """Counts per region and zone agree with the location of each single node."""
    cloud = Counting()
    members = [
        node(1, 'a', 'R1'),
        node(2, 'b', 'R1'),
        node(3, 'a', 'R2'),
        node(4, physical_id='s4'),
        node(5, 'a', 'R1'),
    ]
    cluster = codec.decode({'id': 'c', 'profile': {'type': 't'}, 'nodes': members}, Cluster)
    snapshot = Snapshot(cloud, cluster)

    for some in (cluster.nodes, cluster.nodes[:3]):
        assert snapshot.regions_of(some) == Counter(map(snapshot.region_of, some))
        assert snapshot.zones_of(some) == Counter(map(snapshot.zone_of, some))
        assert sizes(snapshot.by_place(some, regions=['R2', 'R9'])) == {('R2', 'a'): 1}
    assert sizes(snapshot.by_place(cluster.nodes, regions=['R1'])) == {
        ('R1', 'a'): 2,
        ('R1', 'b'): 1,
    }


def test_zones_cannot_be_changed_by_a_policy():
    """All policies of a check see the same zones."""
    snapshot = Snapshot(Inventory.parse({'zones': {'az1': True}}, 'the test'), CLUSTER)

    with pytest.raises(TypeError, match='does not support item assignment'):
        snapshot.zones(None)['az1'] = False


def test_places_of_regions_look_up_no_servers_elsewhere():
    """A count for some regions looks up no servers of nodes in other regions."""
    cloud = Counting()
    members = [node(1, 'a', 'R1'), node(2, None, 'R2', physical_id='s2')]
    cluster = codec.decode({'id': 'c', 'profile': {'type': 't'}, 'nodes': members}, Cluster)

    assert sizes(Snapshot(cloud, cluster).by_place(cluster.nodes, regions=['R1'])) == {
        ('R1', 'a'): 1
    }
    assert not cloud.asked


def test_zone_of_node_with_zone_in_data_needs_no_lookup():
    """A node whose data names its zone needs no lookup of its server."""
    cloud = Counting()
    cluster = codec.decode(
        {'id': 'c', 'profile': {'type': 't'}, 'nodes': [node(1, 'a', physical_id='s1')]}, Cluster
    )

    assert Snapshot(cloud, cluster).zone_of(cluster.nodes[0]) == 'a'
    assert not cloud.asked


@pytest.mark.parametrize('placement', [None, 'a', [], {'zone': None}, {'zone': ''}, {'zone': 7}])
def test_zone_of_node_with_malformed_placement_is_unknown(placement):
    """Placement data without a usable zone leave the zone unknown."""
    cluster = codec.decode(
        {'id': 'c', 'profile': {'type': 't'}, 'nodes': [node(1, data={'placement': placement})]},
        Cluster,
    )

    assert Snapshot(Counting(), cluster).zone_of(cluster.nodes[0]) is None


@pytest.mark.parametrize('ask', [
    lambda snapshot: snapshot.zone_of(CLUSTER.nodes[0]),
    lambda snapshot: list(snapshot.regions),
])  # fmt: skip
def test_lookup_of_one_check_does_not_block_another(ask):
    """Two checks can wait for the same kind of lookup at the same time."""
    barrier = threading.Barrier(2)
    snapshots = [Snapshot(Slow(barrier), CLUSTER) for _ in range(2)]

    with ThreadPoolExecutor() as threads:
        results = list(threads.map(ask, snapshots))

    assert results[0] == results[1]


def test_repeated_lookup_uses_cached_value():
    """Repeated lookups of a check return the first result without another request."""
    cloud = Slow(threading.Barrier(1))
    snapshot = Snapshot(cloud, CLUSTER)

    for _ in range(3):
        assert snapshot.regions == {'R1'}
        assert snapshot.zone_of(CLUSTER.nodes[0]) == 'az1'

    assert sorted(cloud.calls) == ['regions', 'servers']


@pytest.mark.parametrize('region', [None, 'Home'])
def test_in_region_returns_nodes_that_name_the_region_or_the_home_region(region):
    """Nodes that name no region are in the home region, and no region is the home region."""
    members = [node(1), node(2, None, 'Home'), node(3, None, 'Other')]
    cluster = codec.decode({'id': 'c', 'profile': profile(), 'nodes': members}, Cluster)
    snapshot = Snapshot(Inventory.parse({'home_region': 'Home'}, 'test'), cluster)

    same = snapshot.in_region(region, cluster.nodes)

    assert [one.id for one in same] == [one['id'] for one in members[:2]]


def test_requested_responses_are_those_of_earlier_lookups():
    """A search in the responses so far sends no request, and names the home region if it can."""
    cloud = Counting()
    snapshot = Snapshot(cloud, CLUSTER)

    assert (snapshot.requested_zones, snapshot.requested_regions) == ({}, None)
    assert cloud.asked == []

    cloud.home_region = 'R1'
    snapshot.zones(None)
    unnamed = snapshot.requested_zones
    assert (snapshot.home_region, snapshot.regions) == ('R1', ['R1'])

    assert unnamed == {None: {'a': True}}
    assert (snapshot.requested_zones, snapshot.requested_regions) == ({'R1': {'a': True}}, ['R1'])
