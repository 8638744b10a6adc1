"""How many nodes: where the count comes from, how a resize is read, and every reason to refuse."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, SizeOutOfBounds
from placement_worker.planning.sizing import Size, size_of
from tests.factories import node, nodes, request


def size(action, members=5, max_nodes=1000, **more):
    asked = codec.decode(request(action, [], nodes(a=members), **more), CheckRequest)
    return size_of(asked.action, ActionData(asked.action.data), asked.cluster, max_nodes)


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {}, Size(CREATION, 1)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}}, Size(CREATION, 3)),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 3}, 'data': {'creation': {'count': 2}}},
            Size(CREATION, 2),
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 3}, 'data': {'creation': {}}},
            Size(CREATION, 1),
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 3}, 'data': {'deletion': {'count': 2}}},
            Size(CREATION, 3),
        ),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 0}}, Size(CREATION, 0)),
        ('CLUSTER_SCALE_IN', {}, Size(DELETION, 1)),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'count': 2}}}, Size(DELETION, 2)),
        (
            'CLUSTER_SCALE_IN',
            {'inputs': {'count': 4}, 'data': {'creation': {'count': 2}}},
            Size(DELETION, 4),
        ),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}, Size(DELETION, 2)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 1)),
        ('NODE_DELETE', {'node': node(1)}, Size(DELETION, 1)),
        ('NODE_CREATE', {'node': node(9), 'data': {'creation': {'count': 7}}}, Size(CREATION, 1)),
        ('CLUSTER_RESIZE', {'data': {'deletion': {'count': 2}}}, Size(DELETION, 2)),
        (
            'CLUSTER_RESIZE',
            {'data': {'creation': {'count': 2}, 'deletion': {'count': 1}}},
            Size(CREATION, 2),
        ),
    ],
)
def test_the_count_comes_from_the_first_who_says_it(action, more, expected):
    assert size(action, **more) == expected


@pytest.mark.parametrize(
    ('adjustment', 'number', 'more', 'change'),
    [
        ('EXACT_CAPACITY', 7, {}, 2),
        ('EXACT_CAPACITY', 5, {}, 0),
        ('CHANGE_IN_CAPACITY', -2, {}, -2),
        ('CHANGE_IN_PERCENTAGE', 50, {}, 2),
        ('CHANGE_IN_PERCENTAGE', -50, {}, -2),
        ('CHANGE_IN_PERCENTAGE', 1, {}, 1),
        ('CHANGE_IN_PERCENTAGE', -1, {}, -1),
        ('CHANGE_IN_PERCENTAGE', 33.3, {}, 1),
        ('CHANGE_IN_PERCENTAGE', 0, {'min_step': 2}, 0),
        ('CHANGE_IN_PERCENTAGE', 20, {'min_step': 3}, 3),
        ('CHANGE_IN_PERCENTAGE', -20, {'min_step': 3}, -3),
        ('CHANGE_IN_PERCENTAGE', 80, {'min_step': 3}, 4),
        ('CHANGE_IN_CAPACITY', 100, {'max_size': 8}, 3),
        ('CHANGE_IN_CAPACITY', 100, {'max_size': -1}, 100),
        ('CHANGE_IN_CAPACITY', 0, {'max_size': 0}, -5),
        ('CHANGE_IN_CAPACITY', -100, {}, -5),
        (None, None, {'min_size': 7, 'strict': None, 'min_step': None}, 2),
        (None, 9, {}, 0),
    ],
)
def test_a_resize_is_read_as_senlin_means_it(adjustment, number, more, change):
    inputs = {'adjustment_type': adjustment, 'number': number, **more}

    expected = Size(CREATION, change) if change >= 0 else Size(DELETION, -change)
    assert size('CLUSTER_RESIZE', inputs=inputs) == expected


STRICT = {'adjustment_type': 'EXACT_CAPACITY', 'strict': True}


@pytest.mark.parametrize(
    ('inputs', 'cluster', 'reason'),
    [
        (
            {**STRICT, 'number': 1001},
            {},
            'The target capacity (1001) is greater than the maximum number of nodes allowed per cluster (1000).',
        ),
        (
            {**STRICT, 'number': 2, 'min_size': 3},
            {},
            'The target capacity (2) is less than the specified min_size (3).',
        ),
        (
            {**STRICT, 'number': 2},
            {'min_size': 3},
            "The target capacity (2) is less than the cluster's min_size (3).",
        ),
        (
            {**STRICT, 'number': 9, 'max_size': 8},
            {},
            'The target capacity (9) is greater than the specified max_size (8).',
        ),
        (
            {**STRICT, 'number': 9},
            {'max_size': 8},
            "The target capacity (9) is greater than the cluster's max_size (8).",
        ),
        (
            {**STRICT, 'number': 5, 'min_size': 4, 'max_size': 3},
            {},
            'The target capacity (5) is greater than the specified max_size (3).',
        ),
        (
            {**STRICT, 'number': 7, 'min_size': 7},
            {'max_size': 6},
            "The target capacity (7) is greater than the cluster's max_size (6).",
        ),
        (
            {'min_size': 7},
            {'max_size': 6},
            'The target capacity (6) is less than the specified min_size (7).',
        ),
        (
            {'max_size': 2000},
            {},
            'The specified max_size (2000) is greater than the maximum number of nodes allowed per cluster (1000).',
        ),
        (
            {'max_size': 3},
            {'min_size': 4},
            'The specified max_size (3) is less than the current min_size (4) of the cluster.',
        ),
    ],
)
def test_a_resize_out_of_bounds_is_refused_in_senlins_words(inputs, cluster, reason):
    with pytest.raises(SizeOutOfBounds) as refused:
        size('CLUSTER_RESIZE', inputs=inputs, **cluster)

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 6}}),
        ('CLUSTER_SCALE_OUT', {'data': {'creation': {'count': 6}}}),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': 6}}}),
    ],
)
def test_no_creation_leads_beyond_the_largest_cluster(action, more):
    with pytest.raises(
        SizeOutOfBounds, match=r'The target capacity \(11\) .* allowed per cluster \(10\)'
    ):
        size(action, max_nodes=10, **more)


def test_a_cluster_that_is_too_large_already_may_shrink():
    inputs = {'adjustment_type': 'EXACT_CAPACITY', 'number': 4}

    assert size('CLUSTER_RESIZE', max_nodes=3, inputs=inputs) == Size(DELETION, 1)


def test_a_node_that_is_yet_to_be_created_does_not_count_as_a_current_one():
    assert size('NODE_CREATE', node=node(5), max_nodes=5) == Size(CREATION, 1)
    with pytest.raises(SizeOutOfBounds, match=r'\(6\)'):
        size('NODE_CREATE', node=node(6), max_nodes=5)


@pytest.mark.parametrize(
    ('action', 'more', 'message'),
    [
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': -1}},
            'Expected `int` >= 0, got `-1` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': '2'}},
            'Expected `int`, got `"2"` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 1.5}},
            'Expected `int`, got `1.5` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': True}},
            'Expected `int`, got `true` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': None}},
            'Expected `int`, got `null` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_IN',
            {'inputs': {'count': [1]}},
            'Expected `int`, got `array` - at `$.action.inputs.count`',
        ),
        (
            'CLUSTER_SCALE_IN',
            {'data': {'deletion': {'count': {}}}},
            'Expected `int`, got `object` - at `$.action.data.deletion.count`',
        ),
        (
            'CLUSTER_RESIZE',
            {'data': {'creation': 3}},
            'Expected `object`, got `3` - at `$.action.data.creation`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'adjustment_type': 'EXACT'}},
            'Expected one of `EXACT_CAPACITY`, `CHANGE_IN_CAPACITY`, `CHANGE_IN_PERCENTAGE`, got `"EXACT"` - at '
            '`$.action.inputs.adjustment_type`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'adjustment_type': 'EXACT_CAPACITY'}},
            'Expected `int`, got `null` - at `$.action.inputs.number`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': '5 %'}},
            'Expected a number of percent, got `"5 %"` - at `$.action.inputs.number`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'strict': 'yes'}},
            'Expected `bool`, got `"yes"` - at `$.action.inputs.strict`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'min_size': -2}},
            'Expected `int` >= 0, got `-2` - at `$.action.inputs.min_size`',
        ),
        (
            'CLUSTER_RESIZE',
            {'inputs': {'max_size': 1.0}},
            'Expected `int`, got `1.0` - at `$.action.inputs.max_size`',
        ),
        (
            'CLUSTER_DEL_NODES',
            {'inputs': {'candidates': 'n1'}},
            'Expected `array` or `object`, got `"n1"` - at `$.action.inputs.candidates`',
        ),
        (
            'CLUSTER_DEL_NODES',
            {'inputs': {'candidates': ['n1', 7]}},
            'Expected `str`, got `7` - at `$.action.inputs.candidates[1]`',
        ),
        (
            'CLUSTER_DEL_NODES',
            {'inputs': {'candidates': ['n1', 'n1']}},
            'Expected each node once, got `n1` again - at `$.action.inputs.candidates[1]`',
        ),
    ],
)
def test_a_value_that_no_decision_can_be_based_on_is_named(action, more, message):
    with pytest.raises(InvalidInput) as refused:
        size(action, **more)

    assert str(refused.value) == message
