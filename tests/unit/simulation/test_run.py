"""The steps of a run, and the greedy rule beside it."""

import json
import subprocess
import sys

import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry
from placement_worker.simulation.greedy import greedy_registry
from placement_worker.simulation.run import play
from tests.factories import deletion_policy, region_policy, request, spreading, zone_policy
from tests.unit.policies.good_policy import Good
from tests.unit.simulation.conftest import ZONES


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


def fail(*_):
    raise KeyError('zone')


@pytest.mark.parametrize(
    ('method', 'error'),
    [
        ('check', "Step 2 (scale_out) failed: KeyError: 'zone'"),
        ('__init__', "The start failed: KeyError: 'zone'"),
    ],
)
def test_play_of_a_policy_that_fails_names_step_type_and_package(load, method, error):
    """An author learns which step of the scenario failed, and which policy type is the cause."""
    names = {'interface': (2, 0), '__module__': __name__, method: fail}
    types = Registry([(f'{Good.name}-1.0', type('Failing', (Good,), names))])
    good = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
    scenario = load([{'fail_nodes': 1}, {'scale_out': 1}], [good])

    with pytest.raises(errors.WorkerFailed) as raised:
        list(play(scenario, types, explained=0))

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
def test_simulate_of_10_000_steps_needs_the_memory_of_1_000(tmp_path):
    """The memory of a run does not depend on its length."""
    _, few = measured(tmp_path, 200)
    printed, many = measured(tmp_path, 2_000)

    assert '\n10000 steps, 4000 checks, 0 of them with errors; ' in printed
    assert many < few + 4 * 1024
