"""Tests for a policy that runs after zone placement."""

from only_zones import OnlyZones

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.testing import registry_of

CLOUD = Inventory.parse({'zones': {'az1': True, 'az2': True, 'az3': True}}, 'the test')
TYPES = registry_of({'example.policy.only_zones-1.0': OnlyZones})
THREE = [{'name': 'az1'}, {'name': 'az2'}, {'name': 'az3'}]


def test_nodes_are_created_in_the_zones_of_the_policy() -> None:
    """The plan of zone placement has no node in another zone any more."""
    specs = [
        {'type': OnlyZones.name, 'version': '1.0', 'properties': {'zones': ['az2', 'az3']}},
        {'type': 'senlin.policy.zone_placement', 'version': '1.0', 'properties': {'zones': THREE}},
    ]
    reply = InProcessCaller(CLOUD, TYPES).policy_check(
        {
            'target': 'BEFORE',
            'action': {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 4}},
            'cluster': {'id': 'c1', 'profile': {'type': 'os.nova.server-1.0'}, 'nodes': []},
            'policies': [{'id': f'p{i}', 'spec': spec} for i, spec in enumerate(specs)],
        }
    )
    assert reply.action.data['creation'] == {'count': 4, 'zones': {'az2': 2, 'az3': 2}}
    assert len(reply.action.data['placement']['placements']) == 4
    assert not reply.warnings
