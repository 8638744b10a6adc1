"""A cluster in Senlin's database, Nova, Octavia and the workers' decision logs."""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from openstack.connection import Connection

from tests.cloud.layout import COMPUTES
from tests.cloud.nodes import Json, Node
from tests.cloud.whole_cloud import WholeCloud

LOAD_BALANCING = 'senlin.policy.loadbalance'


class ClusterSources:
    """A cluster of the user `demo` in all four sources."""

    def __init__(self, cloud: WholeCloud, cluster_id: str) -> None:
        self.cloud, self.senlin, self.id = cloud, cloud.senlin, cluster_id
        self.target = f'clusters/{cluster_id}'

    def nodes(self) -> list[Node]:
        """Return the nodes in Senlin's database in the order of their indexes."""
        return self.cloud.senlin_database.nodes_of(self.id)

    def is_locked(self) -> bool:
        """Return whether an action has locked the cluster in Senlin's database."""
        return self.cloud.senlin_database.is_locked(self.id)

    def desired_capacity(self) -> int:
        """Return the size that users want."""
        return int(self.senlin.get(self.target)['cluster']['desired_capacity'])

    def servers(self) -> dict[str, Any]:
        """Return the server of each node that is not in ERROR from the Nova of its region."""
        return {
            node.id: self._connections[node.region].compute.get_server(node.physical_id)
            for node in self.nodes()
            if node.status != 'ERROR'
        }

    def zones(self) -> Counter[str]:
        """Return how many servers each zone has in Nova."""
        return Counter(server.availability_zone for server in self.servers().values())

    def addresses(self) -> list[str]:
        """Return the IPv4 address of each server in Nova."""
        return addresses(self.servers().values())

    def members(self, policy: str) -> list[str]:
        """Return the addresses of the members of the policy's pool in Octavia."""
        octavia = self._connections['RegionOne'].load_balancer
        return sorted(member.address for member in octavia.members(self.pool(policy)))

    def load_balancer(self, policy: str) -> str:
        """Return the id of the policy's load balancer."""
        return str(self._objects(policy)['loadbalancer'])

    def pool(self, policy: str) -> str:
        """Return the id of the policy's pool."""
        return str(self._objects(policy)['pool'])

    def _objects(self, policy: str) -> Json:
        """Return the ids of the policy's objects in Octavia by kind."""
        binding = self.senlin.get(f'{self.target}/policies/{policy}')['cluster_policy']
        return dict(binding['data']['LoadBalancingPolicy']['data'])

    def enabled_policies(self) -> dict[str, str]:
        """Return the types of the policies that are attached and enabled by their ids."""
        bindings = self.senlin.get(f'{self.target}/policies?enabled=true')['cluster_policies']
        return {binding['policy_id']: binding['policy_type'] for binding in bindings}

    def decisions(self, action: Mapping[str, Any]) -> list[Json]:
        """Return what the workers recorded about an action: the data of their replies, in order."""
        return [record['reply']['action']['data'] for record in self.records(action)]

    def records(self, action: Mapping[str, Any]) -> list[Json]:
        """Return the lines of the workers' decision logs about an action, in order."""
        logs = self.cloud.decision_logs()
        lines = [line for log in logs for line in log.read_text().splitlines()]
        records = [json.loads(line) for line in lines if action['id'] in line]
        return [
            record
            for record in sorted(records, key=lambda record: record['at'])
            if record['request'].get('action', {}).get('id') == action['id']
        ]

    @cached_property
    def _connections(self) -> dict[str, Connection]:
        """The connections of the owner by region."""
        return {region: self.cloud.connect('demo', region) for region in COMPUTES}


def addresses(servers: Any) -> list[str]:
    """Return the IPv4 address of each of some servers."""
    shown = (server.addresses['private'] for server in servers)
    return sorted(
        address['addr'] for several in shown for address in several if address['version'] == 4
    )
