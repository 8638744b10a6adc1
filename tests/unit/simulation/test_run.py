"""The steps of a run, their history in bounded memory, and the greedy rule beside it."""

import json
import subprocess
import sys

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry
from placement_worker.simulation.greedy import greedy_registry
from placement_worker.simulation.history import MOST_MARKS, POINTS, History, Outage, Timeline
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.run import Moment, play
from tests.factories import deletion_policy, region_policy, request, spreading, zone_policy
from tests.unit.policies.good_policy import Good
from tests.unit.simulation.conftest import ZONES, record


def test_play_with_another_seed_fails_other_nodes(load, registry):
    """The same seed gives the same records, and another one fails other nodes."""

    def failed(**more):
        policies = [zone_policy('a', 'b', 'c'), deletion_policy()]
        scenario = load([{'scale_out': 30}, {'fail_nodes': 9}, {'scale_in': 9}], policies, **more)
        return str(list(play(scenario, registry, explained=9)))

    assert failed(seed=1) == failed(seed=1)
    assert failed(seed=1) != failed(seed=2)


def test_play_explains_the_given_number_of_steps(run):
    """Only the first steps have full explanations."""
    records = run([{'scale_out': 3}, {'scale_in': 1}, {'scale_in': 1}], explained=2)

    explained = [bool(record.checks[0].decisions[0].details) for record in records]
    assert explained == [True, True, False]
    assert records[1].checks[0].decisions[1].details['victims'][0]['reason'] == 'oldest in a'


class Raising(Good):
    interface = (2, 0)

    def check(self, request, state):
        raise KeyError('zone')


class RaisingAtStart(Good):
    interface = (2, 0)

    def __init__(self, properties):
        raise KeyError('zone')


@pytest.mark.parametrize(
    ('policy', 'error'),
    [
        (Raising, "Step 2 (scale_out) failed: KeyError: 'zone'"),
        (RaisingAtStart, "The start failed: KeyError: 'zone'"),
    ],
)  # fmt: skip
def test_play_of_a_policy_that_fails_names_step_type_and_package(load, policy, error):
    """An author learns which step of the scenario failed, and which policy type is the cause."""
    good = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
    scenario = load([{'fail_nodes': 1}, {'scale_out': 1}], [good])

    with pytest.raises(errors.WorkerFailed) as raised:
        list(play(scenario, Registry([(f'{Good.name}-1.0', policy)]), 0))

    assert str(raised.value) == f'{error} (in {Good.name}-1.0, a plugin of {__name__})'


# The greedy rule


def test_greedy_registry_refuses_no_plan_because_of_its_skew(registry):
    """Senlin's rule does not know `spread`, and so it cannot refuse a plan."""
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]
    strict = [spreading(policy, mode='strict') for policy in policies]
    asked = request('CLUSTER_SCALE_OUT', strict, inputs={'count': 6})
    cloud = Inventory.parse({'regions': {'R1': {'zones': {'a': True, 'b': False}}}}, 'test')

    reply = Endpoints(cloud, greedy_registry(registry)).policy_check(asked)

    assert reply['action']['data']['creation']['places'] == [
        {'region_name': 'R1', 'zone': 'a', 'count': 6}
    ]


# The history


def filled(steps, explained=0):
    history = History(explained)
    for number in range(steps + 1):
        history.add(Moment(record(number)))
    return history


@pytest.mark.parametrize('steps', [20, 599, 600, 601, 5000, 100_001])
def test_moments_of_a_run_are_evenly_spaced(steps):
    """A short run keeps each step, a long one the first, the last and evenly spaced ones."""
    history = filled(steps)

    numbers = [moment.worker.number for moment in history.moments]
    assert (numbers[0], numbers[-1]) == (0, steps)
    assert len(numbers) <= POINTS + 1
    assert all(number % history.stride == 0 for number in numbers[:-1])
    assert len(numbers) > min(steps, POINTS // 2)
    assert numbers == sorted(set(numbers))


def test_moments_of_a_long_run_include_the_worst_step():
    """The worst step of a run is drawn even if the steps around it are not."""
    history = History(0)
    for number in range(5001):
        deviation = 7.0 if number == 3333 else 0.0
        history.add(Moment(record(number, standings=[Standing('a', 10, 10 - deviation, True)])))

    numbers = [moment.worker.number for moment in history.moments]

    assert history.stride == 16
    assert 3333 in numbers
    assert numbers == sorted(set(numbers))


def test_history_keeps_decisions_of_the_first_steps_only():
    """Only the first steps keep their decisions."""
    history = filled(50, explained=3)

    assert [moment.worker.number for moment in history.explained] == [1, 2, 3]
    assert all(moment.worker.checks for moment in history.explained)
    assert not any(moment.worker.checks for moment in history.moments)


def test_totals_include_every_step():
    """The totals include steps that the history does not keep."""
    history = History(0)
    history.add(Moment(record(0), record(0)))
    failed = record(1, status='ERROR', as_expected=False, misplaced=1.0)
    history.add(Moment(record(1, misplaced=3.0), failed))
    history.add(Moment(record(2, misplaced=1.0), record(2)))

    none = dict.fromkeys(('errors', 'unexpected', 'refused', 'updates'), 0)
    sums = {'steps': 2, 'checks': 2, 'created': 4, 'deleted': 2, 'worst': 3.0, 'misplaced': 4.0}
    assert msgspec.to_builtins(history.worker) == {**none, **sums}
    assert (history.worker.mean, history.other.errors, history.other.unexpected) == (2.0, 1, 1)


def test_places_are_unique_and_in_order():
    """Each place is named once, in the order of its first appearance."""
    history = History(0)
    standings = [[Standing(name, 1, None, True) for name in names] for names in ('ba', 'bc', 'd')]
    history.add(Moment(record(0, standings=standings[0]), record(0, standings=standings[1])))
    history.add(Moment(record(1, standings=standings[2])))

    assert history.places == ['b', 'a', 'c', 'd']


@pytest.mark.parametrize(
    ('outages', 'cordons', 'periods'),
    [
        (['', 'a', 'a', '', ''], '', [Outage('a', 1, 2, False)]),
        (['a', 'ab', 'b'], '', [Outage('a', 0, 1, False), Outage('b', 1, 2, False)]),
        (['a', '', 'a'], '', [Outage('a', 0, 0, False), Outage('a', 2, 2, False)]),
        (['', 'a'], 'a', [Outage('a', 0, 1, True), Outage('a', 1, 1, False)]),
    ],
)
def test_outages_of_each_place_have_a_first_and_a_last_step(outages, cordons, periods):
    """Outages and cordons may overlap; a place that was available in between has two of them."""
    timeline = Timeline()
    for number, places in enumerate(outages):
        timeline.add(record(number, outages=list(places), cordons=list(cordons)))

    assert timeline.outages == periods


def test_timeline_of_a_long_run_is_bounded_and_counts_all():
    """A long run keeps the first outages and flags, and counts the others."""
    long = Timeline()
    for number in range(1000):
        places = ['a'] if number % 2 else []
        long.add(record(number, outages=places, changes_world=True))

    assert (len(long.outages), long.outage_count) == (MOST_MARKS, 500)
    assert (len(long.flags), long.flag_count) == (MOST_MARKS, 1000)
    assert long.flags[1].number == 1


MEASURED = (
    'import resource, sys; from placement_worker.cmd.cli import main; sys.argv[0] = "p"; main(); '
    'print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)'
)


def measured(folder, turns):
    """Return the output of a run with five steps per turn, and its peak memory in KiB."""
    turn = [{'scale_out': 7}, {'fail_nodes': '5%'}, {'lose_zone': 'b'}, {'resize': 20}]
    scenario = {
        'title': 'Long',
        'cloud': ZONES,
        'policies': [zone_policy('a', 'b', 'c'), deletion_policy('RANDOM')],
        'steps': [{'repeat': turns, 'steps': [*turn, {'restore_zone': 'b'}]}],
    }
    (folder / 'scenario').write_text(json.dumps(scenario))
    options = ['--report', 'report.html', '--compare', 'greedy']
    command = [sys.executable, '-c', MEASURED, 'simulate', 'scenario', *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout, int(done.stderr)


@pytest.mark.long
def test_simulate_of_100_000_steps_needs_the_memory_of_1_000(tmp_path):
    """The memory of a run does not depend on its length."""
    _, few = measured(tmp_path, 200)
    printed, many = measured(tmp_path, 20_000)

    assert '\n100000 steps, 40000 checks, 0 of them with errors; ' in printed
    assert many < few + 10 * 1024
