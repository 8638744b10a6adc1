"""Tests for the policy type in this process, without a broker and without a cloud."""

from typing import Any

import pytest
from protect import Protect

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

WORKER = InProcessCaller(
    Inventory.parse({}, 'the test'), Registry([('my.policy.protect-1.0', Protect)])
)


def request(data: dict[str, Any]) -> dict[str, Any]:
    """Return a request to delete the only node, which has this data."""
    deletion = {'deletion': {'count': 1, 'candidates': ['n1']}}
    nodes = [{'id': 'n1', 'data': data}]
    return {
        'target': 'BEFORE',
        'action': {'id': 'a1', 'action': 'CLUSTER_SCALE_IN', 'data': deletion},
        'cluster': {'id': 'c1', 'profile': {'type': 'os.nova.server-1.0'}, 'nodes': nodes},
        'policies': [{'id': 'p1', 'spec': {'type': Protect.name, 'version': '1.0'}}],
    }


@pytest.mark.parametrize(('data', 'status'), [({}, 'OK'), ({'keep': True}, 'ERROR')])
def test_protected_node_is_not_deleted(data: dict[str, Any], status: str) -> None:
    """The policy rejects the deletion of a protected node and of no other."""
    reply = WORKER.policy_check(request(data))

    assert reply.action.data['status'] == status
