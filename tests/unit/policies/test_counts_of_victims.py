"""Plans by place and lists of victims agree for nodes that an engine or a policy names."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, node, region_policy, request, zone_policy

ENDPOINTS = Endpoints(
    Inventory.parse(
        {'regions': {name: {'zones': dict.fromkeys('abc', True)} for name in ('R1', 'R2')}}, 'test'
    ),
    Registry.installed(),
)
ZONES, REGIONS = ['a', 'b', 'x', None], ['R1', 'R2', 'RX', None]
POLICIES = {
    'zones': [zone_policy('a', 'b', 'c')],
    'regions': [region_policy('R1', 'R2')],
    'both': [region_policy('R1', 'R2'), zone_policy('a', 'b', 'c')],
}
HEALTHY = 2


@st.composite
def members(draw):
    """Draw nodes in known, unlisted and unknown places, some unhealthy, some protected."""
    drawn = []
    for number in range(1, draw(st.integers(1, 9)) + 1):
        more = draw(
            st.sampled_from(
                [{}, {}, {}, {'status': 'ERROR'}, {'tainted': True}, {'created_at': None},
                 {'metadata': {'protected': 'true'}}]
            )
        )  # fmt: skip
        zone, region = draw(st.sampled_from(ZONES)), draw(st.sampled_from(REGIONS))
        drawn.append(node(number, zone, region, **more))
    return drawn


@st.composite
def shrinking(draw):
    """Draw a request that removes nodes, the nodes that it names, and how many it asks for."""
    nodes = draw(members())
    free = [one['id'] for one in nodes if 'metadata' not in one]
    named = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    more = draw(st.integers(0, 3))
    asked = min(len(named) + more, len(nodes)) or 1
    form = draw(st.sampled_from(['data', 'data and count', 'inputs', 'resize', 'resize by name']))
    if form.startswith('data'):
        count = {'count': asked} if form == 'data and count' else {}
        data = {'deletion': {**({'candidates': named} if named else {}), **count}}
        action = draw(st.sampled_from(['CLUSTER_SCALE_IN', 'CLUSTER_RESIZE']))
        body = {'data': data}
        asked = asked if count else len(named) or 1
    elif form == 'inputs':
        action, body, named = 'CLUSTER_SCALE_IN', {'inputs': {'count': asked}}, []
    elif form == 'resize':
        action = 'CLUSTER_RESIZE'
        inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -asked}
        body = {'inputs': {**inputs, **({'candidates': named} if named else {})}}
    else:
        named = named or free[:1]
        action, body, asked = 'CLUSTER_RESIZE', {'inputs': {'candidates': named}}, len(named)
    criteria = draw(st.sampled_from(['OLDEST_FIRST', 'RANDOM']))
    policies = [*POLICIES[draw(st.sampled_from([*POLICIES]))], deletion_policy(criteria)]
    return request(action, policies, nodes, **body), named, asked


def place(one):
    """Return region and zone of a node."""
    placement = one['data'].get('placement', {})
    return placement.get('region_name'), placement.get('zone')


def group(one):
    """Return the group in which a node leaves."""
    if one['status'] == 'ERROR' or one.get('tainted'):
        return 0
    return HEALTHY if one['created_at'] else 1


@settings(max_examples=600)
@given(shrinking())
def test_plan_by_place_counts_each_victim_in_its_place(problem):
    """Zones, regions and places of a reply count its candidates, which are as many as possible."""
    asked, named, number = problem
    nodes = {one['id']: one for one in asked['cluster']['nodes']}
    if not number:
        return

    data = ENDPOINTS.policy_check(asked)['action']['data']

    assert data['status'] == 'OK', data
    deletion = data.get('deletion', {})
    victims = deletion.get('candidates', [])
    free = sum('metadata' not in one for one in nodes.values())
    assert len(victims) == min(number, free)
    if not free:
        return
    assert deletion['count'] == len(victims)
    assert victims[: len(named)] == named
    rest = [nodes[name] for name in victims[len(named) :]]
    assert [group(one) for one in rest] == sorted(group(one) for one in rest)
    where = [place(nodes[name]) for name in victims]
    if 'regions' in deletion:
        assert deletion['regions'] == Counter(region for region, _ in where if region)
    if 'places' in deletion:
        planned = {
            (one['region_name'], one.get('zone')): one['count'] for one in deletion['places']
        }
        held = Counter(one for one in where if one in planned)
        assert planned == {key: count for key, count in held.items() if count} | {
            key: count for key, count in planned.items() if key[1] is None
        }
    if 'zones' in deletion and 'regions' not in deletion:
        assert deletion['zones'] == Counter(zone for _, zone in where if zone)


@pytest.mark.parametrize(
    ('deletion', 'inputs', 'zones', 'victims'),
    [
        ({'count': 1, 'zones': {'b': 1}}, {'candidates': ['n1']}, {'a': 1}, ['n1']),
        ({'count': 1, 'candidates': ['n1', 'n2'], 'zone': {'a': 1}}, {}, {'a': 2}, ['n1', 'n2']),
        ({'count': 2, 'candidates': ['n3'], 'zones': {'a': 1}}, {}, {'a': 1, 'b': 1}, ['n3', 'n1']),
        ({'candidates': []}, {'candidates': ['n1']}, None, ['n1']),
    ],
    ids=['named elsewhere', 'more names than planned', 'another place', 'an empty list'],
)
def test_plan_of_an_engine_follows_the_named_nodes(deletion, inputs, zones, victims):
    """Zones that an engine planned are replaced by those of the nodes that are named."""
    members = [node(1, 'a'), node(2, 'a'), node(3, 'b')]
    policies = [deletion_policy()] if zones else [zone_policy('a', 'b'), deletion_policy()]

    reply = ENDPOINTS.policy_check(
        request('CLUSTER_SCALE_IN', policies, members, data={'deletion': deletion}, inputs=inputs)
    )

    found = reply['action']['data']['deletion']
    assert (found['candidates'], 'zone' in found) == (victims, False)
    assert found['zones'] == (zones or {'a': 1})
