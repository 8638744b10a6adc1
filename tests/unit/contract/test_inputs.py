"""Typed inputs of actions, and the errors of values that do not fit."""

import pytest

from placement_worker.contract import inputs
from placement_worker.contract.inputs import (
    CandidateInputs,
    ReplaceInputs,
    ResizeInputs,
    ScaleInputs,
)
from placement_worker.errors import InvalidInput

IDS = {'n1': 'n8', 'n2': 'n9'}


@pytest.mark.parametrize(
    ('kind', 'inputs', 'expected'),
    [
        (ScaleInputs, {}, ScaleInputs(1)),
        (ScaleInputs, {'count': 2**63 - 1}, ScaleInputs(2**63 - 1)),
        (ResizeInputs, {}, ResizeInputs()),
        (ResizeInputs, dict.fromkeys(('min_size', 'min_step', 'strict', 'adjustment_type')),
         ResizeInputs()),
        (ResizeInputs,
         {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 33.3, 'min_size': 1, 'max_size': -1,
          'min_step': 2, 'strict': True},
         ResizeInputs('CHANGE_IN_PERCENTAGE', 33.3, 1, -1, 2, True)),
        (ResizeInputs, {'number': 'ignored'}, ResizeInputs()),
        (CandidateInputs, {}, CandidateInputs(None)),
        (CandidateInputs, {'candidates': None}, CandidateInputs(None)),
        (CandidateInputs, {'candidates': ['n2', 'n1']}, CandidateInputs(['n2', 'n1'])),
        (CandidateInputs, {'candidates': IDS}, CandidateInputs(['n1', 'n2'])),
        (ReplaceInputs, {'candidates': IDS}, ReplaceInputs(IDS)),
    ],
)  # fmt: skip
def test_inputs_that_fit_are_decoded(kind, inputs, expected):
    """Each Struct takes its keys of the inputs; absent and null values have defaults."""
    assert kind.of({**inputs, 'unknown': 1}) == expected


def naming(candidates):
    return {'candidates': candidates}


RESIZE = '`EXACT_CAPACITY`, `CHANGE_IN_CAPACITY`, `CHANGE_IN_PERCENTAGE`'


@pytest.mark.parametrize(
    ('kind', 'inputs', 'error', 'at'),
    [
        (ScaleInputs, {'count': -1}, '`int` >= 0, got `-1`', 'count`'),
        (ScaleInputs, {'count': 1.5}, '`int`, got `1.5`', 'count`'),
        (ScaleInputs, {'count': True}, '`int`, got `true`', 'count`'),
        (ScaleInputs, {'count': 'x' * 100}, f'`int`, got `"{"x" * 80}..."`', 'count`'),
        (ScaleInputs, {'count': 2**63}, '`int`, got a number beyond 64 bits', 'count`'),
        (ScaleInputs, {'count': -(2**63)}, '`int`, got a number beyond 64 bits', 'count`'),
        *(
            (ResizeInputs, {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': number},
             f'a number of percent, got `{shown}`', 'number`')
            for number, shown in ((True, 'true'), (1e19, '1e+19'), (float('nan'), 'NaN'))
        ),
        (ResizeInputs, {'adjustment_type': 'EXACT'},
         f'one of {RESIZE}, got `"EXACT"`', 'adjustment_type`'),
        (ResizeInputs, {'adjustment_type': 'EXACT_CAPACITY'}, '`int`, got `null`', 'number`'),
        (ResizeInputs, {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': '5 %'},
         'a number of percent, got `"5 %"`', 'number`'),
        (ResizeInputs, {'strict': 'yes'}, '`bool`, got `"yes"`', 'strict`'),
        (ResizeInputs, {'min_size': -2}, '`int` >= 0, got `-2`', 'min_size`'),
        (ResizeInputs, {'max_size': 1.0}, '`int`, got `1.0`', 'max_size`'),
        (CandidateInputs, naming('n1'), '`array` or `object`, got `"n1"`', 'candidates`'),
        (CandidateInputs, naming(['n1', 7]), '`str`, got `7`', 'candidates[1]`'),
        (CandidateInputs, naming(['n1', 'n1']), 'each node once, got `n1` again', 'candidates[1]`'),
        (ReplaceInputs, naming(['n1']),
         '`object`, got `array`', 'candidates` (old node id: new node id)'),
        (ReplaceInputs, naming({'n1': 'n9', 'n2': 'n9'}),
         'each node once, got `n9` again', 'candidates[1]`'),
    ],
)  # fmt: skip
def test_inputs_that_do_not_fit_are_refused_with_path_and_finding(kind, inputs, error, at):
    """The error names the expectation, the value that was found, and its path."""
    with pytest.raises(InvalidInput) as refused:
        kind.of(inputs)

    assert str(refused.value) == f'Expected {error} - at `$.action.inputs.{at}'


@pytest.mark.parametrize(
    ('action', 'keys', 'expected'),
    [
        ('CLUSTER_SCALE_IN', ['count', 'last_op'], []),
        ('CLUSTER_SCALE_IN', ['cuont', 'drain_s'], ['cuont']),
        ('CLUSTER_DEL_NODES', ['candidates', 'destroy_after_deletion'], []),
        ('CLUSTER_SCALE_IN', ['candidates'], []),
        ('CLUSTER_RESIZE', ['candidates'], []),
        ('NODE_CREATE', ['candidates'], ['candidates']),
        ('CLUSTER_RESIZE', ['number', 'adjustment_type', 'strict'], []),
        ('NODE_CHECK', ['anything'], []),
        ('NO_SUCH_ACTION', ['anything'], []),
    ],
)
def test_unknown_inputs_are_keys_that_neither_action_nor_plugin_reads(action, keys, expected):
    """Keys of the action, of the engine and of plugins are known; some actions allow any key."""
    assert inputs.unknown_inputs(action, keys, {'drain_s'}) == expected


@pytest.mark.parametrize(
    ('keys', 'shown'),
    [
        (['nubmer'], '"nubmer"'),
        (['\x1b[2J\n'], '"\\u001b[2J\\n"'),
        (['x' * 100], f'"{"x" * 80}..."'),
        (['cuont', *(f'key {n}' for n in range(5))],
         '"cuont" (did you mean "count"?), "key 0", "key 1", "key 2", "key 3" and 1 more'),
    ],
)  # fmt: skip
def test_described_inputs_are_limited_escaped_and_have_hints(keys, shown):
    """The sentence names five keys as JSON, each with a similar key that the action has."""
    described = inputs.describe_unknown('CLUSTER_SCALE_IN', keys)

    assert described == f'Unknown input of CLUSTER_SCALE_IN: {shown}'
