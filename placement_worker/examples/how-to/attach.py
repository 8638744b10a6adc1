"""Attach a load balancer to a cluster, and detach it: python3 attach.py URL FILE TRUST_ID."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindReply


def bind(call: Callable[[Any], BindReply], cluster: Any, policy: Any, credentials: Any) -> str:
    """Attach or detach a policy, and store the changes of the reply, also of a failed one."""
    reply = call({'cluster': cluster, 'policy': policy, 'credentials': credentials})
    policy['data'] = reply.policy.data  # a real engine writes its database here
    cluster['data'] = reply.cluster.data if reply.cluster else cluster.get('data', {})
    for node in cluster['nodes']:
        if patch := reply.nodes.get(node['id']):
            node['data'] = patch.data
    if reply.status == 'ERROR':  # not attached, or not detached: keep the binding
        raise SystemExit(reply.reason)
    return reply.reason


if __name__ == '__main__':
    url, file, trust_id = sys.argv[1:]
    stored: dict[str, Any] = yaml.safe_load(Path(file).read_text())
    cluster, policy = stored['cluster'], stored['policy']
    client = PolicyClient(url, slow_timeout_s=600)
    for call in (client.policy_attach, client.policy_detach):
        reason = bind(call, cluster, policy, {'trust_id': trust_id})
        members = sum('lb_member' in node['data'] for node in cluster['nodes'])
        print(f'{reason} {members} members; cluster data: {cluster["data"]}')
    client.close()
