"""Tests for the policy type in this process, without a broker and without a cloud."""

from typing import Any

import pytest
from step_limit import StepLimit

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.testing import registry_of

CLOUD = Inventory.parse({'zones': {'az1': True, 'az2': True}}, 'the test')
WORKER = InProcessCaller(CLOUD, registry_of({'example.policy.step_limit-1.0': StepLimit}))


def request(count: int) -> dict[str, Any]:
    """Return a request to create nodes in an empty cluster, three at most."""
    spec = {'type': StepLimit.name, 'version': '1.0', 'properties': {'max_step': 3}}
    return {
        'target': 'BEFORE',
        'action': {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': count}},
        'cluster': {'id': 'c1', 'profile': {'type': 'os.nova.server-1.0'}, 'nodes': []},
        'policies': [{'id': 'p1', 'spec': spec}],
    }


@pytest.mark.parametrize(
    ('count', 'outcome', 'creation'), [(3, 'SKIPPED', None), (4, 'APPLIED', {'count': 3})]
)
def test_count_above_the_limit_is_reduced(
    count: int, outcome: str, creation: dict[str, int] | None
) -> None:
    """The policy reduces a count above the limit and leaves a smaller one unchanged."""
    reply = WORKER.policy_check(request(count))

    assert reply.decisions[0].outcome == outcome
    assert reply.action.data.get('creation') == creation
