"""The load balancers of simulated clusters."""

import pytest

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
        ('CLUSTER_DEL_NODES', 'BEFORE'),
        ('CLUSTER_SCALE_OUT', 'BEFORE'),
        ('CLUSTER_SCALE_OUT', 'AFTER'),
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
