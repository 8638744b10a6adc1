"""Placement policies that are attached to a cluster which was created without them."""

import pytest

from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

ZONES = ('az1', ('az2', 200), 'az3')
ONE_REGION = {'R1': {'zones': dict.fromkeys(('az1', 'az2', 'az3'), True)}}
IN_R1 = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R1'}}}


def finals(decision, key):
    return {row['name']: row['final'] for row in decision['details'][key]}


@pytest.mark.parametrize('where', [{'home_region': 'R1'}, {'profile': IN_R1}])
def test_growing_an_existing_cluster_counts_its_nodes_in_their_region(check, where):
    """Nodes without placement data count in the region of their profile, or in the home region."""
    cloud = {
        'regions': ONE_REGION,
        **{key: value for key, value in where.items() if key == 'home_region'},
    }
    more = {key: value for key, value in where.items() if key == 'profile'}
    asked = request(
        'CLUSTER_SCALE_OUT',
        [region_policy('R1'), zone_policy(*ZONES)],
        nodes(az2=4),
        inputs={'count': 4},
        **more,
    )

    reply = check(asked, **cloud)

    assert [
        finals(one, key) for one, key in zip(reply['decisions'], ('regions', 'zones'), strict=True)
    ] == [
        {'R1': 8},
        {'az1': 2, 'az2': 4, 'az3': 2},
    ]


def test_growing_an_existing_cluster_respects_the_cap_of_its_region(check):
    """Nodes that precede the policy count towards the cap of their region."""
    policy = region_policy('R1', 'R2')
    policy['spec']['properties']['regions'][0]['cap'] = 4

    reply = check(
        request('CLUSTER_SCALE_OUT', [policy], nodes(az2=4), inputs={'count': 2}),
        regions=['R1', 'R2'],
        home_region='R1',
    )

    assert reply['action']['data']['creation']['regions'] == {'R2': 2}


def test_shrinking_an_existing_cluster_treats_its_nodes_as_those_of_their_region(check):
    """Nodes of the home region are not deleted before nodes that the policy placed elsewhere."""
    members = [
        node(1, 'az1'),
        node(2, 'az1'),
        node(3, 'az1', 'R2'),
        node(4, 'az1', 'R2'),
        node(5, 'az1', 'R2'),
    ]
    policies = [region_policy('R1', 'R2'), deletion_policy()]

    reply = check(
        request('CLUSTER_SCALE_IN', policies, members), regions=['R1', 'R2'], home_region='R1'
    )

    assert reply['action']['data']['deletion']['regions'] == {'R2': 1}
    assert reply['action']['data']['deletion']['candidates'] == ['n3']
