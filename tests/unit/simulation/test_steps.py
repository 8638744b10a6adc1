"""The kinds of steps, played by the worker and the simulated engine."""

import msgspec
import pytest

from placement_worker import errors
from placement_worker.contract import actions
from placement_worker.policies.base import BEFORE, Policy, on
from placement_worker.policies.registry import Registry
from placement_worker.simulation.run import play
from tests.factories import deletion_policy, redistributing, region_policy, zone_policy
from tests.unit.simulation.conftest import REGIONS

# Steps after which one of three zones is empty.
UNEVEN = [{'lose_zone': 'a'}, {'scale_out': 6}, {'restore_zone': 'a'}]
MOVE = ['CLUSTER_SCALE_OUT', 'CLUSTER_DEL_NODES']


def view(record):
    """Return the attributes of a record, its nodes by place, and the actions that it checked."""
    return {
        **{name: getattr(record, name) for name in record.__struct_fields__},
        'held': record.nodes_by_place,
        'actions': [check.action for check in record.checks],
        'last': record.checks and (record.checks[-1].reason, record.checks[-1].refused),
    }


@pytest.mark.parametrize(
    ('steps', 'expected'),
    [
        ([{'scale_out': 4}, {'resize': {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50}}],
         {'what': 'resize by +50 %', 'size': 6}),
        ([{'scale_out': 6},
          {'resize': {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 9, 'max_size': 7}}],
         {'what': 'resize by +9', 'size': 7}),
        ([{'scale_out': 6}, {'delete_nodes': 2}],
         {'what': 'delete 2 nodes by name', 'size': 4, 'actions': ['CLUSTER_DEL_NODES'],
          'changes_world': False}),
        # Replacements are created in usable zones, then the failed nodes are deleted.
        ([{'scale_out': 6}, {'lose_zone': 'a'}, {'fail_nodes': {'zone': 'a'}},
          {'replace_failed': True}],
         {'held': {'a': 0, 'b': 3, 'c': 3}, 'failed': 0, 'actions': MOVE}),
        ([{'scale_out': 1}, {'replace_failed': True}], {'actions': [], 'size': 1}),
        # Failed nodes stay if their replacements cannot be planned.
        ([{'scale_out': 3}, {'fail_nodes': 1}, *({'lose_zone': zone} for zone in 'abc'),
          {'replace_failed': True, 'expect': 'ERROR'}],
         {'size': 3, 'failed': 1, 'actions': MOVE[:1]}),
        ([{'scale_out': 6}, {'protect': 1}],
         {'what': '1 node is protected', 'protected': 1, 'changes_world': True}),
        ([{'scale_out': 6}, {'protect': '50%'}, {'resize': 0}], {'size': 3, 'protected': 3}),
        ([{'scale_out': 6}, {'protect': {'zone': 'b'}}],
         {'what': '2 nodes are protected in b', 'protected': 2}),
        ([{'scale_out': 2}, {'protect': 2}, {'protect': '100%'}],
         {'what': '0 nodes are protected', 'protected': 2}),
        ([*UNEVEN, {'rebalance': True}],
         {'what': 'rebalance: 2 moves in 2 steps', 'held': {'a': 2, 'b': 2, 'c': 2},
          'actions': ['policy_rebalance', *MOVE * 2]}),
        ([*UNEVEN, {'rebalance': {'max_surge': 2}}], {'what': 'rebalance: 2 moves in 1 step'}),
        ([*UNEVEN, {'rebalance': {'min_age_s': 3600}}],
         {'what': 'rebalance: no move leads to better counts'}),
        # A node that could not be created replaces no other one, so its victim stays.
        ([*UNEVEN, {'exhaust': 'a'}, {'rebalance': True}],
         {'held': {'a': 0, 'b': 3, 'c': 3}, 'actions': ['policy_rebalance', MOVE[0]],
          'last': ('Completed policy checking.', 1)}),
    ],
)  # fmt: skip
def test_step_changes_the_cluster_and_is_described(run, steps, expected):
    """A step has its effect on the cluster, its description, and the checks that it needs."""
    seen = view(run(steps)[-1])

    assert {key: seen[key] for key in expected} == expected


@pytest.mark.parametrize(
    ('which', 'failed'),
    [
        (3, 3), (99, 20), ('50 %', 10), ('7%', 1), ('8%', 2), ('1%', 1), ('0%', 0),
        ({'zone': 'a'}, 7), ({'zone': 'b', 'count': 2}, 2),
    ],
)  # fmt: skip
def test_play_of_failing_nodes_fails_the_given_number(run, which, failed):
    """A percentage is rounded to the nearest number, but a positive one is at least 1."""
    record = run([{'scale_out': 20}, {'fail_nodes': which}])[-1]

    assert (record.failed, record.size) == (failed, 20)


def test_play_without_policies_replaces_only_failed_nodes(run):
    """Without policies exactly the failed nodes are replaced."""
    record = run([{'scale_out': 9}, {'fail_nodes': 2}, {'replace_failed': True}], [])[-1]

    assert (record.failed, record.size) == (0, 9)


class Guard(Policy):
    interface = (2, 0)
    name = 'test.guard'
    versions = {'1.0': msgspec.defstruct('Properties', [], frozen=True)}
    priority = 1
    targets = on(BEFORE, actions.CLUSTER_DEL_NODES)

    def check(self, request, state):
        raise errors.Rejected('Deletion is forbidden.')


@pytest.mark.parametrize(
    ('steps', 'size', 'statuses'),
    [
        # Failed nodes that must not be deleted stay beside their replacements.
        ([{'scale_out': 3}, {'fail_nodes': 1}, {'replace_failed': True}], (4, 1), ['OK', 'ERROR']),
        # The steps of a rebalance that are left are not taken.
        ([*UNEVEN, {'rebalance': True}], (7, 0), ['OK', 'OK', 'ERROR']),
    ],
)
def test_play_with_a_refused_deletion_keeps_the_nodes(load, registry, steps, size, statuses):
    """A step ends at the first check that fails."""
    guarded = Registry([*registry.types.items(), ('test.guard-1.0', Guard)])
    guard = {'id': 'guard', 'spec': {'type': 'test.guard', 'version': '1.0'}}

    *_, record = play(load(steps, [zone_policy('a', 'b', 'c'), guard]), guarded, explained=0)

    assert (record.size, record.failed) == size
    assert [check.status for check in record.checks] == statuses


def test_member_status_changes_the_cloud_without_a_check(run, balanced):
    """The health monitors of a share of the members report the status."""
    step = {'member_status': {'status': 'DRAINING', 'count': '50%'}}

    seen = view(run([{'scale_out': 6}, step], **balanced)[-1])

    assert (seen['what'], seen['checks']) == ('3 members in operating status DRAINING', [])
    assert seen['changes_world']


def test_play_spares_protected_nodes_until_their_protection_ends(run):
    """Protected nodes survive a scale-in, with a warning of the policy, until their time ends."""
    protect = {'count': 2, 'zone': 'a', 'minutes': 2, 'reason': 'batch job'}
    records = run([{'scale_out': 6}, {'protect': protect}, {'resize': 0}, {'resize': 0}])

    assert [record.size for record in records] == [6, 6, 2, 0]
    assert [record.protected for record in records] == [0, 2, 2, 0]
    assert records[1].what == '2 nodes are protected in a for 2 minutes (batch job)'
    assert records[1].changes_world
    assert records[2].nodes_by_place == {'a': 2, 'b': 0, 'c': 0}


def test_play_opens_a_place_before_its_cordon_ends(run):
    """An operator may remove a cordon, of a zone of a region as well."""
    place = {'zone': 'a', 'region': 'R1'}
    steps = [{'cordon': {**place, 'minutes': 9}}, {'scale_out': 2}, {'uncordon': place}]
    cloud = {**REGIONS, 'home_region': 'R1'}
    records = run([*steps, {'scale_out': 2}], [zone_policy('a', 'b')], cloud=cloud)

    assert [record.what for record in records[::2]] == [
        'zone a of region R1 is cordoned for 9 minutes',
        'zone a of region R1 is open again',
    ]
    assert records[1].nodes_by_place['a'] == 0
    assert records[3].nodes_by_place['a'] == 2


def test_play_of_a_rebalance_without_a_plan_is_an_error(run):
    """A cluster at its maximum size cannot be rebalanced, and keeps its nodes."""
    record = run([*UNEVEN, {'rebalance': True}], cluster={'max_size': 6})[-1]

    assert (record.status, record.size) == ('ERROR', 6)
    assert record.checks[-1].reason.startswith('The cluster has 6 nodes, and its max_size is 6')


def test_play_of_a_rebalance_within_regions_creates_nodes_by_profile(run):
    """A move between the zones of one of two regions needs a profile that names the place."""
    start = [
        {'count': 2, 'region': 'R1', 'zone': 'a'},
        {'count': 2, 'region': 'R1', 'zone': 'b'},
        {'count': 4, 'region': 'R2', 'zone': 'a'},
    ]
    regions = {name: {'zones': {'a': True, 'b': True}} for name in ('R1', 'R2')}

    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy()]
    world = {'cloud': {'regions': regions}, 'cluster': {'nodes': start}}

    record = run([{'rebalance': {'max_surge': 2}}], policies, **world)[-1]

    tried = [check.action for check in record.checks]
    assert tried == ['policy_rebalance', 'NODE_CREATE', 'NODE_CREATE', 'CLUSTER_DEL_NODES']
    assert (record.status, set(record.nodes_by_place.values())) == ('OK', {2})


def test_play_of_a_rebalance_keeps_the_pool_complete(run, balanced):
    """Members are added after the creation and removed before the deletion of each step."""
    record = run([*UNEVEN, {'rebalance': True}], **balanced)[-1]

    assert [pool.members for pool in record.pools] == [6]
    assert [check.phase for check in record.checks[1:]] == ['BEFORE', 'AFTER', 'BEFORE'] * 2
    assert record.grace_period_s == 30


def test_play_replaces_a_failed_node_in_the_zone_with_room(run):
    """After one failure no replacement goes to the full zone, though the failed node is gone."""
    policy = redistributing(zone_policy('a', 'b'), initial_s=3600)
    failing = [{'fail_nodes': 1}, {'replace_failed': True}]
    replace = [{'replace_failed': True}, *failing * 4]

    records = run([{'exhaust': 'a'}, {'scale_out': 1}, *replace], [policy, deletion_policy()])

    refused = [sum(check.refused for check in record.checks) for record in records]
    assert refused == [0, 1, *[0] * 9]
    assert records[-1].nodes_by_place == {'a': 0, 'b': 1}


def test_play_beyond_the_largest_size_of_a_scenario_fails(run):
    """The limit of the scenario is the limit of the worker."""
    first, second = run([{'scale_out': 1}, {'scale_out': 1}], max_nodes=1)

    assert (first.status, second.status, second.size) == ('OK', 'ERROR', 1)
