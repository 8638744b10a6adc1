"""Where the commands show warnings."""

import json

import pytest

from placement_worker.cmd import targets
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, nodes, request

EMPTIED = 'The action removes all 3 nodes of the cluster'
EMPTYING = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=3), inputs={'count': 3})


@pytest.mark.parametrize('command', ['check', 'plan'])
def test_warning_on_the_command_line_is_the_first_line(program, command):
    """A table begins with the warnings, and the log on standard error does not repeat them."""
    _, out, err = program(command, 'asked.json', **{'asked.json': EMPTYING})

    first, second = out.splitlines()[:2]
    assert EMPTIED not in err
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


MISSPELT = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=3), inputs={'cuont': 3})
UNKNOWN = (
    'Unknown input of CLUSTER_SCALE_IN: "cuont" (did you mean "count"?) - at `$.action.inputs`'
)


@pytest.mark.parametrize(('command', 'failed'), [('check', 2), ('plan', 1)])
def test_unknown_input_on_the_command_line_is_an_error(program, command, failed):
    """The command line refuses a misspelled input and names the key that was meant."""
    status, out, err = program(command, 'asked.json', **{'asked.json': MISSPELT})

    assert (status, out) == (failed, '')
    assert err.startswith(
        f'placement-policy {command}: asked.json:1:88: {UNKNOWN}; correct the file'
    )


def test_unknown_input_in_a_line_is_an_error_and_the_rest_goes_on(program):
    """A misspelled input is the error of its line alone."""
    lines = '\n'.join(map(json.dumps, [MISSPELT, EMPTYING]))

    _, out, _ = program('check', '--lines', 'asked.jsonl', **{'asked.jsonl': lines})

    first, second = map(json.loads, out.splitlines())
    assert first == {
        'error': {'type': 'InvalidRequest', 'message': UNKNOWN, 'file': 'asked.jsonl', 'line': 1}
    }
    assert second['action']['data']['status'] == 'OK'


def test_unknown_input_that_a_plugin_of_the_worker_reads_is_accepted(program, monkeypatch):
    """The command line accepts the keys that policy types of the worker that replies declare."""

    class Draining(Deletion):
        interface = (2, 0)
        inputs = frozenset({'cuont'})

    registry = Registry([('senlin.policy.deletion-1.1', Draining)])
    monkeypatch.setattr(targets.Registry, 'installed', lambda: registry)

    status, out, _ = program('check', '-f', 'json', 'asked.json', **{'asked.json': MISSPELT})

    assert (status, json.loads(out)['warnings']) == (0, [])
