"""The memory of long runs."""

import json
import subprocess
import sys

import pytest

from tests.factories import deletion_policy, zone_policy

MOST_MORE_KIB = 10 * 1024
MEASURED = (
    'import resource, sys; from placement_worker.cmd.cli import main; sys.argv[0] = "p"; status '
    '= main(); '
    'print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(status)'
)


def played(folder, turns):
    """Return the output of a run with six steps per turn, and its peak memory in KiB."""
    turn = [
        {'scale_out': 7},
        {'fail_nodes': '5%'},
        {'lose_zone': 'b'},
        {'replace_failed': True},
        {'restore_zone': 'b'},
        {'scale_in': 7},
    ]
    scenario = {
        'title': 'Long',
        'cloud': {'zones': {'a': True, 'b': True, 'c': True}},
        'policies': [zone_policy(('a', 3), ('b', 2), 'c'), deletion_policy('RANDOM')],
        'steps': [
            {'scale_out': 20},
            {'repeat': turns, 'steps': turn},
            {'resize': 40},
            {'scale_in': 1},
            {'scale_in': 1},
        ],
    }
    (folder / 'scenario').write_text(json.dumps(scenario))
    command = [
        sys.executable,
        '-c',
        MEASURED,
        'simulate',
        'scenario',
        '--report',
        'report.html',
        '--compare',
        'greedy',
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout, int(done.stderr)


@pytest.mark.long
def test_simulate_of_100_000_steps_needs_the_memory_of_1_000(tmp_path):
    """The memory of a run does not depend on its length."""
    _, few = played(tmp_path, 166)
    printed, many = played(tmp_path, 16666)

    assert '\n100000 steps, 66668 checks, 0 of them with errors; ' in printed
    assert many < few + MOST_MORE_KIB
