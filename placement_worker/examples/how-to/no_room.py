"""Keep and replace a node that finds no room: python3 no_room.py URL FULL_ZONE..."""

import sys
from pathlib import Path
from typing import Any

import yaml
from changes import replace
from engine import ask, new_node

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.caller import Caller

FULL = set(sys.argv[2:])  # a real engine learns from Nova that a zone is full
REASON = 'No valid host was found.'


def create(node_id: str, action: Any, nodes: Any) -> Any:
    """Create a node in the planned place or an alternative, or return it as failed."""
    (place,) = action['data']['placement']['placements']
    alternatives = action['data'].get('creation', {}).get('alternatives', [])
    retry: list[Any] = next((plan['retry'] for plan in alternatives if plan['place'] == place), [])
    for where in (place, *retry):
        if where['zone'] not in FULL:
            return new_node(node_id, where, nodes)
    failed: Any = new_node(node_id, place, nodes)
    failed |= {'updated_at': failed['created_at'], 'created_at': None, 'physical_id': None}
    return failed | {'status': 'ERROR', 'status_reason': REASON}


def grow(worker: Caller, action_id: str, cluster: Any, policies: Any) -> None:
    """Scale out by one node, which stays in the cluster even if it finds no room."""
    action = {'id': action_id, 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}
    ask(worker, 'BEFORE', action, cluster, policies)
    cluster['nodes'].append(create(f'{action_id}-0', action, cluster['nodes']))


def replace_failed(worker: Caller, action_id: str, cluster: Any, policies: Any, old: str) -> None:
    """Replace a failed node by a new one, even if that one finds no room either."""
    node: Any = {'id': f'{action_id}-0'}
    action: Any = {'id': action_id, 'action': 'NODE_CREATE', 'inputs': {}, 'node': node}
    ask(worker, 'BEFORE', action, cluster, policies)  # chooses another place
    new = create(node['id'], action, cluster['nodes'])
    replace(worker, f'{action_id}-replace', cluster, policies, {old: new})  # records the failure


if __name__ == '__main__':
    stored = yaml.safe_load(Path('examples/how-to/cluster.yaml').read_text())
    stored['policies'][0]['spec']['version'] = '1.1'
    worker, of_cluster = PolicyClient(sys.argv[1]), (stored['cluster'], stored['policies'])
    grow(worker, 'grow-1', *of_cluster)
    print('failed in', stored['cluster']['nodes'][3]['data']['placement']['zone'])
    FULL.clear()
    replace_failed(worker, 'again-1', *of_cluster, 'grow-1-0')
    print('replaced in', stored['cluster']['nodes'][3]['data']['placement']['zone'])
