"""Test engine.py with a worker in this process: no broker, no cloud."""

from pathlib import Path
from typing import Any

import engine
import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

CLUSTER = Path(__file__).with_name('cluster.yaml')


def scaled(stored: Any, action: str, count: int = 1, is_up: bool = True) -> Any:
    """Return the nodes of a stored cluster after an action."""
    cloud = Inventory.parse({'zones': dict.fromkeys(('az1', 'az2', 'az3'), is_up)}, 'the test')
    worker = InProcessCaller(cloud, Registry.installed())
    requested = {'id': f'{action}-{count}', 'action': action, 'inputs': {'count': count}}
    engine.scale(worker, requested, stored['cluster'], stored['policies'])
    return stored['cluster']['nodes']


@pytest.fixture
def stored() -> Any:
    """The cluster, and the policies that are bound to it."""
    return yaml.safe_load(CLUSTER.read_text())


def test_new_node_goes_to_the_empty_zone(stored: Any) -> None:
    """The engine creates the node in the zone that the worker has planned."""
    assert scaled(stored, 'CLUSTER_SCALE_OUT')[-1]['data']['placement'] == {'zone': 'az3'}


def test_shrinking_a_grown_cluster_deletes_the_oldest_node(stored: Any) -> None:
    """The engine stores the age of a new node, so that the next action deletes an older one."""
    created = [node['id'] for node in scaled(stored, 'CLUSTER_SCALE_OUT', count=4)][3:]

    left = [node['id'] for node in scaled(stored, 'CLUSTER_SCALE_IN')]

    assert left == ['n2', 'n3', *created]


def test_action_fails_without_an_available_zone(stored: Any) -> None:
    """The engine creates nothing if no policy can decide."""
    with pytest.raises(SystemExit, match='No availability zone found available'):
        scaled(stored, 'CLUSTER_SCALE_OUT', is_up=False)
