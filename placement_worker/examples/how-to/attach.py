"""Attach a load balancer to a cluster, and detach it: python3 attach.py URL FILE TRUST_ID."""

import sys
from pathlib import Path
from typing import Any

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindReply

url, file, trust_id = sys.argv[1:]
stored: dict[str, Any] = yaml.safe_load(Path(file).read_text())
cluster, policy = stored['cluster'], stored['policy']
client = PolicyClient(url, slow_timeout_s=600)


def store(reply: BindReply) -> None:
    """Store the changes of a reply, also of a failed one; a real engine writes a database here."""
    policy['data'] = reply.policy.data
    cluster['data'] = reply.cluster.data if reply.cluster else cluster.get('data', {})
    for node in cluster['nodes']:
        if patch := reply.nodes.get(node['id']):
            node['data'] = patch.data
    if reply.status == 'ERROR':
        raise SystemExit(reply.reason)


for bind in (client.policy_attach, client.policy_detach):
    asked = {'cluster': cluster, 'policy': policy, 'credentials': {'trust_id': trust_id}}
    reply = bind(asked)
    store(reply)
    members = sum('lb_member' in node['data'] for node in cluster['nodes'])
    print(f'{reply.reason} {members} members; cluster data: {cluster["data"]}')
client.close()
