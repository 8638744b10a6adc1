"""Test engine.py with a worker in this process: no broker, no cloud."""

from pathlib import Path

import engine
import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

CLUSTER = Path(__file__).with_name('cluster.yaml')


def zones_after(action: str, is_up: bool = True) -> list[str]:
    """Return the zones of the nodes after an action that changes the size by one."""
    cloud = Inventory.parse({'zones': dict.fromkeys(('az1', 'az2', 'az3'), is_up)}, 'the test')
    worker = InProcessCaller(cloud, Registry.installed())
    stored = yaml.safe_load(CLUSTER.read_text())
    requested = {'id': 'a1', 'action': action, 'inputs': {'count': 1}}
    engine.scale(worker, requested, stored['cluster'], stored['policies'])
    return [node['data']['placement']['zone'] for node in stored['cluster']['nodes']]


def test_new_node_goes_to_the_empty_zone() -> None:
    """The engine creates the node in the zone that the worker has planned."""
    assert zones_after('CLUSTER_SCALE_OUT') == ['az1', 'az1', 'az2', 'az3']


def test_victim_leaves_the_fullest_zone() -> None:
    """The engine deletes the node that the worker has selected."""
    assert zones_after('CLUSTER_SCALE_IN') == ['az1', 'az2']


def test_action_fails_without_an_available_zone() -> None:
    """The engine creates nothing if no policy can decide."""
    with pytest.raises(SystemExit, match='No availability zone found available'):
        zones_after('CLUSTER_SCALE_OUT', is_up=False)
