"""The number of nodes that an action creates or deletes, and the warnings about it."""

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, SizeOutOfBounds
from placement_worker.planning import sizing
from placement_worker.planning.sizing import Size
from placement_worker.planning.victims import Protection
from tests.factories import node, nodes, request


def made(action, members=5, **more):
    """Return a request for an action on a cluster of so many nodes."""
    return codec.decode(request(action, [], nodes(a=members), **more), CheckRequest)


def size(action, members=5, max_nodes=1000, **more):
    """Return the size of an action."""
    asked = made(action, members, **more)
    return sizing.size_of(asked.action, ActionData(asked.action.data), asked.cluster, max_nodes)


def resized(inputs, **more):
    """Return the size that a resize of five nodes leads to."""
    found = size('CLUSTER_RESIZE', inputs=inputs, **more)
    return 5 + (found.count if found.kind == CREATION else -found.count)


CREATE_2, DELETE_2 = {'creation': {'count': 2}}, {'deletion': {'count': 2}}


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {}, Size(CREATION, 1)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}}, Size(CREATION, 3)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'data': CREATE_2}, Size(CREATION, 2)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'data': DELETE_2}, Size(CREATION, 3)),
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 3}, 'data': {'creation': {}}},
            Size(CREATION, 1),
        ),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 'x'}, 'data': CREATE_2}, Size(CREATION, 2)),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 0}}, Size(CREATION, 0)),
        ('CLUSTER_SCALE_IN', {}, Size(DELETION, 1)),
        ('CLUSTER_SCALE_IN', {'data': DELETE_2}, Size(DELETION, 2)),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 4}, 'data': CREATE_2}, Size(DELETION, 4)),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}, Size(DELETION, 2)),
        ('CLUSTER_DEL_NODES', {}, Size(DELETION, 0)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 1)),
        ('NODE_DELETE', {'node': node(1)}, Size(DELETION, 1)),
        ('NODE_CREATE', {'node': node(9), 'data': CREATE_2}, Size(CREATION, 1)),
        ('CLUSTER_RESIZE', {'data': DELETE_2}, Size(DELETION, 2)),
        ('CLUSTER_RESIZE', {'data': CREATE_2 | {'deletion': {'count': 1}}}, Size(CREATION, 2)),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': 0}} | DELETE_2}, Size(DELETION, 2)),
        ('CLUSTER_CHECK', {}, Size(CREATION, 0)),
    ],
)
def test_size_comes_from_an_earlier_decision_before_the_inputs(action, more, expected):
    """The count of an earlier policy takes precedence over the inputs, and these over 1."""
    assert size(action, **more) == expected


LOOSE = {'adjustment_type': None, 'strict': False}
BEYOND = 'is greater than the maximum number of nodes allowed per cluster (1000).'


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'reason'),
    [
        ({'number': 1001}, {}, f'target capacity (1001) {BEYOND}'),
        ({'min_size': 3}, {}, 'target capacity (2) is less than the specified min_size (3).'),
        ({}, {'min_size': 3}, "target capacity (2) is less than the cluster's min_size (3)."),
        ({'max_size': 1}, {}, 'target capacity (2) is greater than the specified max_size (1).'),
        ({}, {'max_size': 1}, "target capacity (2) is greater than the cluster's max_size (1)."),
        (
            {'min_size': 2, 'max_size': 1},
            {},
            'target capacity (2) is greater than the specified max_size (1).',
        ),
        (
            {'min_size': 2},
            {'max_size': 1},
            "target capacity (2) is greater than the cluster's max_size (1).",
        ),
        (
            {**LOOSE, 'min_size': 7},
            {'max_size': 6},
            'target capacity (6) is less than the specified min_size (7).',
        ),
        ({**LOOSE, 'max_size': 2000}, {}, f'specified max_size (2000) {BEYOND}'),
        (
            {**LOOSE, 'max_size': 3},
            {'min_size': 4},
            'specified max_size (3) is less than the current min_size (4) of the cluster.',
        ),
    ],
)
def test_size_of_a_resize_out_of_bounds_is_refused_in_senlins_words(inputs, bounds, reason):
    """A size that a bound forbids raises an error with the text of Senlin."""
    with pytest.raises(SizeOutOfBounds) as refused:
        resized(
            {'adjustment_type': 'EXACT_CAPACITY', 'number': 2, 'strict': True, **inputs}, **bounds
        )

    assert str(refused.value) == f'The {reason}'


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'limit'),
    [
        ({'number': 7}, {}, ''),
        ({'number': 9}, {'max_size': 8}, "limited to 8 in all by the cluster's max_size"),
        ({'number': 1}, {'min_size': 4}, "limited to 4 in all by the cluster's min_size"),
        ({'number': 9, 'max_size': 8}, {}, "limited to 8 in all by the request's max_size"),
        ({'number': 1, 'min_size': 2}, {}, "limited to 2 in all by the request's min_size"),
    ],
)
def test_size_of_a_resize_names_the_bound_that_limits_it_and_its_source(inputs, bounds, limit):
    """A resize that a bound trims has the bound in words, which ends the reason of a policy."""
    inputs = {'adjustment_type': 'EXACT_CAPACITY', **inputs}

    found = size('CLUSTER_RESIZE', inputs=inputs, **bounds)

    assert found.limit == limit
    assert found.explained('Why.') == (f'Why; {limit}' if limit else 'Why.')


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 6}}),
        ('CLUSTER_SCALE_OUT', {'data': {'creation': {'count': 6}}}),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': 6}}}),
        ('CLUSTER_RESIZE', {'inputs': {'adjustment_type': 'EXACT_CAPACITY', 'number': 11}}),
        ('NODE_CREATE', {'node': node(11), 'members': 10}),
    ],
)
def test_size_of_a_creation_beyond_the_largest_cluster_is_refused(action, more):
    """No creation leads to more nodes than the service allows, whatever its count comes from."""
    with pytest.raises(
        SizeOutOfBounds, match=r'The target capacity \(11\) .* allowed per cluster \(10\)'
    ):
        size(action, max_nodes=10, **more)


def test_size_up_to_the_largest_cluster_or_of_a_deletion_is_allowed():
    """The maximum is allowed, a new node is not counted twice, and a too large cluster shrinks."""
    exact = {'adjustment_type': 'EXACT_CAPACITY'}

    assert resized({**exact, 'number': 10}, max_nodes=10) == 10
    assert resized({**exact, 'number': 4}, max_nodes=3) == 4
    assert size('NODE_CREATE', node=node(5), max_nodes=5) == Size(CREATION, 1)


@pytest.mark.parametrize(
    ('action', 'more', 'path'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': -1}}, 'inputs.count'),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'count': {}}}}, 'data.deletion.count'),
        ('CLUSTER_RESIZE', {'data': {'creation': 3}}, 'data.creation'),
        ('CLUSTER_RESIZE', {'inputs': {'strict': 'yes'}}, 'inputs.strict'),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': 'n1'}}, 'inputs.candidates'),
    ],
)
def test_size_from_an_invalid_value_is_refused_with_its_path(action, more, path):
    """An invalid value that the size depends on raises an error that names its path."""
    with pytest.raises(InvalidInput) as refused:
        size(action, **more)

    assert str(refused.value).endswith(f' - at `$.action.{path}`')


def completed(data, inputs=None):
    """Return the data of a resize of a cluster of 1 to 4 nodes that has 3."""
    asked = made('CLUSTER_RESIZE', 3, inputs=inputs or {})
    cluster = msgspec.structs.replace(asked.cluster, min_size=1, max_size=4)
    return sizing.with_size_of_resize(asked.action, ActionData(data), cluster, 1000)


@pytest.mark.parametrize(
    ('adjustment', 'number', 'expected'),
    [
        (None, None, {'creation': {'count': 0}}),
        ('CHANGE_IN_CAPACITY', 5, {'creation': {'count': 1}}),
        ('CHANGE_IN_CAPACITY', -9, {'deletion': {'count': 2}}),
    ],
)
def test_size_of_a_resize_without_a_decision_is_added_within_the_bounds(
    adjustment, number, expected
):
    """The data of a resize always say how many nodes the bounds of the cluster allow."""
    inputs = {'adjustment_type': adjustment, 'number': number}

    assert completed({'words': 1}, inputs) == {'words': 1, **expected}


def warnings(action, decided=None, members=3, protected=(), **more):
    """Return the warnings about an action; `decided` are its data after all policies."""
    asked = made(action, members, **more)
    data = ActionData(asked.action.data if decided is None else decided)
    protections = {name: Protection() for name in protected}
    return sizing.size_warnings(asked, data, 1000, protections)


CAPACITY, PERCENTAGE = 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'


@pytest.mark.parametrize(
    ('number', 'expected'), [(50, 'add 50%'), (0.5, 'add 0.5%'), (-100, 'remove 100%')]
)
def test_warning_of_a_percentage_of_no_nodes_says_that_it_is_0(number, expected):
    """It precedes that of a bound, which may change the size of an empty cluster nevertheless."""
    inputs = {'adjustment_type': PERCENTAGE, 'number': number, 'min_step': 2}

    first, *others = warnings('CLUSTER_RESIZE', members=0, inputs=inputs)

    assert first == (
        f'The resize asks to {expected} of 0 nodes, and a percentage of 0 is 0; use '
        'CHANGE_IN_CAPACITY or EXACT_CAPACITY'
    )
    assert not others
    assert warnings('CLUSTER_RESIZE', members=0, inputs=inputs, min_size=2) == [
        first,
        "The resize asks to change nothing; the cluster's min_size (2) limits it to add 2 nodes",
    ]


@pytest.mark.parametrize(
    ('members', 'adjustment', 'number', 'more'),
    [
        (3, CAPACITY, 2, {}),
        (0, PERCENTAGE, 0, {}),
        (0, CAPACITY, 1, {}),
        (0, 'EXACT_CAPACITY', 0, {}),
        (0, None, 50, {}),
        (1, PERCENTAGE, 50, {}),
        (0, PERCENTAGE, 50, {'data': {'creation': {'count': 1}}}),
        (3, CAPACITY, 9, {'data': {'creation': {'count': 1}}, 'max_size': 4}),
    ],
)
def test_warning_of_another_resize_is_none(members, adjustment, number, more):
    """A resize within the bounds, or whose size a policy decided, needs no warning."""
    inputs = {'adjustment_type': adjustment, 'number': number}

    assert warnings('CLUSTER_RESIZE', members=members, inputs=inputs, **more) == []


def test_warning_of_an_action_that_replaces_all_nodes_or_is_invalid_is_none():
    """Replacing every node empties no cluster; an invalid size yields no warnings, no error."""
    inputs = {'candidates': {'n1': 'n4', 'n2': 'n5', 'n3': 'n6'}}

    assert warnings('CLUSTER_REPLACE_NODES', inputs=inputs) == []
    assert warnings('CLUSTER_SCALE_IN', inputs={'count': 'x'}) == []


@pytest.mark.parametrize(
    ('action', 'more', 'size'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 1}}, 4),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 2}}, 5),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 9}, 'data': CREATE_2}, 5),
        ('NODE_CREATE', {'node': node(4)}, 4),
        ('NODE_CREATE', {'node': node(4), 'members': 4}, 4),
        ('NODE_CREATE', {'node': node(5), 'members': 4}, 5),
        ('NODE_CREATE', {'node': node(5), 'members': 5}, 5),
    ],
)
def test_warning_of_growth_beyond_max_size_says_that_the_engine_must_refuse(action, more, size):
    """Growth up to max_size needs no warning; a negative max_size is unlimited."""
    beyond = (
        "The action leads to 5 nodes, more than the cluster's max_size (4): the engine must "
        'refuse it'
    )

    assert warnings(action, max_size=4, **more) == [beyond] * (size - 4)
    assert warnings(action, max_size=-1, **more) == []


@pytest.mark.parametrize(
    ('decided', 'expected'),
    [
        ({}, ['Only 1 of 2 nodes can be deleted: n1 is protected']),
        ({'deletion': {'count': 1, 'candidates': ['n2']}}, []),
    ],
    ids=['the engine chooses', 'a policy has chosen'],
)
def test_warning_of_a_removal_counts_the_nodes_that_can_leave(decided, expected):
    """A cluster with a protected node is not emptied; the engine must not choose that node."""
    found = warnings('CLUSTER_SCALE_IN', decided, 2, ['n1'], inputs={'count': 2})

    assert found == expected
