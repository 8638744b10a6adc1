"""The location of nodes, and the lookups that a check makes for it."""

from collections import Counter

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot, stated_place
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster, Node, ServerDetails
from tests.factories import node

SERVERS = {'s1': {'availability_zone': 'of-nova'}, 's2': {}}
DETAILS = {'OS-EXT-AZ:availability_zone': 'details'}


class Counting:
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


def made(*members, own=None):
    return codec.decode({'id': 'c', 'profile': own or profile(), 'nodes': [*members]}, Cluster)


def located(member, *, own=None, home=None):
    """Return region and zone of the only member of a cluster."""
    cluster = made(member, own=own)
    snapshot = Snapshot(Inventory.parse({'servers': SERVERS, 'home_region': home}, 'test'), cluster)
    place = snapshot.place_of(cluster.nodes[0])
    counted = snapshot.regions_of(cluster.nodes), snapshot.zones_of(cluster.nodes)
    assert counted == (Counter([place[0]]), Counter([place[1]]))
    if place[0]:
        assert list(snapshot.by_place(cluster.nodes, regions=[place[0]])) == [place]
    return place


@pytest.mark.parametrize(
    ('member', 'cluster', 'home', 'region'),
    [
        (node(1, None, 'Data', profile=profile('Own')), profile('Cluster'), 'Home', 'Data'),
        (node(1, profile=profile('Own')), profile('Cluster'), 'Home', 'Own'),
        (node(1, profile=profile('')), profile('Cluster'), 'Home', 'Cluster'),
        (node(1), profile(''), 'Home', 'Home'),
        (node(1), None, None, None),
    ],
)
def test_region_of_node_comes_from_first_source_that_names_one(member, cluster, home, region):
    """Data, own profile, cluster profile and home region name the region, in this order."""
    assert located(member, own=cluster, home=home)[0] == region


@pytest.mark.parametrize(
    ('member', 'zone'),
    [
        (node(1, 'data', physical_id='s1', details=DETAILS), 'data'),
        (node(1, 'data:host', physical_id='s1', details=DETAILS), 'data'),
        (node(1, physical_id='s1', details=DETAILS), 'details'),
        (node(1, physical_id='s1', profile=profile(zone='own')), 'of-nova'),
        (node(1, physical_id='s2', profile=profile(zone='own:host')), 'own'),
        (node(1, physical_id='gone'), 'cluster'),
        (node(1), 'cluster'),
        (node(1, profile=profile()), None),
    ],
)
def test_zone_of_node_comes_from_first_source_that_names_one(member, zone):
    """Data, server details, Nova and the profile of the node name the zone, in this order."""
    assert located(member, own=profile(zone='cluster'))[1] == zone


@pytest.mark.parametrize(
    ('placement', 'more', 'place'),
    [
        ({'region_name': 'R', 'zone': 'a'}, {'profile': profile('P'), 'details': DETAILS},
         ('R', 'a')),
        ({}, {'profile': profile('P'), 'details': DETAILS}, ('P', 'details')),
        ({'region_name': None, 'zone': ''}, {'details': DETAILS}, (None, 'details')),
        ({'region_name': 7, 'zone': ['a']}, {}, (None, None)),
        (None, {}, (None, None)),
        ('a', {'profile': profile('P')}, ('P', None)),
    ],
)  # fmt: skip
def test_stated_place_comes_from_the_first_source_that_names_it(placement, more, place):
    """A log of an earlier version may hold malformed places, which count as absent."""
    member = codec.decode({'id': 'n', 'data': {'placement': placement}, **more}, Node)

    assert stated_place(member) == place


def test_zone_of_node_looks_up_servers_in_its_region_alone():
    """A service of another region that does not respond must not fail the lookup."""
    cluster = made(
        node(1, physical_id='s1', profile=profile('Own')),
        node(2, physical_id='s2'),
        own=profile('Cluster'),
    )
    cloud = Counting()
    snapshot = Snapshot(cloud, cluster)

    assert snapshot.by_place(cluster.nodes, regions=['Own'])
    assert snapshot.zone_of(cluster.nodes[0]) == 'zone of Own'
    assert cloud.asked == [('servers', 'Own', ['s1'])]


def test_lookups_of_one_check_are_made_once():
    """A check looks up each value once, and all servers of a region in one call."""
    cloud = Counting()
    cluster = made(
        node(1, physical_id='s1'),
        node(2, 'known', physical_id='s2'),
        node(3, None, 'R2', physical_id='s3'),
        node(4, physical_id='s4'),
        node(5),
        node(6, details=DETAILS, physical_id='s6'),
        own=profile('R1'),
    )
    snapshot = Snapshot(cloud, cluster)

    zones = [snapshot.zone_of(member) for member in cluster.nodes * 2]
    for _ in range(2):
        snapshot.zones('R1')
        snapshot.zones(None)
        assert snapshot.regions == ['R1']

    assert zones == ['zone of R1', 'known', 'zone of R2', 'zone of R1', None, 'details'] * 2
    assert cloud.asked == [
        ('servers', 'R1', ['s1', 's4']),
        ('servers', 'R2', ['s3']),
        ('zones', 'R1'),
        ('zones', None),
        'regions',
    ]


@pytest.mark.parametrize('region', [None, 'Home', 'Other'])
def test_in_region_returns_nodes_that_name_the_region_or_the_home_region(region):
    """Nodes that name no region are in the home region, and no region is the home region."""
    cluster = made(node(1), node(2, None, 'Home'), node(3, None, 'Other'))
    snapshot = Snapshot(Inventory.parse({'home_region': 'Home'}, 'test'), cluster)

    same = snapshot.in_region(region, cluster.nodes)

    assert [one.id for one in same] == (['n3'] if region == 'Other' else ['n1', 'n2'])


def test_requested_responses_are_those_of_earlier_lookups():
    """A search in the responses so far sends no request, and names the home region if it can."""
    cloud = Counting()
    snapshot = Snapshot(cloud, made())

    assert (snapshot.requested_zones, snapshot.requested_regions) == ({}, None)
    assert cloud.asked == []

    cloud.home_region = 'R1'
    snapshot.zones(None)
    unnamed = snapshot.requested_zones
    assert (snapshot.home_region, snapshot.regions) == ('R1', ['R1'])

    assert unnamed == {None: {'a': True}}
    assert (snapshot.requested_zones, snapshot.requested_regions) == ({'R1': {'a': True}}, ['R1'])
