"""The embedded cloud, and what a check sees of it."""

from collections import Counter

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster, ServerDetails
from placement_worker.errors import InvalidInventory
from tests.factories import node


@pytest.mark.parametrize(
    ('description', 'region', 'zones'),
    [
        ({'zones': {'a': True}}, None, {'a': True}),
        ({'zones': {'a': True}}, 'R1', {'a': True}),
        ({'zones': {'a': True}, 'regions': ['R1']}, 'R1', {'a': True}),
        ({'zones': {'a': True}, 'regions': ['R1']}, 'R2', {}),
        ({'zones': {'a': True}, 'regions': {'R1': {}}}, 'R1', {'a': True}),
        ({'zones': {'a': True}, 'regions': {'R1': {'zones': {'b': False}}}}, 'R1', {'b': False}),
        ({'zones': {'a': True}, 'regions': {'R1': {'zones': {'b': False}}}}, None, {'a': True}),
        ({'regions': {'R1': {'zones': {'b': True}}, 'R2': {}}}, None, {'b': True}),
        ({'regions': {'R1': {'zones': {'b': True}}}}, 'R2', {}),
        ({}, None, {}),
    ],
)
def test_zones_are_those_of_the_region_or_of_the_whole_cloud(description, region, zones):
    assert Inventory.parse(description, 'test').zones(region) == zones


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            'zones: [a]',
            'f does not describe a cloud: Expected `object`, got `array` - at `$.zones`',
        ),
        (
            'zone: {}',
            'f does not describe a cloud: Object contains unknown field `zone`, expected one of `zones`',
        ),
        ('a: [', 'The cloud cannot be read: f is neither YAML nor JSON: while parsing'),
        ('--- {}\n--- {}', 'f contains 2 documents, expected one'),
    ],
)
def test_a_file_that_describes_no_cloud_is_named(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'f').write_text(text)

    with pytest.raises(InvalidInventory) as refused:
        Inventory.load('f')

    assert str(refused.value).startswith(message)


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


def test_each_question_is_asked_once_a_check_and_servers_in_bulk():
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


def test_nodes_are_counted_by_region_and_by_zone_as_one_by_one():
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
        assert snapshot.zones_in_regions(some, ['R2', 'R9']) == {('R2', 'a'): 1}
    assert snapshot.zones_in_regions(cluster.nodes, ['R1']) == {('R1', 'a'): 2, ('R1', 'b'): 1}


def test_counting_in_some_regions_does_not_ask_about_servers_elsewhere():
    cloud = Counting()
    members = [node(1, 'a', 'R1'), node(2, None, 'R2', physical_id='s2')]
    cluster = codec.decode({'id': 'c', 'profile': {'type': 't'}, 'nodes': members}, Cluster)

    assert Snapshot(cloud, cluster).zones_in_regions(cluster.nodes, ['R1']) == {('R1', 'a'): 1}
    assert not cloud.asked


def test_a_cloud_is_not_asked_about_servers_that_nobody_wonders_about():
    cloud = Counting()
    cluster = codec.decode(
        {'id': 'c', 'profile': {'type': 't'}, 'nodes': [node(1, 'a', physical_id='s1')]}, Cluster
    )

    assert Snapshot(cloud, cluster).zone_of(cluster.nodes[0]) == 'a'
    assert not cloud.asked


@pytest.mark.parametrize('placement', [None, 'a', [], {'zone': None}, {'zone': ''}, {'zone': 7}])
def test_data_that_hold_no_zone_leave_it_unknown(placement):
    cluster = codec.decode(
        {'id': 'c', 'profile': {'type': 't'}, 'nodes': [node(1, data={'placement': placement})]},
        Cluster,
    )

    assert Snapshot(Counting(), cluster).zone_of(cluster.nodes[0]) is None


@pytest.mark.parametrize(
    ('raw', 'message'),
    [
        (
            {'zones': {'az1': True, 'az2': 'maybe', 'az.3': 1}},
            'Expected `bool`, got `str` - at `$.zones[...]`',
        ),
        (
            {
                'regions': {
                    name: {'zones': {'a': True, 'c.1': name == 'R1' or name}}
                    for name in ('R1', 'R2', 'R3')
                }
            },
            'Expected `bool`, got `str` - at `$.regions[...].zones[...]`',
        ),
    ],
)
def test_parse_with_wrong_value_in_map_names_the_map(raw, message):
    with pytest.raises(InvalidInventory) as refused:
        Inventory.parse(raw, 'cloud')

    assert str(refused.value) == f'cloud does not describe a cloud: {message}'
