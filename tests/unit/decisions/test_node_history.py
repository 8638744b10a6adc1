"""The history of a node in decision logs."""

import json

import pytest

from placement_worker.decisions.records import InvalidLine
from tests.factories import (
    NOW,
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    rebalance,
    redistributing,
    refused,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab, patched
from tests.unit.decisions.conftest import recorded, shrinking


def growth(decide, members, created, **more):
    """Return the checks before and after a scale-out that creates the last members."""
    policies = [zone_policy('a', 'b')]
    inputs = {'count': len(created)}
    before = members[: -len(created)]
    data = {'creation': {**inputs, 'nodes': created}}
    asked = request('CLUSTER_SCALE_OUT', policies, before, inputs=inputs, **more)
    done = request('CLUSTER_SCALE_OUT', policies, members, target='AFTER', data=data)
    return decide(asked)[0], decide(done)[0]


def test_created_node_has_the_plan_of_its_action(decide, history):
    """The plan of a scale-out is found by its action, although it does not name the node."""
    planned, created = growth(decide, nodes(a=2, b=1), ['n3'])

    (event,) = history('n3', [created], [planned])

    assert (event.event, event.text, event.action_id) == ('placed', 'in zone b', 'act-1')
    rows = [(row['name'], row['current'], row['final']) for row in event.places]
    assert rows == [('a', 2, 2), ('b', 0, 1)]


def test_created_node_has_no_plan_of_a_dry_run(decide, history):
    """A dry run changes nothing: it is no second plan of the node."""
    planned, created = growth(decide, nodes(a=2, b=1), ['n3'])
    tried, _ = growth(decide, nodes(a=2, b=1), ['n3'], dry_run=True)

    assert [event.event for event in history('n3', [tried, planned, created])] == ['placed']


def test_lines_without_the_node_are_not_decoded(decide, history):
    """Only lines with the node's name are decoded, so a large log costs little."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    assert history('n7', [b'{}\n', line]) == []


def test_two_created_nodes_of_the_same_name_have_an_event_each(decide, history):
    """No node hides another node that the same action has created under the same name."""
    members = [node(1, 'a', name='web'), node(2, 'b', name='web')]

    found = history('web', growth(decide, members, ['n1', 'n2']))

    places = [(event.node, event.text) for event in found]
    assert places == [('n1', 'in zone a'), ('n2', 'in zone b')]


SHRUNK = [node(1, 'a'), node(2, 'a', name='web-2'), node(3, 'b', status='ERROR')]
PROTECTED = {'protected': {'until': '2999-01-01', 'reason': 'batch job'}}
BY_NAME = {'inputs': {'candidates': ['n12']}}


@pytest.mark.parametrize(
    ('asked', 'name', 'events'),
    [
        # A log without explanations is explained by deciding again.
        (shrinking(2, *SHRUNK), 'n3', [('chosen', 'rank 1 (unhealthy) among 2 victims')]),
        (shrinking(2, *SHRUNK), 'n1', [('chosen', 'rank 2 (oldest in a) among 2 victims')]),
        (shrinking(2, *SHRUNK), 'web-2', [('spared', 'rank 3 (oldest) after 2 victims')]),
        # A protected node has no rank.
        (shrinking(1, *nodes(a=2), node(3, 'a', data=PROTECTED)), 'n3',
         [('spared', 'protected until 2999-01-01 (batch job)')]),
        # Each node may have been the victim of the engine.
        *((request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2, b=1),
                   inputs={'count': 1}), name,
           [('unnamed', '1 victim without a name (a: 1): no policy chose, so the engine did')])
          for name in ('n1', 'n3')),
        # A failure is an event of the nodes that its reason names, and of no other.
        (shrinking(1, *nodes(a=2), data={'deletion': {'candidates': ['n9']}}), 'n1', []),
        (request('NODE_CREATE', [zone_policy('gone')], node=node(9)), 'n9',
         [('failed', 'No availability zone found available.')]),
        *((request('CLUSTER_DEL_NODES', [deletion_policy()],
                   [node(1), node(12, data={'protected': True})], **BY_NAME), name, events)
          for name, events in (
              ('n1', []),
              ('n12', [('failed', 'Protected nodes must not be deleted: n12 is protected; '
                        'remove their protection first')]))),
        # A dry run changes nothing.
        (shrinking(1, *nodes(a=2), dry_run=True), 'n1', []),
    ],
)  # fmt: skip
def test_check_is_an_event_of_the_nodes_that_it_concerns(decide, history, asked, name, events):
    """A check is an event of each victim, spared, protected and failed node, with the reason."""
    line, _ = decide(asked)

    assert [(event.event, event.text) for event in history(name, [line])] == events


@pytest.mark.parametrize(
    ('name', 'attempts', 'events'),
    [
        ('n4', 1, ['chosen', '1 failed attempt in zone a, the latest at 2026-01-01T11:59:00Z']),
        ('n4', 2, ['chosen', '2 failed attempts in zone a, the latest at 2026-01-01T11:59:00Z']),
        ('n1', 1, ['chosen']),
        ('n5', 1, ['spared']),
    ],
)
def test_deleted_node_has_the_record_of_its_failure(decide, history, name, attempts, events):
    """A node that found no room is listed with the record that replaces it; others are not."""
    policies = [redistributing(zone_policy('a', 'b')), deletion_policy()]
    members = [*nodes(a=1), refused(4, 'a'), refused(5, 'b'), refused(6, 'b')]
    failures = [{'zone': 'a', 'at': '2026-01-01T11:50:00Z', 'attempts': 1}][: attempts - 1]
    asked = request('CLUSTER_DEL_NODES', policies, members, inputs={'candidates': ['n1', 'n4']})
    asked['cluster']['data'] = {'placement_failures': failures}

    line, _ = decide(asked, now=lambda: NOW)

    seen = [
        event.text if event.event == 'recorded' else event.event for event in history(name, [line])
    ]
    assert seen == events


@pytest.mark.parametrize(
    ('change', 'error'),
    [
        (lambda one: one['request'].update(target='DURING'), '$.target'),
        (lambda one: one['reply'].pop('decisions'), 'field `decisions` - at `$.reply`'),
        (lambda one: one['reply'].pop('nodes'), 'missing required field `nodes` - at `$.reply`'),
        (lambda one: one['reply']['action'].pop('data'), 'field `data` - at `$.reply.action`'),
        (lambda one: one['reply']['action']['data'].update(deletion=[]), 'Expected `object`'),
        (lambda one: one['reply']['decisions'][0].pop('details'), 'field `details` - at `$.reply'),
    ],
)
def test_edited_record_is_an_invalid_line(decide, history, change, error):
    """A record that no worker writes is reported with its line, and the others are read."""
    line, _ = decide(shrinking(1, *nodes(a=2)))
    edited = json.loads(line)
    change(edited)

    invalid, event = history('n1', [json.dumps(edited).encode() + b'\n', line])

    assert isinstance(invalid, InvalidLine)
    assert invalid.number == 1
    assert error in invalid.error
    assert event.event == 'chosen'


def test_created_node_with_malformed_placement_is_placed_nowhere(decide, history):
    """A placement that earlier versions accepted in another form does not break the history."""
    line, _ = decide(request('NODE_CREATE', [deletion_policy()], node=node(1, created_at=None)))
    earlier = json.loads(line)
    earlier['request']['action']['node']['data'] = {'placement': 'a'}

    (event,) = history('n1', [json.dumps(earlier).encode()])

    assert event.text.startswith('nowhere: ')


def test_pool_member_joins_and_leaves(history):
    """A node joins a pool when the policy is attached, and leaves it when it is detached."""
    endpoints, lines = recorded(Lab())
    member, policy = connected(1), load_balancing_policy()
    attached = endpoints.policy_attach(bind(policy, [member]))
    bound = {**policy, 'data': attached['policy']['data']}
    endpoints.policy_detach(bind(bound, patched([member], attached)))

    joined, left = history('n1', lines)

    assert [joined.event, left.event] == ['joined', 'left']
    assert joined.text == f'member {attached["nodes"]["n1"]["data"]["lb_member"]} was added'
    assert (joined.action, left.action) == ('policy_attach', 'policy_detach')


def test_member_of_a_repaired_node_joins_without_a_failure(history):
    """The check that ends the warning of a failed one is no failure of the node."""
    endpoints, lines = recorded(Lab())
    policy = load_balancing_policy()
    bound = {**policy, 'data': endpoints.policy_attach(bind(policy, []))['policy']['data']}
    new = connected(1, status='WARNING', status_reason='Failed in adding node into lb pool.')
    created = {'creation': {'nodes': ['n1']}}
    reply = endpoints.policy_check(
        request('CLUSTER_ADD_NODES', [bound], [new], target='AFTER', data=created)
    )

    (event,) = history('n1', lines)

    assert reply['nodes']['n1']['status'] == 'ACTIVE'
    assert event.event == 'joined'


def test_node_spared_by_a_health_floor_has_its_rank_and_the_floor(history):
    """The event of a victim that a health floor spares has the rank that it had, and the pool."""
    lab = Lab()
    policy, members = lab.attached(
        [connected(number) for number in (1, 2)], version='1.4', min_online=1, health_monitor={}
    )
    endpoints, lines = recorded(lab)
    policies = [deletion_policy(), policy]
    endpoints.policy_check(request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert [(one.event, one.text) for one in history('n2', lines)] == [
        ('spared', f'rank 2 (health floor of pool {pool}) after 1 victim')
    ]


@pytest.mark.parametrize('rows', [5, [5], [{'rank': 1}], [{'id': 5, 'rank': 1}]])
def test_victim_in_a_record_with_edited_rows_has_its_rank(decide, history, rows):
    """Rows of a record that cannot be decided again are skipped if they name no node."""
    line = json.loads(decide(shrinking(1, *nodes(a=2)))[0])
    line['reply']['decisions'][-1]['details']['victims'] = rows
    line['request']['policies'][0]['spec']['type'] = 'missing'

    (event,) = history('n1', [json.dumps(line).encode()])

    assert event.text == 'rank 1 among 1 victim'


def test_event_has_the_circumstances_of_its_decision(decide, history):
    """An operator learns which request and policies decided, with which warnings and plan."""
    line, _ = decide(shrinking(1, *nodes(a=2), node(3, name='web-3')))

    (event,) = history('web-3', [line])

    assert (event.node, event.cluster, event.request_id, event.action_id) == (
        'n3', 'web', 'req-1', 'act-1',
    )  # fmt: skip
    assert event.policies[1] == 'deletion (senlin.policy.deletion-1.1): Candidates generated'
    unknown = 'The place of 1 of 3 nodes is unknown; the plan does not count them: n3'
    assert event.warnings == [unknown]
    assert [row['name'] for row in event.places] == ['a', 'b', '-']


def test_victim_of_a_missing_policy_has_its_rank_in_the_list(decide, history):
    """A decision that cannot be made again still names its victims and the policy."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    (event,) = history('n1', [line.replace(b'policy.deletion', b'policy.removed')])

    assert event.text == 'rank 1 (chosen by deletion: Candidates generated) among 1 victim'


def test_rebalance_is_no_event_of_its_nodes(decide, history):
    """A plan alone does nothing to a node; the checks of its steps are events."""
    asked = rebalance([zone_policy('a', 'b')], nodes(a=2))

    line, reply = decide(asked, method='policy_rebalance')

    assert len(reply['steps']) == 1
    assert history('n1', [line]) == []
