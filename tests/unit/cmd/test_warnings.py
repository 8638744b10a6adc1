"""Where the commands show warnings."""

import json

import pytest

from tests.requests import deletion_policy, nodes, request

EMPTIED = 'The action removes all 3 nodes of the cluster'
EMPTYING = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=3), inputs={'count': 3})


@pytest.mark.parametrize('command', ['check', 'plan'])
def test_warning_on_the_command_line_is_the_first_line(program, command):
    """A table begins with the warnings, before the outcome."""
    _, out, _ = program(command, 'asked.json', **{'asked.json': EMPTYING})

    first, second = out.splitlines()[:2]
    assert first == f'Warning: {EMPTIED}'
    assert second.startswith('CLUSTER_SCALE_IN of cluster web')


@pytest.mark.parametrize('command', [('check',), ('plan',)])
def test_warning_for_scripts_is_in_the_data(program, command):
    """JSON has the warnings as a list."""
    _, out, _ = program(*command, '-f', 'json', 'asked.json', **{'asked.json': EMPTYING})

    assert json.loads(out)['warnings'] == [EMPTIED]


def test_warning_in_lines_is_in_the_reply(program):
    """Each line of replies has its warnings."""
    lines = '\n'.join(map(json.dumps, [EMPTYING, {**EMPTYING, 'target': 'AFTER'}]))

    _, out, _ = program('check', '--lines', 'asked.jsonl', **{'asked.jsonl': lines})

    assert [json.loads(line)['warnings'] for line in out.splitlines()] == [[EMPTIED], []]
