"""placement-policy simulate."""

import io
import json
import subprocess
import sys

import pytest

from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.cmd.simulate import Simulate
from placement_worker.simulation import scenario_files
from tests.factories import deletion_policy, zone_policy

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
        '    3 nodes; 0.5 off their ideal, skew 1.0',
        '',
    ]
    assert out.splitlines()[-1] == (
        '3 steps, 2 checks, 0 of them with errors; 3 nodes created, 1 deleted; off their ideal '
        '0.83 on average, '
        '1.0 at worst'
    )


@pytest.mark.parametrize('name', [['a'], {'a': 1}, None])
@pytest.mark.parametrize('steps', [[{'scale_out': 1}], [{'weights': {'a': 2}}]])
def test_simulate_with_an_invalid_place_name_is_refused_before_any_step(program, name, steps):
    """A place whose name is not a string is refused in one line before the first step."""
    policy = zone_policy('a')
    policy['spec']['properties']['zones'].append({'name': name})

    status, out, err = program(
        'simulate', 's', s={**SCENARIO, 'policies': [policy], 'steps': steps}
    )

    assert (status, out) == (2, '')
    assert err.startswith('placement-policy simulate: Expected `str`, got ')
    assert '`$.policies[0].spec.properties.zones[1].name`' in err
    assert err.count('\n') == 1


def test_simulate_as_jsonl_prints_one_line_per_step(program):
    """The JSON output has one line per step."""
    status, out, _ = program('simulate', 's', '-f', 'jsonl', s=SCENARIO)

    lines = [json.loads(line)['ours'] for line in out.splitlines()]
    assert status == 0
    assert [(line['number'], line['size'], line['status']) for line in lines] == [
        (1, 3, 'OK'),
        (2, 3, ''),
        (3, 2, 'OK'),
    ]


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
    status, out, _ = program(
        'simulate', 's', s={**SCENARIO, 'steps': [{'scale_out': 1, 'expect': 'ERROR'}]}
    )

    assert status == 1
    assert '    The scenario expects another outcome.' in out
    assert out.splitlines()[-1] == '1 step did not end as the scenario expects.'


def test_simulate_as_jsonl_with_a_report_prints_json_alone(program, tmp_path):
    """A program that reads the steps meets no line about the report."""
    status, out, err = program('simulate', 's', '-f', 'jsonl', '--report', 'r.html', s=SCENARIO)

    assert (status, err) == (0, '')
    assert all('ours' in json.loads(line) for line in out.splitlines())
    assert (tmp_path / 'r.html').exists()


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


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ['none'],
            'none: no such file; name a file or a shipped scenario: capped-regions, '
            'growing-weights, load-balancer, zone-cordon, zone-outage, zone-shortage',
        ),
        (
            ['s', '--plot', 'p.png'],
            'p.png: unknown picture format; use a file name that ends in .svg',
        ),
        (
            ['s', '--every', 'x'],
            'argument --every: expected a number of steps, got x; run "placement-policy simulate ',
        ),
        (
            ['s', '--every', '0'],
            'argument --every: expected at least 1 step, got 0; run "placement-policy simulate ',
        ),
        (['s', '--report', '/none/r.html'], '/none: No such folder'),
        (['s', '--plot', '/none/r.svg'], '/none: No such folder'),
        (
            ['bad'],
            'bad is not a scenario: Unknown key `titel` (did you mean `title`?) - at `$` '
            '(line 1, column 2) and 1 more error; correct the file',
        ),
        (['empty'], 'empty is empty'),
        (['policy'], 'Policy type `x-1.0` is not installed - at `$.policies[0].spec`'),
    ],
)
def test_simulate_with_an_error_prints_the_cause_first(program, arguments, message):
    """Each wrong input ends with exit status 2; the first line of the error has the cause."""
    unknown = {'id': 'x', 'spec': {'type': 'x', 'version': 1}}
    files = {
        's': SCENARIO,
        'bad': {'titel': 1},
        'empty': '',
        'policy': {**SCENARIO, 'policies': [unknown]},
    }

    status, out, err = program('simulate', *arguments, **files)

    assert (status, out) == (2, '')
    first, *others = err.splitlines()
    assert first.startswith(f'placement-policy simulate: {message}')
    assert all(' | ' in line or line.startswith('bad:') for line in others)


def test_shipped_scenarios_are_named_after_their_files():
    """The name of a shipped scenario is its file name without the suffix."""
    assert sorted(path.name for path in scenario_files.shipped().values()) == [
        f'{name}.yaml' for name in scenario_files.shipped()
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Hasty(Simulate):
    progress_delay_s = 0


@pytest.mark.parametrize(
    ('stdout', 'stderr', 'options', 'shown'),
    [
        (io.StringIO, Terminal, [], True),
        (Terminal, Terminal, ['--every', '1000'], True),
        (Terminal, Terminal, [], False),
        (io.StringIO, io.StringIO, [], False),
    ],
)
def test_simulate_on_a_terminal_shows_progress_unless_it_prints_steps(
    stdout, stderr, options, shown
):
    """A progress bar appears on a terminal that shows no steps."""
    app = PlacementPolicy()
    app.stdout, app.stderr = stdout(), stderr()
    app.command_manager.add_command('hasty', Hasty)

    app.run(['hasty', 'zone-outage', *options])

    assert ('/17' in app.stderr.getvalue()) is shown


@pytest.mark.parametrize('options', [['--report', 'r.html'], ['--plot', 'r.html.svg'], []])
def test_simulate_into_a_closed_pipe_writes_the_files_and_exits_with_141(tmp_path, options):
    """A reader that closes the pipe early, like `head`, loses no file and sees no traceback."""
    turn = {'repeat': 300, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}
    (tmp_path / 's').write_text(json.dumps({**SCENARIO, 'steps': [turn]}))
    main = 'import sys; from placement_worker.cmd.cli import main; sys.exit(main())'
    command = [sys.executable, '-c', main, 'simulate', 's', '--every', '1', *options]
    with subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert first.startswith('Step 1: ')
    assert (process.returncode, err) == (141, '')
    assert [file.name for file in tmp_path.glob('r.html*')] == options[1:]
