"""Unhealthy nodes leave first, whatever placement policies are bound."""

from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy
from tests.unit.policies.replies import deleted

SCALE_IN = 'CLUSTER_SCALE_IN'
REGIONS = {
    'R1': {'zones': {'a': True, 'b': False}},
    'R2': {'zones': {'a': True, 'c': True}},
    'R3': {'zones': {'q': True}},
}
ENDPOINTS = Endpoints(
    Inventory.parse({'regions': REGIONS, 'home_region': 'R1'}, 'test'), Registry.installed()
)
STATES = {'unhealthy': {'status': 'ERROR'}, 'never created': {'created_at': None}, 'healthy': {}}


def test_failed_zone_loses_its_unhealthy_nodes_and_others_lose_none(check):
    """Unhealthy nodes of one zone leave before healthy nodes of a fuller zone."""
    members = [*nodes(a=4), node(5, 'b', status='ERROR'), node(6, 'b', status='ERROR')]
    policies = [zone_policy('a', 'b'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members, inputs={'count': 2}), zones=['a', 'b'])

    assert reply['action']['data']['deletion']['zones'] == {'b': 2}
    assert deleted(reply) == ['n5', 'n6']


def test_unhealthy_nodes_of_a_failed_region_leave_before_healthy_ones(check):
    """The plan by region counts unhealthy nodes as the plan by zone does."""
    members = [node(n, None, 'R1') for n in range(1, 5)] + [node(5, None, 'R2', tainted=True)]
    policies = [region_policy('R1', 'R2'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, members), regions=['R1', 'R2'])

    assert reply['action']['data']['deletion']['regions'] == {'R2': 1}
    assert deleted(reply) == ['n5']


@st.composite
def members(draw):
    """Draw nodes of any health in known, unlisted and unknown places."""
    kinds = draw(st.lists(st.sampled_from(sorted(STATES)), min_size=1, max_size=14))
    return [
        node(
            number,
            draw(st.sampled_from(['a', 'b', 'c', 'x', None])),
            draw(st.sampled_from(['R1', 'R2', 'R3', 'R9', None])),
            **STATES[kind],
        )
        for number, kind in enumerate(kinds, start=1)
    ]


def group(member):
    """Return the group of a node: 0 unhealthy, 1 never created, 2 healthy."""
    if member['status'] == 'ERROR':
        return 0
    return 1 if member['created_at'] is None else 2


@settings(max_examples=300)
@given(
    cluster=members(),
    share=st.integers(1, 14),
    caps=st.lists(st.integers(-1, 4), min_size=3, max_size=3),
    planned=st.sets(st.sampled_from(['zones', 'regions'])),
    criteria=st.sampled_from(['RANDOM', 'OLDEST_FIRST', 'YOUNGEST_FIRST']),
)
def test_no_node_leaves_while_one_of_an_earlier_group_stays(
    cluster, share, caps, planned, criteria
):
    """No healthy node leaves while an unhealthy one stays, and the number of victims is exact."""
    regions = region_policy('R1', ('R2', 200), 'R3')
    for region, cap in zip(regions['spec']['properties']['regions'], caps, strict=True):
        region['cap'] = cap
    placement = {'zones': zone_policy('a', ('b', 300), 'c'), 'regions': regions}
    policies = [*(placement[one] for one in sorted(planned)), deletion_policy(criteria)]
    count = min(share, len(cluster))

    reply = ENDPOINTS.policy_check(request(SCALE_IN, policies, cluster, inputs={'count': count}))

    gone = set(deleted(reply))
    assert reply['action']['data']['status'] == 'OK'
    assert len(gone) == count
    leaving = [group(member) for member in cluster if member['id'] in gone]
    staying = [group(member) for member in cluster if member['id'] not in gone]
    assert max(leaving) <= min(staying, default=2)


def test_removal_counts_of_another_policy_apply_before_the_groups(check):
    """Removal counts of an earlier policy are kept; the groups count within each place."""
    cluster = [
        node(1, 'a'),
        node(2, 'a', status='ERROR'),
        node(3, 'b', status='ERROR'),
        node(4, 'b'),
    ]
    data = {'deletion': {'count': 1, 'zones': {'a': 1}}}

    reply = check(request(SCALE_IN, [deletion_policy()], cluster, data=data), zones=['a', 'b'])

    assert deleted(reply) == ['n2']


def test_victims_of_unknown_place_have_that_reason_unless_unhealthy(check):
    """A healthy victim that a plan takes because its place is unknown has that reason."""
    cluster = [*nodes(a=2), node(3), node(4, status='ERROR')]
    policies = [zone_policy('a'), deletion_policy()]

    reply = check(
        request(SCALE_IN, policies, cluster, inputs={'count': 2}, explain='full'), zones=['a']
    )

    details = reply['decisions'][1]['details']
    assert details['reasons'] == {'place unknown': 1, 'unhealthy': 1}
    assert [(one['id'], one['reason']) for one in details['victims']] == [
        ('n4', 'unhealthy'),
        ('n3', 'place unknown'),
    ]


def test_victims_of_unknown_zone_in_a_known_region_have_that_reason(check):
    """With both plans, a victim whose zone alone is unknown has that reason too."""
    cluster = [node(1, 'a', 'R2'), node(2, 'c', 'R2'), node(3, None, 'R2')]
    policies = [region_policy('R2'), zone_policy('a', 'c'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, cluster), regions=REGIONS)

    assert reply['decisions'][2]['details']['reasons'] == {'place unknown': 1}


def test_victims_without_a_plan_have_the_reason_of_their_criterion(check):
    """Without a placement policy, places do not matter for the reasons."""
    reply = check(request(SCALE_IN, [deletion_policy()], [node(1), node(2)]))

    assert reply['decisions'][0]['details']['reasons'] == {'oldest': 1}
