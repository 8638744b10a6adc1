"""Test a check AFTER a scale-out with load balancing, with a worker in this process."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.caller import Caller
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

HERE = Path(__file__).parent
NEW = {'availability_zone': 'az3', 'addresses': {'private': [{'addr': '10.0.0.14', 'version': 4}]}}


@pytest.fixture
def stored() -> Any:
    """A cluster of three nodes, and a load-balancing policy."""
    return yaml.safe_load((HERE / 'load_balancer.yaml').read_text())


def grown(stored: Any, **new_servers: Any) -> Any:
    """Attach the policy, create node n4 with the server server-5, and ask AFTER the action."""
    cloud = yaml.safe_load((HERE / 'cloud.yaml').read_text())
    cloud['servers'] |= new_servers  # the servers that the engine creates in the test
    worker: Caller = InProcessCaller(Inventory.parse(cloud, 'the test'), Registry.installed())
    cluster, policy = stored['cluster'], stored['policy']
    policy['data'] = worker.policy_attach({'cluster': cluster, 'policy': policy}).policy.data
    new_node = {'id': 'n4', 'index': 4, 'status': 'ACTIVE', 'physical_id': 'server-5'}
    cluster['nodes'].append(new_node | {'created_at': '2026-01-04T00:00:00Z'})
    action = {'id': 'grow-1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'action_result': 'OK'}}
    action['data'] = {'creation': {'count': 1, 'nodes': ['n4']}}
    asked = {'target': 'AFTER', 'action': action, 'cluster': cluster, 'policies': [policy]}
    return worker.policy_check(asked)


def test_new_node_becomes_a_member(stored: Any) -> None:
    """The reply has the id of the new member, for the data of the node."""
    assert 'lb_member' in grown(stored, **{'server-5': NEW}).nodes['n4'].data


def test_node_without_a_server_is_reported(stored: Any) -> None:
    """A test whose cloud lacks the new server gets a reason that names it."""
    assert 'The cloud has no server server-5' in grown(stored).action.data['reason']
