"""Warnings about the number of nodes that an action adds or removes."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.planning.protection import Protection
from placement_worker.planning.size_warnings import excess_removal, warnings_of
from tests.factories import node, nodes, request


def warnings(action, decided=None, members=3, protected=(), **more):
    """Return the warnings about an action.

    :param decided: the action's data after all policies.
    """
    asked = codec.decode(request(action, [], nodes(a=members), **more), CheckRequest)
    data = ActionData(asked.action.data if decided is None else decided)
    return warnings_of(asked, data, 1000, {name: Protection() for name in protected})


def resized(number, **more):
    """Return the warnings about a change by a number of nodes."""
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number}
    return warnings('CLUSTER_RESIZE', inputs=inputs, **more)


@pytest.mark.parametrize(
    ('number', 'bounds', 'expected'),
    [
        (2, {}, []),
        (
            2,
            {'max_size': 4},
            ["The resize asks to add 2 nodes; the cluster's max_size (4) limits it to add 1 node"],
        ),
        (
            1,
            {'max_size': 2},
            [
                "The resize asks to add 1 node; the cluster's max_size (2) reverses it to "
                'remove 1 node'
            ],
        ),
        (
            -2,
            {'min_size': 3},
            [
                "The resize asks to remove 2 nodes; the cluster's min_size (3) limits it to "
                'change nothing'
            ],
        ),
    ],
)
def test_warning_of_a_resize_names_the_bound_that_changes_it(number, bounds, expected):
    """A resize that a bound limits or reverses has a warning with the bound and both changes."""
    assert resized(number, **bounds) == expected


@pytest.mark.parametrize(
    ('number', 'expected'), [(50, 'add 50%'), (0.5, 'add 0.5%'), (-100, 'remove 100%')]
)
def test_warning_of_a_percentage_of_no_nodes_says_that_it_is_0(number, expected):
    """A resize of an empty cluster by a percentage warns that it cannot change the size."""
    inputs = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': number, 'min_step': 2}

    assert warnings('CLUSTER_RESIZE', members=0, inputs=inputs) == [
        f'The resize asks to {expected} of 0 nodes, and a percentage of 0 is 0; use '
        'CHANGE_IN_CAPACITY or EXACT_CAPACITY'
    ]


def test_warning_of_a_percentage_of_no_nodes_precedes_that_of_a_bound():
    """A bound may change the size of an empty cluster that a percentage cannot change."""
    inputs = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50}

    first, second = warnings('CLUSTER_RESIZE', members=0, inputs=inputs, min_size=2)

    assert 'a percentage of 0 is 0' in first
    assert second.endswith("the cluster's min_size (2) limits it to add 2 nodes")


@pytest.mark.parametrize(
    ('members', 'adjustment', 'number', 'data'),
    [
        (0, 'CHANGE_IN_PERCENTAGE', 0, {}),
        (0, 'CHANGE_IN_CAPACITY', 1, {}),
        (0, 'EXACT_CAPACITY', 0, {}),
        (0, None, 50, {}),
        (1, 'CHANGE_IN_PERCENTAGE', 50, {}),
        (0, 'CHANGE_IN_PERCENTAGE', 50, {'creation': {'count': 1}}),
    ],
)
def test_warning_of_another_resize_of_few_nodes_is_none(members, adjustment, number, data):
    """A resize that changes the size, or asks for no change, needs no warning."""
    inputs = {'adjustment_type': adjustment, 'number': number}

    assert warnings('CLUSTER_RESIZE', members=members, inputs=inputs, data=data) == []


def test_warning_of_a_resize_whose_size_another_policy_decided_is_none():
    """A bound of the inputs does not matter if an earlier policy decided the size."""
    assert resized(9, max_size=4, data={'creation': {'count': 1}}) == []


@pytest.mark.parametrize(
    ('members', 'data', 'expected'),
    [
        (3, {'deletion': {'count': 2}}, []),
        (3, {'deletion': {'count': 3}}, ['The action removes all 3 nodes of the cluster']),
        (
            1,
            {'deletion': {'candidates': ['n1']}},
            ['The action removes the only node of the cluster'],
        ),
        (3, {'deletion': {'count': 9, 'candidates': ['n1']}}, []),
        (0, {'deletion': {'count': 1}}, []),
    ],
)
def test_warning_of_an_action_that_empties_the_cluster(members, data, expected):
    """An action that removes every node has a warning; victims count before the asked number."""
    assert warnings('CLUSTER_SCALE_IN', data, members) == expected


def test_warning_of_an_action_that_replaces_all_nodes_is_none():
    """Replacing every node does not empty the cluster."""
    inputs = {'candidates': {'n1': 'n4', 'n2': 'n5', 'n3': 'n6'}}

    assert warnings('CLUSTER_REPLACE_NODES', inputs=inputs) == []


@pytest.mark.parametrize('max_size', [4, -1])
@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 1}}),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 9}, 'data': {'creation': {'count': 1}}}),
        ('NODE_CREATE', {'node': node(4)}),
        ('NODE_CREATE', {'node': node(4), 'members': 4}),
    ],
)
def test_warning_of_growth_up_to_max_size_is_none(action, more, max_size):
    """Growth within max_size needs no warning; a negative max_size is unlimited."""
    assert warnings(action, max_size=max_size, **more) == []


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 2}}),
        ('CLUSTER_SCALE_OUT', {'data': {'creation': {'count': 2}}}),
        ('NODE_CREATE', {'node': node(5), 'members': 4}),
        ('NODE_CREATE', {'node': node(5), 'members': 5}),
    ],
)
def test_warning_of_growth_beyond_max_size_says_that_the_engine_must_refuse(action, more):
    """A scale-out or a new node beyond max_size has a warning with both numbers."""
    assert warnings(action, max_size=4, **more) == [
        "The action leads to 5 nodes, more than the cluster's max_size (4): the engine must "
        'refuse it'
    ]


def test_warning_of_an_invalid_value_that_no_policy_read_is_none():
    """An invalid size yields no warnings instead of an error."""
    assert warnings('CLUSTER_SCALE_IN', inputs={'count': 'x'}) == []


@pytest.mark.parametrize(
    ('count', 'expected'),
    [
        (3, ()),
        (9, ('The action asks to remove 9 nodes, but the cluster has 3',)),
    ],
)
def test_excess_removal_warns_of_more_nodes_than_exist(count, expected):
    """Only a removal of more nodes than the cluster has yields a warning."""
    cluster = codec.decode(request('CLUSTER_SCALE_IN', [], nodes(a=3)), CheckRequest).cluster

    assert excess_removal(count, cluster) == expected


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
