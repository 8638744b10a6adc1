"""The load balancers of simulated clusters."""

import pytest

from placement_worker.contract.model import Address, Node, ServerDetails
from placement_worker.simulation.balanced_pools import BalancedPools
from placement_worker.simulation.run import play
from placement_worker.simulation.scenario import InvalidScenario


def members(record):
    return [pool.members for pool in record.pools]


def test_members_follow_the_nodes(run, balanced):
    """New nodes become members, and members of deleted nodes are removed, in one update each."""
    records = run([{'scale_out': 6}, {'scale_in': 2}, {'resize': 5}], **balanced)

    assert [members(record) for record in records] == [[6], [4], [5]]
    assert [record.updates for record in records] == [1, 1, 1]
    assert [record.pools[0].policy for record in records] == ['lb'] * 3


def test_members_of_failed_nodes_stay_until_their_nodes_are_replaced(run, balanced):
    """A failed node keeps its member; its replacement takes two updates."""
    records = run([{'scale_out': 6}, {'fail_nodes': 2}, {'replace_failed': True}], **balanced)

    assert [(members(record), record.failed, record.updates) for record in records] == [
        ([6], 0, 1),
        ([6], 2, 0),
        ([6], 0, 2),
    ]
    phases = [(check.action, check.phase) for check in records[-1].checks]
    assert phases == [
        ('CLUSTER_SCALE_OUT', 'BEFORE'),
        ('CLUSTER_SCALE_OUT', 'AFTER'),
        ('CLUSTER_DEL_NODES', 'BEFORE'),
    ]


def test_members_survive_an_outage_of_a_zone(run, balanced):
    """A lost zone changes neither the load balancer nor its members."""
    steps = [{'scale_out': 6}, {'lose_zone': 'a'}, {'scale_out': 1}, {'restore_zone': 'a'}]

    assert [members(record) for record in run(steps, **balanced)] == [[6], [6], [7], [7]]


def test_nodes_at_the_start_become_members_when_the_policy_is_attached(load, registry, balanced):
    """The nodes of the scenario are members before the first step."""
    cluster = {'nodes': [{'count': 4, 'zone': 'a'}]}

    start, _ = play(load([{'scale_in': 1}], cluster=cluster, **balanced), registry)

    assert members(start) == [4]
    assert start.updates > 0


def test_grace_period_is_recorded_for_steps_that_delete_nodes(run, balanced):
    """A step that deletes nodes has the grace period of the deletion policy."""
    records = run([{'scale_out': 3}, {'scale_in': 1}], **balanced)

    assert [record.grace_period_s for record in records] == [0, 30]


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
        next(play(load([{'scale_out': 1}], **balanced), registry))


def test_disabled_policy_has_no_pool(run, balanced):
    """A disabled load-balancing policy is not attached."""
    balanced['policies'][2]['enabled'] = False

    (record,) = run([{'scale_out': 1}], **balanced)

    assert (record.pools, record.updates) == ([], 0)


def test_load_balancers_of_a_simulation_leave_the_file_of_the_cloud_alone(run, balanced, tmp_path):
    """A simulation keeps its load balancers in memory, even if the cloud names a file for them."""
    file = tmp_path / 'state.json'
    balanced['cloud']['load_balancer'] = {'state': str(file)}

    (record,) = run([{'scale_out': 2}], **balanced)

    assert members(record) == [2]
    assert list(tmp_path.glob('state*')) == []


@pytest.fixture
def floored(balanced):
    """Return a scenario whose load balancer keeps four members online."""
    properties = balanced['policies'][-1]['spec']['properties']
    spec = {'type': 'senlin.policy.loadbalance', 'version': '1.4'}
    spec['properties'] = {**properties, 'health_monitor': {}, 'min_online': 4}
    return {**balanced, 'policies': [*balanced['policies'][:-1], {'id': 'lb', 'spec': spec}]}


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


def test_member_status_that_a_step_sets_is_described(run, floored):
    """The step names the number of members and their status, and needs no check."""
    changed = {'member_status': {'status': 'DRAINING', 'count': '50%'}}

    record = run([{'scale_out': 6}, changed], **floored)[-1]

    assert record.what == '3 members in operating status DRAINING'
    assert (record.changes_world, record.checks) == (True, [])


def test_probed_status_ends_with_its_node():
    """A status is that of a node: another node at its address is online again."""
    pools = BalancedPools()
    at = ServerDetails(addresses={'net': [Address('10.0.0.9', 4)]})
    first, second = (Node(node_id, details=at) for node_id in ('n1', 'n2'))
    pools.set_status(['n1'], 'OFFLINE')

    assert pools.probed({'n1': first}, []) == {'10.0.0.9': 'OFFLINE'}
    assert pools.probed({'n1': first}, ['n1']) == {'10.0.0.9': 'ERROR'}
    assert pools.probed({'n2': second}, []) == {}
    assert pools.probed({'n1': first}, []) == {}
