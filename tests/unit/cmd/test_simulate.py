"""placement-policy simulate."""

import json
import subprocess
import sys
from unittest.mock import MagicMock

import pytest
import yaml

from placement_worker.cmd import base
from tests.factories import deletion_policy, spreading, zone_policy

SCENARIO = {
    'title': 'Test',
    'cloud': {'zones': {'a': True, 'b': True}},
    'policies': [zone_policy('a', 'b'), deletion_policy()],
    'steps': [{'scale_out': 3, 'note': 'First.'}, {'lose_zone': 'b'}, {'scale_in': 1}],
}


def test_simulate_prints_a_table_per_step_and_a_summary(program):
    """Each step has a table of its places, and the run ends with a summary."""
    status, out, err = program('simulate', 's', s=SCENARIO)

    assert (status, err) == (0, '')
    assert out.splitlines()[:10] == [
        'Step 1: scale out by 3 (First.)',
        '    CLUSTER_SCALE_OUT: OK, Completed policy checking.',
        '    +-------+-------+-------+-----------+--------+',
        '    | place | nodes | ideal | deviation | usable |',
        '    +-------+-------+-------+-----------+--------+',
        '    | a     |     2 |   1.5 |       0.5 | yes    |',
        '    | b     |     1 |   1.5 |      -0.5 | yes    |',
        '    +-------+-------+-------+-----------+--------+',
        '    3 nodes; 0.5 off their ideal, gap 1.0',
        '',
    ]
    assert out.splitlines()[-1] == (
        '3 steps, 2 checks, 0 of them with errors; 3 nodes created, 1 deleted; off their ideal '
        '0.83 on average, 1.0 at worst'
    )


@pytest.mark.parametrize(
    ('form', 'read'),
    [
        ('json', json.loads),
        ('yaml', yaml.safe_load_all),
        ('jsonl', lambda text: map(json.loads, text.splitlines())),
    ],
)
def test_simulate_as_data_prints_the_steps_alone(program, tmp_path, form, read):
    """A program that reads the steps meets no line about the report."""
    status, out, err = program('simulate', 's', '-f', form, '--report', 'r.html', s=SCENARIO)

    steps = [step['ours'] for step in read(out)]
    outcomes = [(step['number'], step['size'], step['status']) for step in steps]
    assert (status, err) == (0, '')
    assert outcomes == [(1, 3, 'OK'), (2, 3, ''), (3, 2, 'OK')]
    assert (tmp_path / 'r.html').exists()


@pytest.mark.parametrize(
    ('options', 'shown'),
    [([], [150]), (['--every', '40'], [40, 80, 120, 150]), (['--every', '1000'], [150])],
)
def test_simulate_of_a_long_run_shows_each_nth_step(program, options, shown):
    """A long run shows each Nth step and the last one."""
    long = {**SCENARIO, 'steps': [{'repeat': 75, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}]}

    _, out, _ = program('simulate', 's', '-f', 'jsonl', *options, s=long)

    assert [json.loads(line)['ours']['number'] for line in out.splitlines()] == shown


def test_simulate_with_an_unexpected_outcome_exits_with_1(program):
    """A step with an unexpected outcome is marked, and the exit status is 1."""
    steps = [{'scale_out': 1, 'expect': 'ERROR'}]

    status, out, _ = program('simulate', 's', s={**SCENARIO, 'steps': steps})

    assert status == 1
    assert '    The scenario expects another outcome.' in out
    assert out.splitlines()[-1] == '1 step did not end as the scenario expects.'


def test_simulate_with_plot_and_report_writes_both_files(program, tmp_path):
    """The picture and the report are written to the named files."""
    status, out, err = program(
        'simulate', 'zone-outage', '--plot', 'p.svg', '--report', 'r.html', '--explained', '2'
    )

    assert (status, err) == (0, '')
    assert out.splitlines()[-2:] == ['Wrote p.svg', 'Wrote r.html']
    assert '<svg' in (tmp_path / 'p.svg').read_text()
    page = (tmp_path / 'r.html').read_text(encoding='utf-8')
    assert page.startswith('<!DOCTYPE html>')
    assert page.count('<details id=') == 2


def test_simulate_counts_the_steps_for_a_terminal(program, monkeypatch):
    """A person who waits sees how far a long run is."""
    progress = MagicMock()
    monkeypatch.setattr(base, 'Progress', progress)

    program('simulate', 'zone-outage')

    assert progress.return_value.detail() == ', step 16/16'


@pytest.mark.parametrize('options', [['--report', 'r.html'], ['--plot', 'r.html.svg'], []])
def test_simulate_into_a_closed_pipe_writes_the_files_and_exits_with_141(tmp_path, options):
    """A reader that closes the pipe early, like `head`, loses no file and sees no traceback."""
    turn = {'repeat': 300, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}
    (tmp_path / 's').write_text(json.dumps({**SCENARIO, 'steps': [turn]}))
    command = [sys.executable, '-m', 'placement_worker', 'simulate', 's', '--every', '1', *options]
    with subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert first.startswith('Step 1: ')
    assert (process.returncode, err) == (141, '')
    assert [file.name for file in tmp_path.glob('r.html*')] == options[1:]


OFF = '0.5 off their ideal, gap 1.0'
SKEWED = 'Zone a would hold 6 nodes, ideal 3.0, allowed skew 1: zone b is unavailable'


@pytest.mark.parametrize(
    ('steps', 'mode', 'lines'),
    [
        ([{'scale_out': 3}, {'protect': 2}], None, ['3 nodes, 2 protected; ' + OFF]),
        ([{'scale_out': 1}], None, ['1 node; ' + OFF]),
        ([{'lose_zone': 'b'}, {'scale_out': 6}], 'best_effort',
         ['CLUSTER_SCALE_OUT: OK, Completed policy checking.', f'Warning: {SKEWED}']),
        ([{'lose_zone': 'b'}, {'scale_out': 6}], 'strict', [f'CLUSTER_SCALE_OUT: ERROR, {SKEWED}']),
    ],
    ids=['protected', 'one', 'warning', 'error'],
)  # fmt: skip
def test_simulate_prints_warnings_errors_and_totals_of_each_step(program, steps, mode, lines):
    """A step has its totals; its skew is a warning, or the reason of an error."""
    placement = zone_policy('a', 'b')
    policies = [spreading(placement, mode=mode) if mode else placement, deletion_policy()]

    _, out, _ = program('simulate', 's', s={**SCENARIO, 'policies': policies, 'steps': steps})

    assert '\n'.join(f'    {line}' for line in lines) in out


def test_simulate_with_compare_adds_a_column_and_totals(program):
    """A comparison adds a column and the totals of the greedy rule."""
    scenario = {
        **SCENARIO,
        'cloud': {'zones': dict.fromkeys('abc', True)},
        'policies': [zone_policy('a', 'b', 'c')],
        'steps': [{'scale_out': 4}],
    }

    _, out, _ = program('simulate', 's', '--compare', 'greedy', s=scenario)

    assert '    | c     |     1 |   1.3 |      -0.3 | yes    |      0 |' in out
    assert '    greedy: 4 nodes; 1.3 off their ideal, gap 2.0' in out
    assert out.splitlines()[-1].startswith('greedy: 1 step, 1 check, ')


def test_simulate_prints_the_verdict_above_the_totals(program):
    """The summary has the verdict of the report, and the failed nodes, for each rule."""
    _, out, _ = program('simulate', 'zone-shortage', '--compare', 'greedy')

    verdict, totals, greedy, greedy_totals = out.splitlines()[-4:]
    assert verdict.startswith(
        "Compared with Senlin's greedy rule: 0.59 more nodes off their ideal on average, "
        '3 fewer failed for lack of capacity. Worst: '
    )
    assert '45 nodes created, 17 deleted, 2 failed for lack of capacity; off' in totals
    assert greedy.startswith('greedy: worst: ')
    assert '42 nodes created, 17 deleted, 5 failed for lack of capacity; off' in greedy_totals


def test_simulate_with_a_load_balancer_prints_members_and_updates(program):
    """Each step shows the members of the pool, the updates, and the check after the action."""
    status, out, err = program('simulate', 'load-balancer', '--every', '4')

    assert (status, err) == (0, '')
    assert '    CLUSTER_SCALE_OUT AFTER: OK, Completed policy checking.' in out
    assert '; 18 members of balance, 2 updates' in out


@pytest.mark.parametrize(
    ('old', 'new', 'error'),
    [
        ('name: b', 'nam: b', 'Unknown key `nam` (did you mean `name`?) - at `$.policies[0]'),
        ('type: senlin.policy.d', 'type: senlin.policy.e', 'is not installed - at `$.policies[1]'),
    ],
)
def test_simulate_with_a_wrong_policy_shows_its_line(program, old, new, error):
    """The error of a property and that of a policy type point to their line in the scenario."""
    text = yaml.safe_dump(SCENARIO, sort_keys=False).replace(old, new, 1)

    status, _, err = program('simulate', 's', s=text)

    assert (status, error in err) == (2, True)
    assert any(' | ' in line and new in line for line in err.splitlines())
