"""Change a cluster with a load balancer: python3 changes.py URL CLUSTER POLICIES."""

import sys
from pathlib import Path
from typing import Any

import yaml
from attach import bind
from engine import TRUST, ask, new_node, scale

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.caller import Caller


def replace(worker: Caller, action_id: str, cluster: Any, policies: Any, new: Any) -> None:
    """Exchange nodes of the cluster: id of the old node -> new node."""
    inputs: Any = {'candidates': {old: node['id'] for old, node in new.items()}}
    action = {'id': action_id, 'action': 'CLUSTER_REPLACE_NODES', 'inputs': inputs}
    ask(worker, 'BEFORE', action, cluster, policies)  # removes the members of the old nodes
    cluster['nodes'] = [new.get(node['id'], node) for node in cluster['nodes']]
    inputs['action_result'] = 'OK'
    if any(node['created_at'] for node in new.values()):
        ask(worker, 'AFTER', action, cluster, policies)  # adds members for the new nodes


def recover(worker: Caller, action_id: str, cluster: Any, policies: Any, node: Any) -> None:
    """Ask AFTER a recovery that gave a node of the cluster a new server."""
    node['data']['recovery'] = 'RECREATE'
    inputs = {'operation': 'RECREATE', 'action_result': 'OK'}
    action = {'id': action_id, 'action': 'NODE_RECOVER', 'inputs': inputs, 'node': node}
    ask(worker, 'AFTER', action, cluster, policies)  # replaces the member


def show(change: str, cluster: Any) -> None:
    """Print the nodes with their servers."""
    print(f'{change}:', ', '.join(f'{n["id"]} on {n["physical_id"]}' for n in cluster['nodes']))


if __name__ == '__main__':
    stored, bound = [yaml.safe_load(Path(file).read_text()) for file in sys.argv[2:]]
    worker, cluster, policy = PolicyClient(sys.argv[1]), stored['cluster'], stored['policy']
    bind(worker.policy_attach, cluster, policy, TRUST)
    policies = [*bound['policies'], policy]
    scale(worker, {'id': 'grow-1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {}}, cluster, policies)
    show('grown by 1', cluster)
    n7 = new_node('n7', {'zone': 'az1'}, cluster['nodes']) | {'physical_id': 'server-7'}
    replace(worker, 'replace-1', cluster, policies, {'n1': n7})
    show('replaced n1', cluster)
    n3 = cluster['nodes'][2]
    n3['physical_id'] = 'server-8'
    recover(worker, 'recover-1', cluster, policies, n3)
    show('recovered n3', cluster)
    inputs = {'adjustment_type': 'EXACT_CAPACITY', 'number': 3}
    scale(worker, {'id': 'size-1', 'action': 'CLUSTER_RESIZE', 'inputs': inputs}, cluster, policies)
    show('resized to 3', cluster)
    bind(worker.policy_detach, cluster, policy, TRUST)
