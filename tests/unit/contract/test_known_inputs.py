"""The keys that inputs may have, and the sentence that names unknown ones."""

import pytest

from placement_worker.contract import actions, known_inputs
from placement_worker.contract.model import Action


def action(name, *keys):
    """Return an action with these keys in its inputs."""
    return Action('a1', name, inputs=dict.fromkeys(keys, 1))


def test_every_action_has_an_entry():
    """The table has an entry for each action of Senlin."""
    assert known_inputs.BY_ACTION.keys() == actions.ALL


@pytest.mark.parametrize(
    ('asked', 'expected'),
    [
        (action('CLUSTER_SCALE_IN', 'count', 'last_op'), []),
        (action('CLUSTER_SCALE_IN', 'cuont', 'drain_s'), ['cuont']),
        (action('CLUSTER_DEL_NODES', 'candidates', 'destroy_after_deletion'), []),
        (action('CLUSTER_SCALE_IN', 'candidates'), []),
        (action('CLUSTER_RESIZE', 'candidates'), []),
        (action('NODE_CREATE', 'candidates'), ['candidates']),
        (action('CLUSTER_RESIZE', 'number', 'adjustment_type', 'strict'), []),
        (action('NODE_CHECK', 'anything'), []),
        (action('NO_SUCH_ACTION', 'anything'), []),
    ],
)
def test_unknown_inputs_are_keys_that_neither_action_nor_plugin_reads(asked, expected):
    """Keys of the action, of the engine and of plugins are known; some actions allow any key."""
    assert known_inputs.unknown(asked, {'drain_s'}) == expected


@pytest.mark.parametrize('name', sorted(actions.ALL))
def test_inputs_that_senlin_sends_are_known(name):
    """No key that Senlin sends with an action is unknown."""
    own = known_inputs.BY_ACTION[name]
    keys = (*(('anything',) if own is None else own), *known_inputs.COMMON)

    assert known_inputs.unknown(action(name, *keys)) == []


@pytest.mark.parametrize(
    ('key', 'shown'),
    [
        ('cuont', '"cuont" (did you mean "count"?)'),
        ('nubmer', '"nubmer"'),
        ('\x1b[2J\n', '"\\u001b[2J\\n"'),
        ('x' * 100, f'"{"x" * 80}..."'),
    ],
)
def test_described_input_is_escaped_and_shortened(key, shown):
    """The sentence shows a key as JSON, with a similar key that the action has."""
    described = known_inputs.describe(action('CLUSTER_SCALE_IN'), [key])

    assert described == f'Unknown input of CLUSTER_SCALE_IN: {shown}'


def test_described_inputs_are_limited_and_have_hints():
    """The sentence names five keys, each with the known key that is probably meant."""
    keys = ['cuont', *(f'key {n}' for n in range(5))]

    assert known_inputs.describe(action('CLUSTER_SCALE_IN'), keys) == (
        'Unknown input of CLUSTER_SCALE_IN: "cuont" (did you mean "count"?), "key 0", "key 1", '
        '"key 2", "key 3" and 1 more'
    )
