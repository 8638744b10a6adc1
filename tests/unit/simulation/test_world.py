"""The world of a simulation: its cluster, its cloud, its load balancers and its cordons."""

import pytest
from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Address, Node, ServerDetails
from placement_worker.planning.places import Cordon
from placement_worker.simulation.run import play
from placement_worker.simulation.scenario import START, InvalidScenario
from placement_worker.simulation.world import (
    BalancedPools,
    ChangingCloud,
    ClusterNodes,
    without_evacuated,
)
from tests.factories import NOW, deletion_policy, region_policy, spreading, zone_policy
from tests.unit.simulation.conftest import ideals


def cloud(raw):
    return Inventory.parse(raw, 'test')


def test_spec_with_values_of_other_types_is_read_as_a_check_reads_it(run):
    """Weights that are strings and names that are numbers count as in a check."""
    zones = [{'name': 1, 'weight': '100'}, {'name': 2, 'weight': '200'}]
    policy = zone_policy('a')
    policy['spec']['properties']['zones'] = zones

    records = run([{'scale_out': 3}], cloud={'zones': {'1': True, '2': True}}, policies=[policy])

    assert records[0].nodes_by_place == {'1': 1, '2': 2}
    assert ideals(records[0]) == {'1': 1.0, '2': 2.0}


def test_play_starts_at_the_time_and_with_the_data_of_the_scenario(run):
    """A policy that reads the time or the data of nodes can be simulated."""
    data = {'protected': {'until': '2026-11-23T08:01:30Z'}}
    cluster = {'nodes': [{'count': 2, 'zone': 'b', 'data': data}]}

    records = run([{'resize': 0}] * 2, cluster=cluster, start='2026-11-23T09:00:00+01:00')

    assert [record.size for record in records] == [2, 0]


def test_nodes_of_the_region_of_the_profile_stand_there_and_fail_there(run):
    """Nodes without a region of their own count for the region of the cluster's profile."""
    records = run(
        [{'fail_nodes': {'region': 'R1'}}, {'scale_in': 2}],
        [region_policy('R1', 'R2'), deletion_policy()],
        cloud={'regions': ['R1', 'R2']},
        cluster={'region': 'R1', 'nodes': [{'count': 2}, {'count': 4, 'region': 'R2'}]},
    )

    assert [record.nodes_by_place for record in records] == [{'R1': 2, 'R2': 4}, {'R1': 0, 'R2': 4}]
    assert [record.failed for record in records] == [2, 0]


def test_play_with_new_weights_and_caps_applies_them_to_later_steps(run):
    """New weights and caps apply to the following steps, and to the named places only."""
    weights = run(
        [{'scale_out': 4}, {'weights': {'a': 300}}, {'scale_out': 6}],
        [spreading(zone_policy('a', 'b'))],
    )[-1]
    caps = run(
        [{'caps': {'R1': 1}}, {'scale_out': 4}],
        [region_policy('R1', 'R2'), deletion_policy()],
        cloud={'regions': ['R1', 'R2']},
    )[-1]

    assert weights.nodes_by_place == {'a': 8, 'b': 2}
    assert caps.nodes_by_place == {'R1': 1, 'R2': 3}
    assert ideals(caps) == {'R1': 1.0, 'R2': 3.0}


def test_play_without_policies_creates_nodes_in_no_known_place(run):
    """Without policies nodes have no place and no ideal."""
    records = run([{'scale_out': 5}, {'scale_in': 2}, {'delete_nodes': 1}], [])

    counts = [record.nodes_by_place for record in records]
    assert counts == [{'(no known place)': n} for n in (5, 3, 2)]
    assert ideals(records[-1]) == {'(no known place)': None}
    assert (records[-1].misplaced, records[-1].skew) == (0, 0)


# Nodes


def nodes(**subnet):
    networks = {'networks': {'n': {'id': 'n1'}}}
    subnets = {'s': {'id': 's1', 'network': 'n', **subnet}}
    return ClusterNodes('web', cloud({**networks, 'subnets': subnets}), START)


def test_nodes_have_addresses_of_the_subnet_and_leave_them_to_later_ones():
    """Each node has its own address; a full subnet gives those of deleted nodes to new ones."""
    cluster = nodes(cidr='192.0.2.0/28')

    first, second, *_ = [cluster.create({}, START, True) for _ in range(4)]
    late = cluster.create({}, START, True)
    cluster.delete([second.id])

    assert first.details.addresses == {'n': [Address('192.0.2.11', 4)]}
    assert second.details.addresses == {'n': [Address('192.0.2.12', 4)]}
    assert late.details.addresses == {'n': []}
    assert cluster.create({}, START, True).details == second.details


@pytest.mark.parametrize(('version', 'address'), [(4, '10.0.0.11'), (6, 'fd00::b')])
def test_addresses_of_a_subnet_without_a_range_have_its_version(version, address):
    """A subnet without a range of its own has private addresses of its version."""
    node = nodes(ip_version=version).create({}, START, True)

    assert node.details.addresses == {'n': [Address(address, version)]}


# The cloud


@pytest.mark.parametrize(
    ('lost', 'counts'),
    [
        ({'lose_region': 'R2'}, {'R1/a': 3, 'R1/b': 3}),
        ({'lose_zone': 'R1/a'}, {'R1/a': 0, 'R1/b': 3, 'R2/a': 3}),
        ({'lose_zone': 'a'}, {'R1/a': 0, 'R1/b': 6, 'R2/a': 0}),
    ],
)
def test_play_with_a_lost_place_creates_no_node_there(run, over_regions, lost, counts):
    """A zone named with its region is lost there, otherwise in all regions, until it is back."""
    restore = {verb.replace('lose', 'restore'): name for verb, name in lost.items()}

    records = run([lost, {'scale_out': 6}, restore, {'scale_out': 18}], **over_regions)

    assert [record.changes_world for record in records] == [True, False, True, False]
    assert records[1].nodes_by_place == ideals(records[1]) == counts
    assert records[3].nodes_by_place == {'R1/a': 6, 'R1/b': 6, 'R2/a': 12}


def test_outages_name_places_that_were_available_before(over_regions):
    """A place is an outage while it is unavailable, if it was available at any time before."""
    raw = {'zones': {'a': True, 'b': False}, 'regions': over_regions['cloud']['regions']}
    changing = ChangingCloud(cloud(raw))
    assert changing.outages == []

    changing.set_zone('a', available=False)
    changing.set_region('R2', known=False)
    assert changing.outages == ['R1/a', 'R2', 'R2/a', 'a']
    changing.set_zone('a', available=True)
    assert changing.outages == ['R2']
    changing.set_region('R2', known=True)
    changing.set_zone('b', available=True)
    changing.set_zone('b', available=False)
    assert changing.outages == ['R1/b', 'b']


def test_cloud_without_its_only_region_has_no_zone():
    """The zones that regions share are lost with the last one."""
    changing = ChangingCloud(cloud({'zones': {'a': True}, 'regions': ['R1']}))

    changing.set_region('R1', known=False)

    assert (changing.inventory.zones('R1'), changing.inventory.zones(None)) == ({}, {})


def test_exhausted_zone_is_an_outage_until_it_is_restored(over_regions):
    """The outages name a zone without capacity, in one region or in all."""
    changing = ChangingCloud(cloud(over_regions['cloud']))

    changing.exhaust('a')
    changing.exhaust('R2/b')

    assert changing.outages == ['R2/b (no capacity)', 'a (no capacity)']
    places = [('R1', 'a'), ('R2', 'b'), ('R1', 'b'), ('R1', None)]
    assert [changing.has_room(*place) for place in places] == [False, False, True, True]
    changing.set_zone('a', available=True)
    assert changing.has_room(None, 'a')


SHARED = {'zones': {'a': True, 'b': True}, 'regions': ['R1', 'R2'], 'home_region': 'R1'}
OWN = {'regions': {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': True, 'b': True}}}}


@pytest.mark.parametrize(
    ('raw', 'cordon', 'expected'),
    [
        (SHARED, {'zone': 'a'}, {'R1': ['b'], 'R2': ['b']}),
        (SHARED, {'zone': 'a', 'region': 'R2'}, {'R1': ['a', 'b'], 'R2': ['b']}),
        (SHARED, {'region': 'R2'}, {'R1': ['a', 'b']}),
        (SHARED, {'zone': 'a', 'evacuate': False}, {'R1': ['a', 'b'], 'R2': ['a', 'b']}),
        (OWN, {'zone': 'a'}, {'R1': [], 'R2': ['b']}),
        (OWN, {'zone': 'b', 'region': 'R1'}, {'R1': ['a'], 'R2': ['a', 'b']}),
    ],
)
def test_evacuated_places_are_not_usable(raw, cordon, expected):
    """A cordon covers its zone in each region, its region, or its zone in one region."""
    kept = without_evacuated(cloud(raw), [Cordon(until=NOW, **{'evacuate': True, **cordon})])

    usable = {
        region: sorted(name for name, is_usable in kept.zones(region).items() if is_usable)
        for region in kept.regions()
    }
    assert usable == expected


# Load balancers


def members(record):
    return [pool.members for pool in record.pools]


def test_members_of_failed_nodes_stay_until_their_nodes_are_replaced(run, balanced):
    """A failed node keeps its member; its replacement takes two updates."""
    records = run([{'scale_out': 6}, {'fail_nodes': 2}, {'replace_failed': True}], **balanced)

    assert [(members(record), record.failed, record.updates) for record in records] == [
        ([6], 0, 1),
        ([6], 2, 0),
        ([6], 0, 2),
    ]
    assert [(check.action, check.phase) for check in records[-1].checks] == [
        ('CLUSTER_SCALE_OUT', 'BEFORE'),
        ('CLUSTER_SCALE_OUT', 'AFTER'),
        ('CLUSTER_DEL_NODES', 'BEFORE'),
    ]


def test_nodes_at_the_start_become_members_when_the_policy_is_attached(load, registry, balanced):
    """The nodes of the scenario are members before the first step."""
    cluster = {'nodes': [{'count': 4, 'zone': 'a'}]}

    start, _ = play(load([{'scale_in': 1}], cluster=cluster, **balanced), registry, explained=0)

    assert members(start) == [4]
    assert start.updates > 0


def test_lasting_refusals_of_octavia_fail_the_check_without_a_wait(run, balanced):
    """Waits take simulated time, and nodes whose members are refused have none."""
    refused = {'call': 'update_members', 'status': 409, 'times': -1}
    balanced['cloud']['load_balancer'] = {'pending_s': 60, 'fail': [refused]}

    (record,) = run([{'scale_out': 2, 'expect': 'ERROR'}], **balanced)

    assert (record.status, record.as_expected, record.size) == ('ERROR', True, 2)
    assert record.checks[-1].phase == 'AFTER'
    assert members(record) == [0]


def test_policy_that_cannot_be_attached_is_refused_before_the_first_step(load, registry, balanced):
    """A load balancer that cannot be created ends the simulation with the cause."""
    balanced['cloud']['subnets'] = {}

    with pytest.raises(InvalidScenario, match=r'Policy lb cannot be attached: .*sub'):
        next(play(load([{'scale_out': 1}], **balanced), registry, explained=0))


@pytest.mark.parametrize(('enabled', 'pools'), [(False, []), (True, [2])])
def test_load_balancers_leave_the_file_of_the_cloud_alone(run, balanced, tmp_path, enabled, pools):
    """A policy that is enabled has a pool, in memory even if the cloud names a file for it."""
    balanced['cloud']['load_balancer'] = {'state': str(tmp_path / 'state.json')}
    balanced['policies'][2]['enabled'] = enabled

    (record,) = run([{'scale_out': 2}], **balanced)

    assert (members(record), record.updates) == (pools, len(pools))
    assert list(tmp_path.glob('state*')) == []


@pytest.fixture
def floored(balanced):
    """Return a scenario whose load balancer keeps four members online."""
    spec = balanced['policies'][-1]['spec']
    spec['version'] = '1.4'
    spec['properties'] |= {'health_monitor': {}, 'min_online': 4}
    return balanced


@pytest.mark.parametrize(
    ('change', 'size'),
    [
        ({'member_status': {'status': 'ONLINE'}}, 4),
        ({'member_status': {'status': 'NO_MONITOR', 'count': 2}}, 4),
        ({'member_status': {'status': 'OFFLINE'}}, 3),
        ({'fail_nodes': 3}, 3),
    ],
)
def test_scale_in_by_three_of_six_stops_at_the_floor_of_online_members(run, floored, change, size):
    """Members that are not online leave, and of the others all but four."""
    records = run([{'scale_out': 6}, change, {'scale_in': 3}], **floored)

    assert (records[-1].size, members(records[-1])) == (size, [size])


def test_probed_status_ends_with_its_node():
    """A status is that of a node: another node at its address is online again."""
    pools = BalancedPools()
    at = ServerDetails(addresses={'net': [Address('10.0.0.9', 4)]})
    first, second = (Node(node_id, details=at) for node_id in ('n1', 'n2'))
    pools.set_status(['n1'], 'OFFLINE')

    assert pools.probed({'n1': first}) == {'10.0.0.9': 'OFFLINE'}
    assert pools.probed({'n1': structs.replace(first, status='ERROR')}) == {'10.0.0.9': 'ERROR'}
    assert pools.probed({'n2': second}) == {}
    assert pools.probed({'n1': first}) == {}
