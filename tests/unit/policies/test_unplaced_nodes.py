"""Nodes of unknown place: every plan says that it does not count them."""

import pytest

from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

REGIONS = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': True}}}
SENTENCE = 'The place of {} of {} is unknown; the plan does not count them: {}'


def unplaced(reply, key='zones', decision=0):
    """Return the number of unplaced nodes, and current, planned and final in their row."""
    details = reply['decisions'][decision]['details']
    rows = [row for row in details[key] if row['note'] == 'no known place']
    return details['unplaced'], [(row['current'], row['planned'], row['final']) for row in rows]


@pytest.mark.parametrize(
    ('action', 'count', 'row'),
    [('CLUSTER_SCALE_OUT', 2, (4, 0, 4)), ('CLUSTER_SCALE_IN', 3, (4, 3, 1))],
)
def test_plan_by_zone_names_three_nodes_of_unknown_place(check, action, count, row):
    """Growth and shrinkage count the nodes of unknown place in details, a row and a warning."""
    members = [*nodes(a=2), node(3), node(6), node(4, data={'placment': {'zone': 'a'}}), node(5)]

    reply = check(
        request(action, [zone_policy('a', 'b')], members, inputs={'count': count}),
        zones=['a', 'b'],
    )

    assert unplaced(reply) == (4, [row])
    assert reply['warnings'] == [SENTENCE.format(4, '6 nodes', 'n3, n4, n5, ...')]


def test_plan_by_region_names_the_nodes_of_unknown_region(check):
    """Without a home region, a node that names no region has no known place."""
    members = [node(1, None, 'R1'), node(2)]

    reply = check(
        request('CLUSTER_SCALE_OUT', [region_policy('R1', 'R2')], members), regions=REGIONS
    )

    assert unplaced(reply, 'regions') == (1, [(1, 0, 1)])
    assert reply['warnings'] == [SENTENCE.format(1, '2 nodes', 'n2')]


def test_plan_by_both_names_the_nodes_of_unknown_zone_in_a_planned_region(check):
    """A node whose region is known counts there, and under no zone."""
    members = [node(1, None, 'R1'), node(2, 'a', 'R2'), node(3, None, 'R2')]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]

    reply = check(
        request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': 3}), regions=REGIONS
    )

    assert unplaced(reply, 'regions') == (0, [])
    assert unplaced(reply, 'zones', 1) == (2, [(1, 0, 1), (1, 0, 1)])
    assert reply['warnings'] == [SENTENCE.format(2, '3 nodes', 'n1, n3')]


def test_new_node_counts_only_the_nodes_of_its_region(check):
    """A NODE_CREATE names no node of another region."""
    new = node(9, data={}, created_at=None, status='INIT') | {
        'profile': {
            'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R1'}}
        }
    }  # fmt: skip
    members = [node(1, None, 'R1'), node(2, None, 'R2'), new]

    reply = check(request('NODE_CREATE', [zone_policy('a')], members, node=new), regions=REGIONS)

    assert reply['warnings'] == [SENTENCE.format(1, '2 nodes', 'n1')]


def test_plan_of_placed_nodes_mentions_none(check):
    """A plan of nodes in known places has neither row nor warning."""
    reply = check(
        request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=3)), zones=['a']
    )

    assert (unplaced(reply), reply['warnings']) == ((0, []), [])
