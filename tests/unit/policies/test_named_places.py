"""NODE_CREATE of a node whose profile names its place: records, counts and caps."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import node, region_policy, request, zone_policy

CREATE = 'NODE_CREATE'


def profile(region=None, zone=None):
    properties = {'availability_zone': zone, 'context': {'region_name': region}}
    return {'type': 'os.nova.server-1.0', 'properties': properties}


def capped(cap, *others):
    policy = region_policy('R1', *others)
    policy['spec']['properties']['regions'][0]['cap'] = cap
    return policy


def test_named_place_is_recorded_in_the_data_of_the_node(check):
    """Places that the profile names are recorded in the node's data; other keys stay."""
    new = node(9, profile=profile('R1', 'a'), data={'placement': {'servergroup': 'g'}, 'other': 1})

    reply = check(
        request(CREATE, [region_policy('R1', 'R2'), zone_policy('b')], [new], node=new),
        regions={'R1': {'zones': {'b': True}}, 'R2': {'zones': {'b': True}}},
    )

    assert [one['outcome'] for one in reply['decisions']] == ['SKIPPED', 'SKIPPED']
    assert reply['action']['data'] == {'status': 'OK', 'reason': 'Completed policy checking.'}
    assert reply['nodes'] == {
        'n9': {
            'data': {
                'placement': {'servergroup': 'g', 'region_name': 'R1', 'zone': 'a'},
                'other': 1,
            }
        }
    }


def test_named_place_of_the_cluster_profile_is_recorded_too(check):
    """A node without a profile of its own is created from the cluster's."""
    reply = check(
        request(CREATE, [zone_policy('b')], node=node(9), profile=profile(zone='a')), zones=['b']
    )

    assert reply['nodes'] == {'n9': {'data': {'placement': {'zone': 'a'}}}}


def test_named_place_that_the_node_has_already_changes_nothing(check):
    """A repeated check patches no node whose data have the place already."""
    new = node(9, 'a', 'R1', profile=profile('R1', 'a'))

    reply = check(
        request(CREATE, [region_policy('R1'), zone_policy('a')], node=new), regions=['R1']
    )

    assert reply['nodes'] == {}


def test_recorded_node_counts_in_its_zone_for_the_next_plan(check):
    """A later plan counts a node where an earlier NODE_CREATE recorded it."""
    new = node(1, profile=profile(zone='a'))
    recorded = check(request(CREATE, [zone_policy('a', 'b')], node=new), zones=['a', 'b'])['nodes'][
        'n1'
    ]

    reply = check(
        request(
            'CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], [{**node(1), 'data': recorded['data']}]
        ),
        zones=['a', 'b'],
    )

    assert reply['action']['data']['creation']['zones'] == {'b': 1}


@pytest.mark.parametrize(('cap', 'status'), [(-1, 'OK'), (3, 'OK'), (2, 'ERROR'), (0, 'ERROR')])
def test_named_region_that_is_full_is_an_error(check, cap, status):
    """A node whose region is full is not created; the node does not count towards the cap."""
    new = node(9, profile=profile('R1'))
    members = [node(1, None, 'R1'), node(2), new]

    reply = check(
        request(CREATE, [capped(cap, 'R2')], members, node=new),
        regions=['R1', 'R2'],
        home_region='R1',
    )

    (decision,) = reply['decisions']
    assert reply['action']['data']['status'] == status
    if status == 'ERROR':
        assert decision['reason'] == 'There is no feasible plan to handle all nodes.'
        (place,) = decision['details'].pop('places')
        assert decision['details'] == {'asked': 1, 'possible': 0, 'missing': 1}
        assert (place['name'], place['current'], place['cap']) == ('R1', 2, cap)
        assert reply['nodes'] == {}


@pytest.mark.parametrize('policy', [region_policy('R1'), zone_policy('a')])
def test_named_place_in_a_cluster_of_the_largest_size_is_an_error(registry, policy):
    """A node that names its place does not exceed the size limit of clusters either."""
    own = {'availability_zone': 'a', 'context': {'region_name': 'R1'}}
    new = node(9, profile={'type': 'os.nova.server-1.0', 'properties': own})
    endpoints = Endpoints(Inventory(), registry, limits=lambda: Limits(nodes_per_cluster=2))

    reply = endpoints.policy_check(request(CREATE, [policy], [node(1), node(2)], node=new))

    assert (reply['action']['data']['status'], reply['nodes']) == ('ERROR', {})
    assert reply['action']['data']['reason'] == (
        'The target capacity (3) is greater than the maximum number of nodes allowed per '
        'cluster (2).'
    )


def test_named_region_that_the_policy_does_not_list_has_no_cap(check):
    """A region that the policy does not list takes any number of nodes."""
    members = [node(n, None, 'R9') for n in range(1, 5)]

    reply = check(
        request(CREATE, [capped(0)], members, node=node(9, profile=profile('R9'))),
        regions=['R1', 'R9'],
    )

    assert reply['decisions'][0]['reason'] == 'The profile asks for region R9.'
    assert reply['nodes'] == {'n9': {'data': {'placement': {'region_name': 'R9'}}}}


@pytest.mark.parametrize(
    ('new', 'zone'),
    [
        (node(9, profile=profile('R2')), 'a'),
        (node(9, None, 'R2'), 'a'),
        (node(9), 'b'),
    ],
)
def test_zone_of_a_new_node_is_planned_among_the_nodes_of_its_region(check, new, zone):
    """Nodes of other regions do not count for the zone of a new node, nor does the node itself."""
    members = [node(1, 'a'), node(2, 'a', 'R1'), node(3, 'b', 'R2'), {**new, 'data': new['data']}]
    regions = {name: {'zones': {'a': True, 'b': True}} for name in ('R1', 'R2')}

    reply = check(
        request(CREATE, [zone_policy('a', 'b')], members, node=new),
        regions=regions,
        home_region='R1',
    )

    assert reply['action']['data']['creation']['zones'] == {zone: 1}


def test_zone_of_a_new_node_is_one_that_the_nova_of_its_region_knows(check):
    """Zones of a new node are asked for in the region that its profile names."""
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]

    reply = check(request(CREATE, policies, node=node(9, profile=profile('R2'))), regions=regions)

    assert reply['nodes'] == {'n9': {'data': {'placement': {'region_name': 'R2', 'zone': 'b'}}}}


def test_node_of_a_host_counts_in_its_zone(check):
    """A node that was created on a named host of a zone is in that zone for later plans."""
    members = [node(1, 'a:host1'), node(2, 'b'), node(3, 'b')]

    reply = check(request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], members), zones=['a', 'b'])

    assert reply['action']['data']['deletion']['zones'] == {'b': 1}
