"""The steps of a run and their records."""

import itertools

import pytest

from placement_worker import errors
from placement_worker.policies.registry import Registry
from placement_worker.simulation.run import play
from tests.factories import deletion_policy, region_policy, zone_policy
from tests.unit.policies.good_policy import Good
from tests.unit.simulation import failing_policies
from tests.unit.simulation.conftest import held


def test_play_of_scaling_steps_distributes_nodes_by_policy(run):
    """Growth, shrinkage and resizes follow the decisions of the policies."""
    records = run([{'scale_out': 7}, {'scale_in': 2}, {'resize': 9}, {'resize': {'number': 6}}])

    assert [held(record) for record in records] == [
        {'a': 3, 'b': 2, 'c': 2},
        {'a': 2, 'b': 1, 'c': 2},
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


def test_play_with_another_seed_fails_other_nodes(load, registry):
    """The seed selects the failing nodes."""

    def failed(**more):
        policies = [zone_policy('a', 'b', 'c'), deletion_policy()]
        scenario = load([{'scale_out': 30}, {'fail_nodes': 9}, {'scale_in': 9}], policies, **more)
        return str(list(play(scenario, registry, explained=9)))

    assert failed(seed=1) == failed(seed=1)
    assert failed(seed=1) != failed(seed=2)


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
    assert records[1].checks[0].decisions[1].details['victims'][0]['reason'] == 'oldest in a'


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


@pytest.mark.parametrize(
    ('policy', 'error'),
    [
        (failing_policies.Raising, "Step 2 (scale_out) failed: KeyError: 'zone'"),
        (failing_policies.RaisingAtStart, "The start failed: KeyError: 'zone'"),
        (
            failing_policies.Changing,
            'Step 2 (scale_out) failed: RuntimeError: check must not change what it receives; it '
            'changed request.action.inputs.count',
        ),
    ],
)
def test_play_of_a_policy_that_fails_names_step_type_and_package(load, policy, error):
    """An author learns which step of the scenario failed, and which policy type is the cause."""
    steps = [{'fail_nodes': 1}, {'scale_out': 1}]
    scenario = load(steps, [failing_policies.GOOD])

    with pytest.raises(errors.WorkerFailed) as raised:
        list(play(scenario, Registry([(f'{Good.name}-1.0', policy)])))

    named = f'(in {Good.name}-1.0, a plugin of {failing_policies.__name__})'
    assert str(raised.value) == f'{error} {named}'
