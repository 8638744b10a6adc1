"""Scale a cluster by the plan of a worker: python3 engine.py URL ACTION_ID ACTION COUNT."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.caller import Caller

TRUST = {'trust_id': 'my-trust'}  # a real engine: the trust of the owner of the cluster


def store(reply: Any, action: Any, cluster: Any) -> None:
    """Store the changes of a reply (a real engine: in its database)."""
    action['data'] = reply.action.data
    cluster['data'] = reply.cluster.data if reply.cluster else cluster.get('data', {})
    for node in cluster['nodes']:
        node.update(msgspec.to_builtins(reply.nodes.get(node['id'], {})))  # data, and a new status


def ask(worker: Caller, phase: str, action: Any, cluster: Any, policies: Any) -> None:
    """Ask the worker, and store the changes of its reply."""
    asked = {'action': action, 'cluster': cluster, 'policies': policies, 'credentials': TRUST}
    store(worker.policy_check(asked | {'target': phase}), action, cluster)
    if action['data']['status'] == 'ERROR':
        raise SystemExit(f'{phase}: {action["data"]["reason"]}')


def new_node(node_id: str, place: Any, nodes: Any) -> Any:
    """Create a node (a real engine: and its server in place['zone']), and return it."""
    index = max((node['index'] for node in nodes), default=0) + 1
    node = {'id': node_id, 'index': index, 'status': 'ACTIVE', 'data': {'placement': place}}
    return node | {'physical_id': f'server-{index}', 'created_at': datetime.now(UTC).isoformat()}


def act(action: Any, cluster: Any) -> None:
    """Carry out the stored plan; a second attempt derives the same ids, and finds the nodes."""
    for number, place in enumerate(action['data'].get('placement', {}).get('placements', [])):
        node_id = f'{action["id"]}-{number}'
        if node_id not in [node['id'] for node in cluster['nodes']]:
            cluster['nodes'].append(new_node(node_id, place, cluster['nodes']))
        action['data'].setdefault('creation', {}).setdefault('nodes', [])[number:] = [node_id]
    victims = action['data'].get('deletion', {}).get('candidates', [])
    cluster['nodes'] = [node for node in cluster['nodes'] if node['id'] not in victims]
    action['inputs']['action_result'] = 'OK'


def scale(worker: Caller, action: Any, cluster: Any, policies: Any) -> None:
    """Ask BEFORE, carry out the plan, and ask AFTER."""
    ask(worker, 'BEFORE', action, cluster, policies)
    act(action, cluster)
    ask(worker, 'AFTER', action, cluster, policies)


if __name__ == '__main__':
    url, action_id, name, count = sys.argv[1:]
    cluster, policies = yaml.safe_load(Path('examples/how-to/cluster.yaml').read_text()).values()
    action = {'id': action_id, 'action': name, 'inputs': {'count': int(count)}}
    scale(PolicyClient(url), action, cluster, policies)
    print(*(f'{n["id"]} {n["data"]["placement"]["zone"]}' for n in cluster['nodes']), sep='\n')
