"""The steps of a run and their records."""

import itertools

import msgspec
import pytest

from placement_worker import errors
from placement_worker.contract import actions
from placement_worker.policies.base import BEFORE, Policy, on
from placement_worker.policies.registry import Registry
from placement_worker.simulation import scenario as scenarios
from placement_worker.simulation.run import play
from tests.factories import deletion_policy, region_policy, zone_policy
from tests.unit.simulation.conftest import held, ideals


def test_play_of_scaling_steps_distributes_nodes_by_policy(run):
    """Growth, shrinkage and resizes follow the decisions of the policies."""
    records = run([{'scale_out': 7}, {'scale_in': 2}, {'resize': 9}, {'resize': {'number': 6}}])

    assert [held(record) for record in records] == [
        {'a': 3, 'b': 2, 'c': 2},
        {'a': 2, 'b': 2, 'c': 1},
        {'a': 3, 'b': 3, 'c': 3},
        {'a': 2, 'b': 2, 'c': 2},
    ]
    assert [record.what for record in records] == [
        'scale out by 7',
        'scale in by 2',
        'resize to 9',
        'resize to 6',
    ]
    assert [(check.created, check.deleted) for record in records for check in record.checks] == [
        (7, 0),
        (0, 2),
        (4, 0),
        (0, 3),
    ]


def test_spec_with_values_of_other_types_is_read_as_a_check_reads_it(run):
    """Weights that are strings and names that are numbers count as in a check."""
    zones = [{'name': 1, 'weight': '100'}, {'name': 2, 'weight': '200'}]
    policy = zone_policy('a')
    policy['spec']['properties']['zones'] = zones

    records = run([{'scale_out': 3}], cloud={'zones': {'1': True, '2': True}}, policies=[policy])

    assert held(records[0]) == {'1': 1, '2': 2}
    assert ideals(records[0]) == {'1': 1.0, '2': 2.0}


def test_play_of_a_resize_accepts_the_inputs_of_senlin(run):
    """A resize accepts the inputs of CLUSTER_RESIZE."""
    by_percent = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50}
    too_much = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 9, 'max_size': 7}

    records = run([{'scale_out': 4}, {'resize': by_percent}, {'resize': too_much}])

    assert [record.size for record in records] == [4, 6, 7]
    assert [record.what for record in records[1:]] == ['resize by +50 %', 'resize by +9']


def test_play_starts_with_the_nodes_of_the_scenario(load, registry):
    """The cluster starts with the nodes that the scenario lists."""
    nodes = [{'count': 2, 'zone': 'b'}, {'count': 1}]

    start, after = play(load([{'scale_out': 1}], cluster={'nodes': nodes}), registry)

    assert held(start) == {'a': 0, 'b': 2, 'c': 0, '(no known place)': 1}
    assert held(after)['a'] == 1


def test_play_with_a_lost_zone_creates_no_node_there(run):
    """A lost zone gets no new node until it is restored."""
    records = run(
        [
            {'scale_out': 3},
            {'lose_zone': 'b'},
            {'scale_out': 2},
            {'restore_zone': 'b'},
            {'scale_out': 1},
        ]
    )

    assert [held(record)['b'] for record in records] == [1, 1, 1, 1, 2]
    assert [record.changes_world for record in records] == [False, True, False, True, False]
    assert ideals(records[1]) == {'a': 1.5, 'b': 0.0, 'c': 1.5}


def test_play_with_a_lost_region_creates_no_node_there(run, over_regions):
    """A lost region gets no new node until it is restored."""
    records = run(
        [
            {'scale_out': 6},
            {'lose_region': 'R2'},
            {'scale_out': 2},
            {'restore_region': 'R2'},
            {'scale_out': 2},
        ],
        **over_regions,
    )

    assert [held(record)['R2/a'] for record in records] == [3, 3, 3, 3, 5]
    assert ideals(records[1]) == {'R1/a': 3.0, 'R1/b': 3.0, 'R2/a': 0.0}


def test_play_with_a_lost_zone_of_one_region_affects_that_region_only(run, over_regions):
    """A zone named with its region is lost in that region, otherwise in all regions."""
    grow = {'scale_out': 2}

    alone = run([grow, {'lose_zone': 'R1/a'}, {'scale_out': 4}], **over_regions)[-1]
    everywhere = run([grow, {'lose_zone': 'a'}, {'scale_out': 4}], **over_regions)[-1]

    assert held(alone) == {'R1/a': 1, 'R1/b': 2, 'R2/a': 3}
    assert held(everywhere) == {'R1/a': 1, 'R1/b': 4, 'R2/a': 1}
    assert ideals(everywhere) == {'R1/a': 0.0, 'R1/b': 6.0, 'R2/a': 0.0}


def test_nodes_of_the_region_of_the_profile_stand_there_and_fail_there(run):
    """Nodes without a region of their own count for the region of the cluster's profile."""
    records = run(
        [{'fail_nodes': {'region': 'R1'}}, {'scale_in': 2}],
        [region_policy('R1', 'R2'), deletion_policy()],
        cloud={'regions': ['R1', 'R2']},
        cluster={'region': 'R1', 'nodes': [{'count': 2}, {'count': 4, 'region': 'R2'}]},
    )

    assert [held(record) for record in records] == [{'R1': 2, 'R2': 4}, {'R1': 0, 'R2': 4}]
    assert [record.failed for record in records] == [2, 0]


def test_play_with_a_slash_in_a_zone_name_finds_the_zone(run):
    """A zone whose name contains a slash is lost with and without its region."""
    policies = [region_policy('R/1', 'R2'), zone_policy('hall/1', 'b')]
    zones = {'hall/1': True, 'b': True}
    cloud = {'regions': {'R/1': {'zones': zones}, 'R2': {'zones': zones}}}

    alone = run([{'lose_zone': 'R/1/hall/1'}, {'scale_out': 4}], policies, cloud=cloud)[-1]
    everywhere = run([{'lose_zone': 'hall/1'}, {'scale_out': 4}], policies, cloud=cloud)[-1]
    whole = run([{'lose_zone': 'hall/1'}, {'scale_out': 4}], policies[1:], cloud={'zones': zones})[
        -1
    ]

    assert held(alone) == {'R/1/hall/1': 0, 'R/1/b': 2, 'R2/hall/1': 1, 'R2/b': 1}
    assert held(everywhere) == {'R/1/hall/1': 0, 'R/1/b': 2, 'R2/hall/1': 0, 'R2/b': 2}
    assert held(whole) == {'hall/1': 0, 'b': 4}


def test_play_with_new_weights_and_caps_applies_them_to_later_steps(run):
    """New weights and caps apply to the following steps."""
    weights = run(
        [{'scale_out': 4}, {'weights': {'a': 300}}, {'scale_out': 6}], [zone_policy('a', 'b')]
    )[-1]
    caps = run(
        [{'caps': {'R1': 1}}, {'scale_out': 4}],
        [region_policy('R1', 'R2')],
        cloud={'regions': ['R1', 'R2']},
    )[-1]

    assert held(weights) == {'a': 8, 'b': 2}
    assert held(caps) == {'R1': 1, 'R2': 3}
    assert ideals(caps) == {'R1': 1.0, 'R2': 3.0}


@pytest.mark.parametrize(
    ('which', 'failed'),
    [
        ('5%', 1),
        (3, 3),
        ('50 %', 10),
        (99, 20),
        ('7%', 1),
        ('8%', 2),
        ('1%', 1),
        ('0%', 0),
        ({'zone': 'a'}, 7),
        ({'zone': 'b', 'count': 2}, 2),
    ],
)
def test_play_of_failing_nodes_fails_the_given_number(run, which, failed):
    """A step fails the number or the percentage of nodes that it names."""
    record = run([{'scale_out': 20}, {'fail_nodes': which}])[-1]

    assert (record.failed, record.size) == (failed, 20)


def test_play_with_another_seed_fails_other_nodes(load, registry):
    """The seed selects the failing nodes."""

    def failed(**more):
        policies = [zone_policy('a', 'b', 'c'), deletion_policy()]
        scenario = load([{'scale_out': 30}, {'fail_nodes': 9}, {'scale_in': 9}], policies, **more)
        return str(list(play(scenario, registry, explained=9)))

    assert failed(seed=1) == failed(seed=1)
    assert failed(seed=1) != failed(seed=2)


def test_play_replaces_failed_nodes_in_usable_zones(run):
    """Failed nodes are deleted, and their replacements are created in usable zones."""
    records = run(
        [
            {'scale_out': 6},
            {'lose_zone': 'a'},
            {'fail_nodes': {'zone': 'a'}},
            {'replace_failed': True},
        ]
    )

    assert held(records[-1]) == {'a': 0, 'b': 3, 'c': 3}
    assert [check.action for check in records[-1].checks] == [
        'CLUSTER_DEL_NODES',
        'CLUSTER_SCALE_OUT',
    ]
    assert records[-1].failed == 0


def test_play_without_policies_replaces_only_failed_nodes(run):
    """Without policies exactly the failed nodes are replaced."""
    record = run([{'scale_out': 9}, {'fail_nodes': 2}, {'replace_failed': True}], [])[-1]

    assert (record.failed, record.size) == (0, 9)


class Guard(Policy):
    """A policy that refuses every deletion by name."""

    name = 'test.guard'
    versions = {'1.0': msgspec.defstruct('Properties', [])}
    priority = 1
    targets = on(BEFORE, actions.CLUSTER_DEL_NODES)

    def check(self, request, state):
        raise errors.Rejected('Deletion is forbidden.')


def test_play_with_a_refused_deletion_creates_no_replacement(load):
    """Failed nodes that must not be deleted stay without replacement."""
    policy = {'id': 'guard', 'spec': {'type': 'test.guard', 'version': '1.0'}}
    steps = [{'scale_out': 3}, {'fail_nodes': 1}, {'replace_failed': True, 'expect': 'ERROR'}]

    *_, record = play(load(steps, [policy]), Registry([('test.guard-1.0', Guard)]))

    assert (record.size, record.failed, [check.reason for check in record.checks]) == (
        3,
        1,
        ['Deletion is forbidden.'],
    )


def test_play_without_failed_nodes_needs_no_check(run):
    """The replacement of failed nodes needs no check if none has failed."""
    assert run([{'scale_out': 1}, {'replace_failed': True}])[-1].checks == []


def test_play_deletes_nodes_by_name(run):
    """A step deletes a number of named nodes."""
    record = run([{'scale_out': 6}, {'delete_nodes': 2}])[-1]

    assert (record.size, record.what) == (4, 'delete 2 nodes by name')
    assert record.checks[0].action == 'CLUSTER_DEL_NODES'


def test_play_without_policies_creates_nodes_in_no_known_place(run):
    """Without policies nodes have no place and no ideal."""
    records = run([{'scale_out': 5}, {'scale_in': 2}, {'delete_nodes': 1}], [])

    assert [held(record) for record in records] == [{'(no known place)': n} for n in (5, 3, 2)]
    assert ideals(records[-1]) == {'(no known place)': None}
    assert (records[-1].misplaced, records[-1].skew) == (0, 0)


def test_play_of_a_failed_check_changes_nothing(run):
    """A failed check leaves the cluster unchanged, and a step can expect it."""
    policies = [region_policy('R1', 'R2')]
    steps = [{'caps': {'R1': 2, 'R2': 2}}, {'scale_out': 5}, {'scale_out': 5, 'expect': 'ERROR'}]
    steps += [{'scale_out': 4, 'expect': 'ERROR'}]

    _, failed, expected, wrong = run(steps, policies, cloud={'regions': ['R1', 'R2']})

    assert (failed.status, failed.size, failed.as_expected) == ('ERROR', 0, False)
    assert failed.checks[0].reason == 'There is no feasible plan to handle all nodes.'
    assert (expected.status, expected.as_expected) == ('ERROR', True)
    assert (wrong.status, wrong.size, wrong.as_expected) == ('OK', 4, False)


def test_play_explains_the_given_number_of_steps(run):
    """Only the first steps have full explanations."""
    records = run([{'scale_out': 3}, {'scale_in': 1}, {'scale_in': 1}], explained=2)

    explained = [bool(record.checks[0].decisions[0].details) for record in records]
    assert explained == [True, True, False]
    assert records[1].checks[0].decisions[1].details['victims'][0]['reason'] == 'oldest'


def test_record_of_a_lost_zone_counts_misplaced_nodes(run):
    """Deviation, misplaced nodes and skew are measured in nodes."""
    record = run([{'scale_out': 9}, {'lose_zone': 'c'}])[-1]

    assert [(one.name, one.deviation, one.usable) for one in record.standings] == [
        ('a', -1.5, True),
        ('b', -1.5, True),
        ('c', 3.0, False),
    ]
    assert (record.misplaced, record.skew) == (3.0, 4.5)


def test_ideals_with_caps_move_the_rest_to_other_regions(run):
    """Nodes beyond a cap count for the ideal of the other regions."""
    policy = region_policy(('R1', 300), ('R2', 100), ('R3', 100))
    steps = [{'caps': {'R1': 10, 'R2': 4}}, {'scale_out': 24}]

    record = run(steps, [policy], cloud={'regions': ['R1', 'R2', 'R3']})[-1]

    assert held(record) == ideals(record) == {'R1': 10, 'R2': 4, 'R3': 10}


@pytest.mark.parametrize(
    ('policy', 'error'),
    [
        (zone_policy(), errors.InvalidSpec),
        ({'id': 'x', 'spec': {'type': 'none', 'version': 1}}, errors.PolicyTypeNotFound),
    ],
)
def test_play_with_an_invalid_policy_is_refused_before_the_first_step(
    load, registry, policy, error
):
    """An invalid spec or an unknown policy type is refused before the first step."""
    with pytest.raises(error, match=r'\$\.policies\[0\]\.spec'):
        next(play(load([{'scale_out': 1}], [policy]), registry))


def test_play_with_a_cap_for_a_zone_is_refused(run):
    """Zones have no cap, so a cap for a zone is refused."""
    with pytest.raises(errors.InvalidSpec, match='unknown field `cap`'):
        run([{'caps': {'a': 1}}, {'scale_out': 1}])


def test_play_of_a_million_repetitions_yields_steps_one_by_one(load, registry):
    """Repeated steps are played one by one and never held in memory."""
    scenario = load([{'repeat': 1_000_000, 'steps': [{'scale_out': 2}, {'scale_in': 2}]}])

    records = list(itertools.islice(play(scenario, registry), 5))

    assert scenario.length == 2_000_000
    assert [record.size for record in records] == [0, 2, 0, 2, 0]


@pytest.mark.parametrize('name', sorted(scenarios.shipped()))
def test_shipped_scenarios_end_as_they_expect(name, registry):
    """Each step of the shipped scenarios ends as it expects."""
    records = list(play(scenarios.load(name), registry))

    assert all(record.as_expected for record in records)


def test_growing_weights_deviates_less_than_one_node(registry):
    """No zone of the scenario growing-weights deviates by a whole node."""
    records = list(play(scenarios.load('growing-weights'), registry))

    assert records[-1].size == 1000
    assert max(abs(one.deviation) for record in records for one in record.standings) < 1


def test_shipped_lists_three_scenarios():
    """The package contains three scenarios."""
    assert list(scenarios.shipped()) == ['capped-regions', 'growing-weights', 'zone-outage']
