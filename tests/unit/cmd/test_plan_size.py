"""The number of nodes that an action creates or deletes."""

import pytest

from placement_worker.cmd import plan_size
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput
from placement_worker.planning.sizing import Size
from tests.factories import node, nodes, request


def size(action, data=(), **more):
    """Return the size of an action on a cluster of three nodes.

    :param data: the action's data in the reply.
    """
    asked = codec.decode(request(action, [], nodes(a=3), **more), CheckRequest)
    return plan_size.of(asked, dict(data))


@pytest.mark.parametrize(
    ('action', 'inputs', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {'count': 6}, Size(CREATION, 6)),
        ('CLUSTER_SCALE_OUT', {}, Size(CREATION, 1)),
        ('CLUSTER_SCALE_IN', {'count': 2}, Size(DELETION, 2)),
        ('CLUSTER_SCALE_IN', {'count': 9}, Size(DELETION, 3)),
        (
            'CLUSTER_RESIZE',
            {'adjustment_type': 'EXACT_CAPACITY', 'number': 5000},
            Size(CREATION, 4997),
        ),
        ('CLUSTER_DEL_NODES', {'candidates': ['n1', 'n2']}, Size(DELETION, 2)),
        ('CLUSTER_REPLACE_NODES', {'candidates': {'n1': 'n9'}}, Size(DELETION, 0)),
        ('CLUSTER_DELETE', {}, Size(DELETION, 3)),
        ('CLUSTER_UPDATE', {'name': 'x'}, Size(CREATION, 0)),
    ],
)
def test_size_without_a_decision_is_that_of_the_action(action, inputs, expected):
    """If no policy decides on the number of nodes, the engine follows the inputs of the action."""
    assert size(action, inputs=inputs) == expected


@pytest.mark.parametrize(('desired', 'created'), [(5, 2), (2, 0)])
def test_size_of_a_new_cluster_is_its_desired_capacity(desired, created):
    """CLUSTER_CREATE creates the nodes that the cluster lacks."""
    assert size('CLUSTER_CREATE', desired_capacity=desired) == Size(CREATION, created)


@pytest.mark.parametrize(
    ('data', 'expected'),
    [
        ({'creation': {'count': 4}}, Size(CREATION, 4)),
        ({'creation': {'zones': {'a': 1}}}, Size(CREATION, 1)),
        ({'deletion': {'count': 2}}, Size(DELETION, 2)),
        ({'creation': {'count': 'x'}, 'deletion': 'x'}, Size(CREATION, 1)),
    ],
)
def test_size_that_policies_decided_precedes_the_action(data, expected):
    """The data of the reply overrides the inputs of the action."""
    assert size('NODE_CREATE', data, node=node(9)) == expected


def test_size_with_malformed_inputs_is_refused():
    """Inputs that no policy has read are checked as the policies check them."""
    with pytest.raises(InvalidInput, match='count'):
        size('CLUSTER_SCALE_OUT', inputs={'count': 'x'})
