"""The comparison of a cluster with the result of a reply."""

from placement_worker.cmd import plan_comparison
from placement_worker.cmd.plan_changes import PoolChange
from placement_worker.cmd.plan_diff import shown
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply, CheckRequest
from tests.factories import (
    connected,
    deletion_policy,
    node,
    nodes,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.cmd.pool_changes import POOL

IDLE = request('CLUSTER_UPDATE', [zone_policy('a')], nodes(a=1))


def test_compare_with_a_load_balancing_decision_reads_the_pool():
    """The change of a pool comes from the decision of the load-balancing policy."""
    reply = {
        'action': {'id': 'a', 'data': {'status': 'OK', 'reason': 'r'}},
        'cluster': None,
        'nodes': {},
        'decisions': [
            {
                'policy_id': 'p',
                'policy_name': None,
                'policy_type': 'senlin.policy.loadbalance-1.3',
                'priority': 500,
                'outcome': 'APPLIED',
                'reason': 'r',
                'elapsed_ms': 1.0,
                'details': POOL,
            },
        ],
    }
    found = plan_comparison.compare(
        codec.decode(IDLE, CheckRequest), codec.decode(reply, CheckReply)
    )

    assert found.pools == [PoolChange('p', POOL)]
    assert found.any


def test_compare_with_a_dry_run_of_load_balancing_only_reads_octavia():
    """A dry run shows the planned members, and writes nothing to Octavia."""
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    lab.calls.clear()
    data = {'creation': {'count': 2, 'nodes': ['n2', 'n3', 'n4']}}
    asked = request(
        'CLUSTER_SCALE_OUT',
        [policy],
        [*members, connected(3), connected(4)],
        target='AFTER',
        data=data,
        dry_run=True,
    )

    lines = shown(
        plan_comparison.compare(
            codec.decode(asked, CheckRequest), codec.decode(lab.check(asked), CheckReply)
        )
    )

    assert lines == [
        'CLUSTER_SCALE_OUT of cluster web, AFTER: 4 nodes',
        '',
        f'Pool {policy["data"]["LoadBalancingPolicy"]["data"]["pool"]} (loadbalance):',
        '  + n3',
        '  + n4',
        '    already there: n2',
        '    api calls: 1',
        '    1 load-balancer update, about 1 s',
        '',
        'Plan: 1 load-balancer update. Nothing was done.',
        '',
    ]
    assert [str(call) for call in lab.calls if call.writes] == []


def test_compare_with_spared_victims_counts_the_places_of_the_others():
    """If a health floor spares victims, the plan by zone is replaced by the actual victims."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    placed = [connected(n, data={'placement': {'zone': 'ab'[n % 2]}}) for n in range(1, 5)]
    policy, members = lab.attached(placed, version='1.4', min_online=3)
    policies = [zone_policy('a', 'b'), deletion_policy(grace_period=9), policy]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}, dry_run=True)

    found = plan_comparison.compare(
        codec.decode(asked, CheckRequest), codec.decode(lab.check(asked), CheckReply)
    )

    (changes,) = found.places.values()
    assert (found.deleted, found.wait_s) == (1, 9)
    assert sorted(row.after - row.before for row in changes) == [-1, 0]


def test_compare_a_deletion_has_the_protected_nodes(check):
    """The plan shows the nodes that are protected, with end and reason, and counts the others."""
    members = [*nodes(a=1), node(2, 'a', metadata={'protected': {'until': '9999-12-01'}})]
    members.append(node(3, 'b', metadata={'protected': {'reason': 'batch\x1b job'}}))
    asked = request(
        'CLUSTER_SCALE_IN',
        [zone_policy('a', 'b'), deletion_policy()],
        members,
        inputs={'count': 2},
        explain='full',
    )

    found = plan_comparison.compare(
        codec.decode(asked, CheckRequest), codec.decode(check(asked, 'ab'), CheckReply)
    )

    assert shown(found)[1:] == [
        'CLUSTER_SCALE_IN of cluster web, BEFORE: 3 nodes -> 2',
        '',
        'Zones:',
        '  - a  2 -> 1  -1     1 protected',
        '    b  1 -> 1         1 protected',
        '',
        'To be deleted, in this order:',
        '  - n1  a  oldest in a  ACTIVE',
        '',
        'Protected from deletion:',
        '    n2  a  until 9999-12-01',
        '    n3  b                    batch\\u001b job',
        '',
        'Plan: 1 node to delete. Nothing was done.',
        '',
    ]


def test_compare_a_deletion_without_unprotected_nodes_changes_nothing(check):
    """If all nodes are protected, the plan says so."""
    members = [node(1, metadata={'protected': 'true'})]
    asked = request('CLUSTER_SCALE_IN', [deletion_policy()], members, explain='full')

    found = plan_comparison.compare(
        codec.decode(asked, CheckRequest), codec.decode(check(asked), CheckReply)
    )

    assert shown(found)[-2] == 'Policies change nothing: All nodes are protected'
