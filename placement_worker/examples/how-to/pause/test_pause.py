"""Tests for the policy type in this process, without a broker and without a cloud."""

from typing import Any

import pytest
from pause import Pause

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

WORKER = InProcessCaller(
    Inventory.parse({}, 'the test'), Registry([('my.policy.pause-1.0', Pause)])
)


def decided(data: dict[str, Any], action: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the data of the action after a check of a cluster of one node, which has this data."""
    request = {
        'target': 'BEFORE',
        'action': {'id': 'a1', 'action': action, 'inputs': inputs},
        'cluster': {
            'id': 'c1',
            'profile': {'type': 'os.nova.server-1.0'},
            'nodes': [{'id': 'n1'}],
            'data': data,
        },
        'policies': [{'id': 'p1', 'spec': {'type': Pause.name, 'version': '1.0'}}],
    }
    return WORKER.policy_check(request).action.data


@pytest.mark.parametrize(('data', 'expected'), [({}, 'OK'), ({'paused': True}, 'ERROR')])
def test_paused_cluster_keeps_its_nodes(data: dict[str, Any], expected: str) -> None:
    """The policy rejects a deletion while the cluster is paused."""
    assert decided(data, 'CLUSTER_SCALE_IN', {'count': 1})['status'] == expected


@pytest.mark.parametrize(('number', 'expected'), [(1, 'OK'), (-1, 'ERROR')])
def test_paused_cluster_may_grow(number: int, expected: str) -> None:
    """The policy rejects a resize only if it deletes nodes."""
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number}

    assert decided({'paused': True}, 'CLUSTER_RESIZE', inputs)['status'] == expected


@pytest.mark.parametrize(('ignore', 'expected'), [(False, 'ERROR'), (True, 'OK')])
def test_action_may_ignore_the_pause(ignore: bool, expected: str) -> None:
    """The policy admits a deletion whose inputs say so."""
    inputs = {'count': 1, 'ignore_pause': ignore}

    assert decided({'paused': True}, 'CLUSTER_SCALE_IN', inputs)['status'] == expected


def test_input_of_another_type_is_an_error_with_its_path() -> None:
    """A string is no boolean, also while the cluster is not paused."""
    reply = decided({}, 'CLUSTER_SCALE_IN', {'count': 1, 'ignore_pause': 'no'})

    assert reply['status'] == 'ERROR'
    assert reply['reason'] == ("Expected a boolean, got `'no'` - at `$.action.inputs.ignore_pause`")
