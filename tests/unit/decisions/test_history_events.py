"""The events of one record in the history of a node."""

import json
from importlib import metadata

from tests.factories import (
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab, patched
from tests.unit.decisions.conftest import recorded, shrinking


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


def test_failed_check_counts_if_it_names_the_node(decide, history):
    """A failure is an event of the nodes that its reason names, and of no other."""
    line, _ = decide(shrinking(1, *nodes(a=2), data={'deletion': {'candidates': ['n9']}}))

    assert history('n1', [line]) == []

    failed = request('NODE_CREATE', [zone_policy('gone')], node=node(9))
    (event,) = history('n9', [decide(failed)[0]])
    assert (event.event, event.text) == ('failed', 'No availability zone found available.')


def test_failed_check_of_a_node_with_a_longer_id_does_not_count(decide, history):
    """A reason about n12 is no event of n1."""
    members = [node(1), node(12, data={'protected': True})]
    line, _ = decide(request('CLUSTER_DEL_NODES', [deletion_policy()], members,
                             inputs={'candidates': ['n12']}))  # fmt: skip

    assert history('n1', [line]) == []
    assert [event.event for event in history('n12', [line])] == ['failed']


def test_event_names_cluster_policies_request_version_and_place_of_the_node(decide, history):
    """An operator sees which policies decided, for which request, and where the node was."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    (event,) = history('n1', [line])

    assert event.version == metadata.version('placement-worker')
    assert (event.cluster, event.place, event.request_id) == ('web', 'zone a', 'req-1')
    assert event.policies == [
        'zone_placement (senlin.policy.zone_placement-1.0): 1 node leaves 1 zone',
        'deletion (senlin.policy.deletion-1.1): Candidates generated',
    ]
