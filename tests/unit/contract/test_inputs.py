"""Typed inputs of actions, and the errors of values that do not fit."""

import pytest

from placement_worker.contract import actions, inputs
from placement_worker.contract.inputs import (
    CandidateInputs,
    ReplaceInputs,
    ResizeInputs,
    ScaleInputs,
)
from placement_worker.contract.model import Action
from placement_worker.errors import InvalidInput

IDS = {'n1': 'n8', 'n2': 'n9'}


@pytest.mark.parametrize(
    ('kind', 'inputs', 'expected'),
    [
        (ScaleInputs, {}, ScaleInputs(1)),
        (ScaleInputs, {'count': 0}, ScaleInputs(0)),
        (ResizeInputs, {}, ResizeInputs()),
        (
            ResizeInputs,
            {'min_size': None, 'min_step': None, 'strict': None, 'adjustment_type': None},
            ResizeInputs(),
        ),
        (
            ResizeInputs,
            {
                'adjustment_type': 'CHANGE_IN_PERCENTAGE',
                'number': 33.3,
                'min_size': 1,
                'max_size': -1,
                'min_step': 2,
                'strict': True,
            },
            ResizeInputs('CHANGE_IN_PERCENTAGE', 33.3, 1, -1, 2, True),
        ),
        (ResizeInputs, {'number': 'ignored'}, ResizeInputs()),
        (CandidateInputs, {}, CandidateInputs(None)),
        (CandidateInputs, {'candidates': None}, CandidateInputs(None)),
        (CandidateInputs, {'candidates': ['n2', 'n1']}, CandidateInputs(['n2', 'n1'])),
        (CandidateInputs, {'candidates': IDS}, CandidateInputs(['n1', 'n2'])),
        (ReplaceInputs, {'candidates': IDS}, ReplaceInputs(IDS)),
    ],
)
def test_inputs_that_fit_are_decoded(kind, inputs, expected):
    """Each Struct takes its keys of the inputs; absent and null values have defaults."""
    assert kind.of({**inputs, 'unknown': 1}) == expected


RESIZE = '`EXACT_CAPACITY`, `CHANGE_IN_CAPACITY`, `CHANGE_IN_PERCENTAGE`'


@pytest.mark.parametrize(
    ('kind', 'inputs', 'message'),
    [
        (ScaleInputs, {'count': -1}, 'Expected `int` >= 0, got `-1` - at `{}.count`'),
        (ScaleInputs, {'count': 1.5}, 'Expected `int`, got `1.5` - at `{}.count`'),
        (
            ResizeInputs,
            {'adjustment_type': 'EXACT'},
            f'Expected one of {RESIZE}, got `"EXACT"` - at `{{}}.adjustment_type`',
        ),
        (
            ResizeInputs,
            {'adjustment_type': 'EXACT_CAPACITY'},
            'Expected `int`, got `null` - at `{}.number`',
        ),
        (
            ResizeInputs,
            {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': '5 %'},
            'Expected a number of percent, got `"5 %"` - at `{}.number`',
        ),
        (ResizeInputs, {'strict': 'yes'}, 'Expected `bool`, got `"yes"` - at `{}.strict`'),
        (ResizeInputs, {'min_size': -2}, 'Expected `int` >= 0, got `-2` - at `{}.min_size`'),
        (ResizeInputs, {'max_size': 1.0}, 'Expected `int`, got `1.0` - at `{}.max_size`'),
        (
            CandidateInputs,
            {'candidates': 'n1'},
            'Expected `array` or `object`, got `"n1"` - at `{}.candidates`',
        ),
        (
            CandidateInputs,
            {'candidates': ['n1', 7]},
            'Expected `str`, got `7` - at `{}.candidates[1]`',
        ),
        (
            CandidateInputs,
            {'candidates': ['n1', 'n1']},
            'Expected each node once, got `n1` again - at `{}.candidates[1]`',
        ),
        (
            ReplaceInputs,
            {'candidates': ['n1']},
            'Expected `object`, got `array` - at `{}.candidates` (old node id: new node id)',
        ),
        (
            ReplaceInputs,
            {'candidates': {'n1': 'n9', 'n2': 'n9'}},
            'Expected each node once, got `n9` again - at `{}.candidates[1]`',
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused_with_path_and_finding(kind, inputs, message):
    """The error names the expectation, the value that was found, and its path."""
    with pytest.raises(InvalidInput) as refused:
        kind.of(inputs)

    assert str(refused.value) == message.format('$.action.inputs')


def test_inputs_of_an_action_are_decoded_once():
    """An action decodes its inputs when they are first read, and keeps the result."""
    action = Action('a1', 'CLUSTER_SCALE_IN', inputs={'count': 2, 'candidates': IDS})

    assert action.scale_inputs is action.scale_inputs
    assert action.scale_inputs.count == 2
    assert action.candidate_inputs.candidates == ['n1', 'n2']
    assert action.replace_inputs.candidates == IDS
    assert action.resize_inputs == ResizeInputs('CHANGE_IN_CAPACITY', -2)


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


def test_each_action_has_an_entry_of_its_inputs():
    """No action of Senlin accepts any key only because the table lacks it."""
    assert inputs.KEYS_BY_ACTION.keys() == actions.ALL


@pytest.mark.parametrize(
    ('keys', 'shown'),
    [
        (['nubmer'], '"nubmer"'),
        (['\x1b[2J\n'], '"\\u001b[2J\\n"'),
        (['x' * 100], f'"{"x" * 80}..."'),
        (
            ['cuont', *(f'key {n}' for n in range(5))],
            '"cuont" (did you mean "count"?), "key 0", "key 1", "key 2", "key 3" and 1 more',
        ),
    ],
)
def test_described_inputs_are_limited_escaped_and_have_hints(keys, shown):
    """The sentence names five keys as JSON, each with a similar key that the action has."""
    described = inputs.describe_unknown('CLUSTER_SCALE_IN', keys)

    assert described == f'Unknown input of CLUSTER_SCALE_IN: {shown}'


def test_required_candidates_that_are_absent_are_refused():
    """An action that must name nodes and names none raises an error; an empty list is allowed."""
    assert CandidateInputs([]).required() == []
    with pytest.raises(InvalidInput, match=r'got none - at `\$\.action\.inputs\.candidates`$'):
        CandidateInputs().required()
