"""Clusters, as Senlin's database, Nova, Octavia and the workers' decision logs show them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cloud import senlin_database
from tests.cloud.layout import COMPUTES
from tests.cloud.nodes import Json, Node
from tests.cloud.senlin_api import ACTION_S
from tests.cloud.whole_cloud import WholeCloud
from tests.waiting import wait_for

POOL = {'protocol': 'HTTP', 'protocol_port': 80, 'subnet': 'private-subnet'}
LOAD_BALANCING = {'pool': POOL, 'vip': POOL, 'lb_status_timeout': 300}
ENDED = {'ACTIVE', 'ERROR'}
"""The states of a node that no action is changing."""


@dataclass(frozen=True)
class Change:
    """An action that has ended, and the nodes that it added and removed."""

    action: Json
    added: list[Node]
    removed: list[Node]


class Cluster:
    """A cluster of the user `demo`."""

    def __init__(self, cloud: WholeCloud, size: int = 0, **more: Any) -> None:
        """Create the cluster and wait for its nodes."""
        self.cloud, self.senlin = cloud, cloud.senlin
        self.profile = self.senlin.create_profile()
        self.id = self.senlin.create_cluster(self.profile, size, **more)
        self.target = f'clusters/{self.id}'

    def do(self, name: str, **inputs: Any) -> Json:
        """Carry out an action, which must succeed; return it."""
        return self.senlin.succeed(self.target, name, **inputs)

    def change(self, name: str, **inputs: Any) -> Change:
        """Carry out an action that adds or removes nodes."""
        before = {node.id: node for node in self.nodes()}
        action = self.do(name, **inputs)
        return self.changed(action, before)

    def fail(self, name: str, **inputs: Any) -> Change:
        """Carry out an action, which must fail.

        Senlin ends it when the first node has failed, and goes on with the others while the cluster
        is locked.
        """
        before = {node.id: node for node in self.nodes()}
        action = self.senlin.fail(self.target, name, **inputs)
        wait_for(lambda: not senlin_database.is_locked(self.cloud.folder, self.id), ACTION_S)
        wait_for(lambda: {node.status for node in self.nodes()} <= ENDED, ACTION_S)
        return self.changed(action, before)

    def changed(self, action: Json, before: Mapping[str, Node]) -> Change:
        """Return what an action has changed, from the nodes before it by id."""
        after = {node.id: node for node in self.nodes()}
        added = [node for node in after.values() if node.id not in before]
        return Change(action, added, [node for node in before.values() if node.id not in after])

    def attach(self, type_: str, version: str = '1.0', /, **properties: Any) -> str:
        """Create a policy and attach it; return its id."""
        policy = self.senlin.create_policy(type_, version, **properties)
        self.do('policy_attach', policy_id=policy, enabled=True)
        return policy

    def attach_zones(self, **weights: int) -> str:
        """Attach a policy for zones with these weights."""
        zones = [{'name': name, 'weight': weight} for name, weight in weights.items()]
        return self.attach('zone_placement', zones=zones)

    def attach_deletion(self) -> str:
        """Attach a policy that deletes the oldest nodes first, and no protected ones."""
        return self.attach('deletion', '1.2', criteria='OLDEST_FIRST')

    def attach_load_balancing(self) -> str:
        return self.attach('loadbalance', '1.3', **LOAD_BALANCING)

    def nodes(self) -> list[Node]:
        """Return the nodes in Senlin's database in the order of their indexes."""
        return senlin_database.nodes_of(self.cloud.folder, self.id)

    def planned_zones(self) -> Counter[str]:
        """Return how many nodes each zone has in Senlin's database."""
        return Counter(node.placement.get('zone') for node in self.nodes())

    def zones(self) -> Counter[str]:
        """Return how many servers each zone has in Nova."""
        return Counter(server.availability_zone for server in self._servers())

    def addresses(self) -> list[str]:
        """Return the IPv4 address of each server in Nova."""
        shown = (server.addresses['private'] for server in self._servers())
        return sorted(
            one['addr'] for addresses in shown for one in addresses if one['version'] == 4
        )

    def members(self, policy: str) -> list[str]:
        """Return the addresses of the members of the policy's pool in Octavia."""
        octavia = self.cloud.connect('demo').load_balancer
        return sorted(member.address for member in octavia.members(self._objects(policy)['pool']))

    def load_balancer(self, policy: str) -> str:
        """Return the id of the policy's load balancer."""
        return str(self._objects(policy)['loadbalancer'])

    def _objects(self, policy: str) -> Json:
        """Return the ids of the policy's objects in Octavia by kind."""
        return dict(self.binding(policy)['data']['LoadBalancingPolicy']['data'])

    def binding(self, policy: str) -> Json:
        """Return the binding of a policy."""
        return dict(self.senlin.get(f'{self.target}/policies/{policy}')['cluster_policy'])

    def decisions(self, action: Mapping[str, Any]) -> list[Json]:
        """Return what the workers recorded about an action: the data of their replies, in order."""
        return [record['reply']['action']['data'] for record in self.records(action)]

    def records(self, action: Mapping[str, Any]) -> list[Json]:
        """Return the lines of the workers' decision logs about an action, in order."""
        logs = self.cloud.decision_logs()
        records = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return [
            record
            for record in sorted(records, key=lambda record: record['at'])
            if record['request'].get('action', {}).get('id') == action['id']
        ]

    def _servers(self) -> list[Any]:
        """Return each server from the Nova of its region."""
        regions = {region: self.cloud.connect('demo', region).compute for region in COMPUTES}
        return [regions[node.region].get_server(node.physical_id) for node in self.nodes()]
