"""Rules of requests that their types do not express."""

import msgspec
import pytest

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidRequest, UnsupportedAction
from placement_worker.handlers.request_validation import (
    validate_check,
    validate_cluster,
    validate_policies,
)
from tests.factories import deletion_policy, node, nodes, request, zone_policy


def check(action, members=(), **more):
    return msgspec.convert(request(action, [], list(members), **more), CheckRequest)


def test_validate_check_of_a_known_action_passes():
    """A check of an action of Senlin with distinct nodes is valid."""
    validate_check(check('CLUSTER_SCALE_IN', nodes(a=3)))


@pytest.mark.parametrize(
    'placement', [None, {}, {'zone': None}, {'region_name': '', 'zone': 'a', 'host': {'x': 1}}]
)
def test_validate_check_of_any_well_formed_placement_passes(placement):
    """Parts of a placement may be absent or null, and other keys belong to the engine."""
    placed = node(1, data={'placement': placement})

    validate_check(check('NODE_DELETE', [placed], node=placed))


def test_validate_check_of_an_unknown_action_names_the_nearest():
    """The error about an unknown action suggests the nearest known one."""
    with pytest.raises(UnsupportedAction, match='did you mean `CLUSTER_SCALE_IN`'):
        validate_check(check('CLUSTER_SCALEIN'))


@pytest.mark.parametrize('action', ['NODE_CREATE', 'NODE_DELETE', 'NODE_RECOVER'])
def test_validate_check_without_the_node_of_the_action_is_refused(action):
    """An action of a node must name the node."""
    with pytest.raises(InvalidRequest, match=r'action\.node'):
        validate_check(check(action))


def test_validate_cluster_with_a_node_twice_names_the_second():
    """The error about a node that is listed twice has the path of the second one."""
    cluster = check('CLUSTER_SCALE_IN', [node(1), node(2), node(1)]).cluster

    with pytest.raises(InvalidRequest, match=r'got `n1` again - at `\$\.cluster\.nodes\[2\]\.id`'):
        validate_cluster(cluster)


def test_validate_policies_with_an_id_twice_names_the_second():
    """The error about an id that two policies have has the path of the second one."""
    bound = [zone_policy('a'), deletion_policy(), {**zone_policy('b'), 'enabled': False}]
    asked = msgspec.convert(request('CLUSTER_SCALE_IN', bound, []), CheckRequest)

    for validate, value in ((validate_check, asked), (validate_policies, asked.policies)):
        with pytest.raises(InvalidRequest) as refused:
            validate(value)
        assert str(refused.value) == (
            'Expected each policy once, got `pol-zone_placement` again - at `$.policies[2].id`'
        )
