"""Protected nodes in whole chains: no reply names one as a candidate."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.contract import actions
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry
from tests.factories import (
    NOW,
    connected,
    deletion_policy,
    node,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import left

SCALE_IN = 'CLUSTER_SCALE_IN'
PROTECTING = [True, 'TRUE', '2026-01-01T12:00:01', {'until': '2027-01-01'}, '{"reason": "x"}', '?']
OTHERS = [None, False, 'false', '2026-01-01', {'until': '2026-01-01T12:00:00Z'}]
DELETIONS = [
    deletion_policy('RANDOM', version='1.0'),
    deletion_policy(version='1.1'),
    deletion_policy('YOUNGEST_FIRST', version='1.2'),
    deletion_policy(version='1.2', protection='strict'),
]
PLACES = [region_policy('R1', 'R2'), zone_policy('a', 'b')]
BALANCED = Lab(description={'zones': {'a': True, 'b': True}, 'regions': ['R1', 'R2']})
ENDPOINTS = Endpoints(BALANCED, Registry.installed(), WorkerSettings(now=lambda: NOW))
BALANCER, _ = BALANCED.attached([])
REFUSED = 'Protected nodes must not be deleted: n1 is protected; remove their protection first'


@st.composite
def members(draw):
    """Draw nodes in various places and states, and the ids of those that are protected."""
    found, protected = [], set()
    for number in range(1, draw(st.integers(1, 7)) + 1):
        values = draw(st.lists(st.sampled_from([*OTHERS, *PROTECTING]), min_size=2, max_size=2))
        place = draw(st.tuples(st.sampled_from('abx'), st.sampled_from(['R1', 'R2', None])))
        one = node(
            number,
            *place,
            status=draw(st.sampled_from(['ACTIVE', 'ERROR'])),
            created_at=draw(st.sampled_from([None, '2026-01-01T00:00:00Z'])),
            metadata={'protected': values[0]},
        )
        one['data']['protected'] = values[1]
        found.append(one)
        if any(value in PROTECTING for value in values):
            protected.add(one['id'])
    return found, protected


@st.composite
def requests(draw):
    """Draw a removal from a cluster with some policies, and the ids of its protected nodes."""
    nodes, protected = draw(members())
    ids = st.lists(st.sampled_from([one['id'] for one in nodes]), min_size=1, unique=True)
    action = draw(st.sampled_from(sorted({'CLUSTER_CHECK', *actions.REMOVING})))
    more = {}
    if action == 'NODE_DELETE':
        more['node'] = draw(st.sampled_from(nodes))
    elif action == 'CLUSTER_DEL_NODES':
        more['inputs'] = {'candidates': draw(ids)}
    elif action == 'CLUSTER_REPLACE_NODES':
        more['inputs'] = {'candidates': {one: f'{one}-new' for one in draw(ids)}}
    elif action == 'CLUSTER_RESIZE':
        number = draw(st.integers(-7, -1))
        more['inputs'] = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number}
    else:
        more['inputs'] = {'count': draw(st.integers(1, 7))}
        plan = draw(
            st.sampled_from([{}, {'zones': {'a': 1}}, {'zones': {'a': 1, 'b': 2}}, {'zones': {}}])
        )
        if draw(st.booleans()):
            more['data'] = {'deletion': {'count': draw(st.integers(3, 5)), **plan}}
        elif draw(st.booleans()):
            named = draw(ids | ids.map(lambda one: dict.fromkeys(one, 'new')))
            more['data'] = {'deletion': {'candidates': named}}
    choosers = draw(st.sampled_from([[one] for one in DELETIONS] + [[]]))
    balanced = [BALANCER] if draw(st.booleans()) else []
    places = [one for one in PLACES if draw(st.booleans())]
    return request(action, [*places, *choosers, *balanced], nodes, dry_run=True, **more), protected


@settings(max_examples=4 * settings.default.max_examples)
@given(requests())
def test_no_reply_names_a_protected_node_as_a_candidate(problem):
    """No candidate is protected, and a check that names a protected node fails, for every action,
    every set of policies and all earlier decisions.
    """
    asked, protected = problem

    reply = ENDPOINTS.policy_check(asked)

    data = reply['action']['data']
    if data['status'] == 'OK':
        inputs = asked['action'].get('inputs', {})
        target = asked['action'].get('node', {}).get('id')
        candidates = data.get('deletion', {}).get('candidates', [])
        named = [*candidates, *inputs.get('candidates', ()), target]
        assert protected.isdisjoint(named)


ONE = node(1, 'a', metadata={'protected': 'true'})


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n2']}}),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': 7}}),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1']}, 'target': 'AFTER'}),
        ('CLUSTER_CHECK', {'inputs': {'candidates': ['n1']}}),
        ('NODE_UPDATE', {'node': ONE}),
        ('NODE_DELETE', {'node': ONE, 'cause': actions.DERIVED}),
        *(
            ('CLUSTER_CHECK', {'data': {'deletion': malformed}})
            for malformed in (7, {'candidates': 7}, {'candidates': [7, ['n1']]})
        ),
    ],
)
def test_action_that_deletes_no_protected_node_passes_without_policies(check, action, more):
    """Only an action that names a protected node for deletion is refused, and only BEFORE."""
    data = check(request(action, [], [ONE, node(2, 'a')], **more))['action']['data']

    assert data['status'] == 'OK'
    assert data.get('deletion') == more.get('data', {}).get('deletion')


def test_protected_node_outside_the_cluster_does_not_limit_the_plan(check):
    """The node of the action is not a member here, so it does not reduce the number of victims."""
    stranger = node(9, 'a', data={'protected': True})
    policies = [zone_policy('a', 'b'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, [node(1, 'a')], node=stranger), 'ab')

    deletion = reply['action']['data']['deletion']
    assert (deletion['zones'], deletion['candidates']) == ({'a': 1}, ['n1'])


def balanced(*protected):
    """Return a lab with three nodes with members; those with the given numbers are protected."""
    lab = Lab()
    policy, nodes = lab.attached([connected(number) for number in (1, 2, 3)])
    marked = [
        {**one, 'metadata': {'protected': 'true'}} if one['index'] in protected else one
        for one in nodes
    ]
    return lab, policy, marked


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        (SCALE_IN, {'data': {'deletion': {'candidates': ['n1', 'n2']}}}),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n4'}}}),
        ('NODE_DELETE', {'node': connected(1)}),
    ],
)
def test_load_balancing_keeps_the_members_of_named_protected_nodes(action, more):
    """Load balancing refuses named protected nodes before it removes a member."""
    lab, policy, nodes = balanced(1)

    data = lab.check(request(action, [policy], nodes, **more))['action']['data']

    assert (data['status'], data['reason']) == ('ERROR', REFUSED)
    assert left(lab) == ['n1', 'n2', 'n3']


OF_PLACES = [{'region_name': 'R1', 'zone': 'a', 'count': 2}]


@pytest.mark.parametrize(
    ('plan', 'other', 'trimmed'),
    [
        ({'zones': {'a': 1}}, None, {'zones': {}}),
        ({'zones': {'a': 2}}, 'a', {'zones': {'a': 1}}),
        ({'regions': {'R1': 2}}, 'a', {'regions': {'R1': 1}}),
        ({'places': OF_PLACES}, 'a', {'places': [{**OF_PLACES[0], 'count': 1}]}),
        (
            {'regions': {'R1': 2}, 'zones': {'a': 2}, 'places': OF_PLACES},
            'a',
            {'regions': {'R1': 1}, 'zones': {'a': 1}, 'places': [{**OF_PLACES[0], 'count': 1}]},
        ),
    ],
    ids=['unknown place', 'zones', 'regions', 'places', 'both'],
)
@pytest.mark.parametrize('chooser', ['deletion', 'load balancing'])
def test_plan_of_another_policy_follows_the_trimmed_count(plan, other, trimmed, chooser):
    """Protected nodes leave a plan of fewer nodes; others of unknown place leave as asked."""
    placed = {'placement': {'zone': other, 'region_name': 'R1'}} if other else {}
    nodes = [
        connected(1, metadata={'protected': 'true'}) | {'data': node(1, 'a', 'R1')['data']},
        connected(2) | {'data': placed},
    ]
    data = {'deletion': {'count': 2, **plan}}
    policy = deletion_policy(version='1.2') if chooser == 'deletion' else BALANCER
    lab = Lab() if chooser == 'deletion' else BALANCED

    reply = lab.check(request(SCALE_IN, [policy], nodes, data=data, dry_run=True))

    deletion = reply['action']['data']['deletion']
    assert {key: deletion.get(key) for key in trimmed} == trimmed
    assert (deletion['count'], deletion['candidates']) == (1, ['n2'])
    assert 'Only 1 of 2 nodes can be deleted: n1 is protected' in reply['warnings']


@pytest.mark.parametrize(
    ('count', 'names', 'reason'),
    [
        (2, ('a', 'b'), 'There is no feasible plan to handle all nodes.'),
        (1, ('x', 'y'), 'No availability zone found available.'),
        (1, ('a', 'b'), 'All nodes are protected.'),
    ],
    ids=['more nodes than there are', 'unknown zones', 'valid'],
)
def test_placement_alone_checks_the_action_before_it_finds_all_nodes_protected(
    check, count, names, reason
):
    """Protection does not hide that an action cannot be carried out anyway."""
    members = [node(1, 'a', metadata={'protected': 'true'})]

    reply = check(
        request(SCALE_IN, [zone_policy(*names)], members, inputs={'count': count}), zones=['a', 'b']
    )

    assert reply['decisions'][0]['reason'] == reason
