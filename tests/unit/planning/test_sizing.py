"""The number of nodes that an action creates or deletes, and the warnings about it."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, Rejected, SizeOutOfBounds
from placement_worker.planning import sizing
from placement_worker.planning.sizing import Size
from placement_worker.planning.victims import Protection
from tests.factories import node, nodes, request


def made(action, members=5, **more):
    return codec.decode(request(action, [], nodes(a=members), **more), CheckRequest)


def size(action, members=5, max_nodes=1000, **more):
    asked = made(action, members, **more)
    return sizing.size_of(asked.action, ActionData(asked.action.data), asked.cluster, max_nodes)


CREATE_2, DELETE_2 = {'creation': {'count': 2}}, {'deletion': {'count': 2}}
UNCOUNTED, CREATE_6 = {'creation': {}}, {'creation': {'count': 6}}


def exactly(number):
    return {'adjustment_type': 'EXACT_CAPACITY', 'number': number}


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'data': CREATE_2}, Size(CREATION, 2)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'data': DELETE_2}, Size(CREATION, 3)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'data': UNCOUNTED}, Size(CREATION, 1)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 'x'}, 'data': CREATE_2}, Size(CREATION, 2)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 0}}, Size(CREATION, 0)),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 4}, 'data': CREATE_2}, Size(DELETION, 4)),
        ('CLUSTER_DEL_NODES', {}, Size(DELETION, 0)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 1)),
        ('NODE_DELETE', {'node': node(1)}, Size(DELETION, 1)),
        ('NODE_CREATE', {'node': node(9), 'data': CREATE_2}, Size(CREATION, 1)),
        ('CLUSTER_RESIZE', {'data': DELETE_2}, Size(DELETION, 2)),
        ('CLUSTER_RESIZE', {'data': {'deletion': {'count': 1}} | CREATE_2}, Size(CREATION, 2)),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': 0}} | DELETE_2}, Size(DELETION, 2)),
        # The largest size is allowed, a larger cluster shrinks, and a new node counts once.
        ('CLUSTER_RESIZE', {'inputs': exactly(10), 'max_nodes': 10}, Size(CREATION, 5)),
        ('CLUSTER_RESIZE', {'inputs': exactly(4), 'max_nodes': 3}, Size(DELETION, 1)),
        ('NODE_CREATE', {'node': node(5), 'max_nodes': 5}, Size(CREATION, 1)),
    ],
)
def test_size_comes_from_an_earlier_decision_before_the_inputs(action, more, expected):
    """The count of an earlier policy takes precedence over the inputs, and these over 1."""
    assert size(action, **more) == expected


@pytest.mark.parametrize(
    'of_request', [{'min_size': 6, 'max_size': 6}, {'min_size': 6}, {'max_size': 6}, {}]
)
def test_resize_to_a_limit_is_allowed(of_request):
    """Each limit of the request, the cluster and the worker may be reached, and may be equal."""
    inputs = {**exactly(6), 'strict': True, **of_request}

    assert size('CLUSTER_RESIZE', 5, 6, inputs=inputs, min_size=6, max_size=6) == Size(CREATION, 1)


LOOSE = {'adjustment_type': None, 'strict': False}
BELOW_7 = 'The target capacity (6) is less than the specified min_size (7).'
BELOW_CLUSTER = 'The specified max_size (3) is less than the current min_size (4) of the cluster.'
BEYOND = 'is greater than the maximum number of nodes allowed per cluster'
OF_2, OF_11 = 'The target capacity (2) is', f'The target capacity (11) {BEYOND} (10).'


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'reason'),
    [
        ({'min_size': 2, 'max_size': 1}, {}, f'{OF_2} greater than the specified max_size (1).'),
        ({'min_size': 2}, {'max_size': 1}, f"{OF_2} greater than the cluster's max_size (1)."),
        ({**LOOSE, 'min_size': 7}, {'max_size': 6}, BELOW_7),
        ({**LOOSE, 'max_size': 3}, {'min_size': 4}, BELOW_CLUSTER),
    ],
)
def test_bound_that_refuses_a_resize_is_the_one_of_senlin(inputs, bounds, reason):
    """Of several bounds, and of a bound beyond another, the error names the one of Senlin.

    The conformance tables have the text of each single bound.
    """
    with pytest.raises(SizeOutOfBounds) as refused:
        size('CLUSTER_RESIZE', inputs={**exactly(2), 'strict': True, **inputs}, **bounds)

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ('action', 'more', 'error'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 6}}, OF_11),
        ('CLUSTER_SCALE_OUT', {'data': CREATE_6}, OF_11),
        ('CLUSTER_RESIZE', {'data': CREATE_6}, OF_11),
        ('CLUSTER_RESIZE', {'inputs': exactly(11)}, OF_11),
        ('NODE_CREATE', {'node': node(11), 'members': 10}, OF_11),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': -1}}, 'inputs.count`'),
        ('CLUSTER_RESIZE', {'data': {'creation': 3}}, 'data.creation`'),
    ],
)
def test_size_beyond_the_largest_cluster_or_of_an_invalid_value_is_refused(action, more, error):
    """No creation exceeds the size that the service allows; an invalid value has its path."""
    with pytest.raises(Rejected) as refused:
        size(action, max_nodes=10, **more)

    assert isinstance(refused.value, SizeOutOfBounds if error == OF_11 else InvalidInput)
    assert str(refused.value).endswith(error if error == OF_11 else f' - at `$.action.{error}')


CAPACITY, PERCENTAGE = 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'


def changed(number, adjustment=CAPACITY):
    return {'adjustment_type': adjustment, 'number': number}


@pytest.mark.parametrize(
    ('inputs', 'expected'),
    [
        ({}, {'creation': {'count': 0}}),
        (changed(5), {'creation': {'count': 1}}),
        (changed(-9), {'deletion': {'count': 2}}),
    ],
)
def test_size_of_a_resize_without_a_decision_is_added_within_the_bounds(inputs, expected):
    """The data of a resize always say how many nodes the bounds of the cluster allow."""
    asked = made('CLUSTER_RESIZE', 3, inputs=inputs, min_size=1, max_size=4)

    data = sizing.with_size_of_resize(asked.action, ActionData({'words': 1}), asked.cluster, 1000)

    assert data == {'words': 1, **expected}


def of_nothing(change):
    return (
        f'The resize asks to {change} of 0 nodes, and a percentage of 0 is 0; use '
        'CHANGE_IN_CAPACITY or EXACT_CAPACITY'
    )


MINIMUM = "The resize asks to change nothing; the cluster's min_size (2) limits it to add 2 nodes"
BEYOND_4 = (
    "The action leads to 5 nodes, more than the cluster's max_size (4): the engine must refuse it"
)
RESIZE, OUT, IN, CREATE = 'CLUSTER_RESIZE', 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN', 'NODE_CREATE'
EMPTY, ADD_50 = {'members': 0}, of_nothing('add 50%')
OF_PROTECTED = {'inputs': {'count': 2}, 'members': 2, 'protected': ['n1']}


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        (RESIZE, {'inputs': {**changed(50, PERCENTAGE), 'min_step': 2}, **EMPTY}, [ADD_50]),
        (RESIZE, {'inputs': changed(0.5, PERCENTAGE), **EMPTY}, [of_nothing('add 0.5%')]),
        (RESIZE, {'inputs': changed(-100, PERCENTAGE), **EMPTY}, [of_nothing('remove 100%')]),
        (RESIZE, {'inputs': changed(50, PERCENTAGE), 'min_size': 2, **EMPTY}, [ADD_50, MINIMUM]),
        # A resize within the bounds, or whose size a policy decided, needs no warning.
        (RESIZE, {'inputs': changed(2)}, []),
        (RESIZE, {'members': 0, 'inputs': changed(0, PERCENTAGE)}, []),
        (RESIZE, {'members': 0, 'inputs': changed(1)}, []),
        (RESIZE, {'members': 0, 'inputs': exactly(0)}, []),
        (RESIZE, {'members': 0, 'inputs': changed(50, None)}, []),
        (RESIZE, {'members': 1, 'inputs': changed(50, PERCENTAGE)}, []),
        (RESIZE, {'members': 0, 'inputs': changed(50, PERCENTAGE), 'data': CREATE_2}, []),
        (RESIZE, {'inputs': changed(9), 'data': CREATE_2, 'max_size': 4}, []),
        # Replacing every node empties no cluster; an invalid size is no error.
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {f'n{n}': 'x' for n in '123'}}}, []),
        (IN, {'inputs': {'count': 'x'}}, []),
        # Growth up to max_size needs no warning; a negative max_size is unlimited.
        (OUT, {'inputs': {'count': 1}, 'max_size': 4}, []),
        (OUT, {'inputs': {'count': 2}, 'max_size': 4}, [BEYOND_4]),
        (OUT, {'inputs': {'count': 2}, 'max_size': -1}, []),
        (OUT, {'inputs': {'count': 9}, 'data': CREATE_2, 'max_size': 4}, [BEYOND_4]),
        (CREATE, {'node': node(4), 'max_size': 4}, []),
        (CREATE, {'node': node(4), 'members': 4, 'max_size': 4}, []),
        (CREATE, {'node': node(5), 'members': 4, 'max_size': 4}, [BEYOND_4]),
        (CREATE, {'node': node(5), 'members': 5, 'max_size': 4}, [BEYOND_4]),
        # A cluster with a protected node is not emptied; the engine must not choose that node.
        (IN, OF_PROTECTED, ['Only 1 of 2 nodes can be deleted: n1 is protected']),
        (IN, {'data': {'deletion': {'count': 1, 'candidates': ['n2']}}, **OF_PROTECTED}, []),
    ],
)
def test_warnings_say_what_becomes_of_a_size_that_senlin_accepts(action, more, expected):
    """A user learns of a size that a bound changes, or that the engine must refuse."""
    protections = {name: Protection() for name in more.get('protected', ())}
    more = {key: value for key, value in more.items() if key != 'protected'}
    asked = made(action, **{'members': 3, **more})

    data = ActionData(asked.action.data)
    assert sizing.size_warnings(asked, data, 1000, protections) == expected
