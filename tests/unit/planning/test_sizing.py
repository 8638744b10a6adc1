"""The number of nodes that an action creates or deletes."""

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, SizeOutOfBounds
from placement_worker.planning import sizing
from placement_worker.planning.sizing import Size
from tests.factories import node, nodes, request


def size(action, members=5, max_nodes=1000, **more):
    """Return the size of an action on a cluster of so many nodes."""
    asked = codec.decode(request(action, [], nodes(a=members), **more), CheckRequest)
    return sizing.size_of(asked.action, ActionData(asked.action.data), asked.cluster, max_nodes)


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
        ('CLUSTER_DEL_NODES', {}, Size(DELETION, 0)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 1)),
        ('NODE_DELETE', {'node': node(1)}, Size(DELETION, 1)),
        ('NODE_CREATE', {'node': node(9), 'data': {'creation': {'count': 7}}}, Size(CREATION, 1)),
        ('CLUSTER_RESIZE', {'data': {'deletion': {'count': 2}}}, Size(DELETION, 2)),
        (
            'CLUSTER_RESIZE',
            {'data': {'creation': {'count': 2}, 'deletion': {'count': 1}}},
            Size(CREATION, 2),
        ),
        (
            'CLUSTER_RESIZE',
            {'data': {'creation': {'count': 0}, 'deletion': {'count': 1}}},
            Size(DELETION, 1),
        ),
        ('CLUSTER_CHECK', {}, Size(CREATION, 0)),
    ],
)
def test_size_comes_from_an_earlier_decision_before_the_inputs(action, more, expected):
    """The count of an earlier policy takes precedence over the inputs, and these over 1."""
    assert size(action, **more) == expected


@pytest.mark.parametrize(
    ('number', 'bounds', 'limit'),
    [
        (3, {}, ''),
        (3, {'max_size': 6}, "limited to 6 in all by the cluster's max_size"),
        (-3, {'min_size': 4}, "limited to 4 in all by the cluster's min_size"),
    ],
)
def test_size_of_a_resize_names_the_bound_that_limits_it(number, bounds, limit):
    """A resize that a bound trims has the bound in words, which ends the reason of a policy."""
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number}

    found = size('CLUSTER_RESIZE', inputs=inputs, **bounds)

    assert found.limit == limit
    assert found.explained('Why.') == (f'Why; {limit}' if limit else 'Why.')


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 6}}),
        ('CLUSTER_SCALE_OUT', {'data': {'creation': {'count': 6}}}),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': 6}}}),
    ],
)
def test_size_of_a_creation_beyond_the_largest_cluster_is_refused(action, more):
    """No creation leads to more nodes than the service allows, whatever its count comes from."""
    with pytest.raises(
        SizeOutOfBounds, match=r'The target capacity \(11\) .* allowed per cluster \(10\)'
    ):
        size(action, max_nodes=10, **more)


def test_size_of_a_deletion_in_a_cluster_that_is_too_large_is_allowed():
    """A cluster that already exceeds the limit may shrink to a size that still exceeds it."""
    inputs = {'adjustment_type': 'EXACT_CAPACITY', 'number': 4}

    assert size('CLUSTER_RESIZE', max_nodes=3, inputs=inputs) == Size(DELETION, 1)


def test_size_of_a_node_create_does_not_count_the_new_node_as_a_current_one():
    """The node of a NODE_CREATE does not count twice although the cluster may list it."""
    assert size('NODE_CREATE', node=node(5), max_nodes=5) == Size(CREATION, 1)
    with pytest.raises(SizeOutOfBounds, match=r'\(6\)'):
        size('NODE_CREATE', node=node(6), max_nodes=5)


@pytest.mark.parametrize(
    ('action', 'more', 'path'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': -1}}, '$.action.inputs.count'),
        (
            'CLUSTER_SCALE_IN',
            {'data': {'deletion': {'count': {}}}},
            '$.action.data.deletion.count',
        ),
        ('CLUSTER_RESIZE', {'data': {'creation': 3}}, '$.action.data.creation'),
        ('CLUSTER_RESIZE', {'inputs': {'strict': 'yes'}}, '$.action.inputs.strict'),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': 'n1'}}, '$.action.inputs.candidates'),
    ],
)
def test_size_from_an_invalid_value_is_refused_with_its_path(action, more, path):
    """An invalid value that the size depends on raises an error that names its path."""
    with pytest.raises(InvalidInput) as refused:
        size(action, **more)

    assert str(refused.value).endswith(f' - at `{path}`')


@pytest.mark.parametrize(
    'more',
    [
        {'inputs': {'count': 'x'}, 'data': {'creation': {'count': 2}}},
        {'inputs': {'count': 2, 'candidates': 'x'}, 'data': {'deletion': 'x'}},
    ],
)
def test_size_does_not_depend_on_invalid_values_that_it_does_not_read(more):
    """An invalid value that the size does not depend on is no error."""
    assert size('CLUSTER_SCALE_OUT', **more) == Size(CREATION, 2)


def completed(data, inputs=None):
    """Return the data of a resize of a cluster of 1 to 4 nodes that has 3."""
    asked = request('CLUSTER_RESIZE', [], nodes(a=3), inputs=inputs or {})
    asked = codec.decode(asked, CheckRequest)
    cluster = msgspec.structs.replace(asked.cluster, min_size=1, max_size=4)
    return sizing.with_size_of_resize(asked.action, ActionData(data), cluster, 1000)


@pytest.mark.parametrize(
    ('inputs', 'expected'),
    [
        ({}, {'creation': {'count': 0}}),
        ({'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 5}, {'creation': {'count': 1}}),
        ({'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -9}, {'deletion': {'count': 2}}),
        ({'adjustment_type': 'EXACT_CAPACITY', 'number': 3}, {'creation': {'count': 0}}),
    ],
)
def test_size_of_a_resize_without_a_decision_is_added_within_the_bounds(inputs, expected):
    """The data of a resize always say how many nodes the bounds of the cluster allow."""
    assert completed({'words': 1}, inputs) == {'words': 1, **expected}


@pytest.mark.parametrize(
    'data', [{'creation': {'count': 0, 'zones': {}}}, {'deletion': {'count': 1}}]
)
def test_size_is_not_added_to_a_decided_resize(data):
    """The decision of a policy stays as it is."""
    assert completed(data) is data
