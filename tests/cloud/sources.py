"""A cluster in Senlin's database, Nova, Octavia and the workers' decision logs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openstack.connection import Connection

from tests.cloud.databases import Json, Node
from tests.cloud.layout import COMPUTES
from tests.cloud.whole_cloud import WholeCloud


@dataclass(frozen=True)
class Change:
    """An action that has ended, and the nodes that it added and removed."""

    action: Json
    added: list[Node]
    removed: list[Node]


def ids(nodes: list[Node]) -> set[str]:
    return {node.id for node in nodes}


def zones(nodes: list[Node]) -> Counter[str]:
    return Counter(node.placement['zone'] for node in nodes)


def addresses(servers: Mapping[str, Any]) -> list[str]:
    """Return the IPv4 address of each of some servers."""
    return sorted(
        address['addr']
        for server in servers.values()
        for address in server.addresses['private']
        if address['version'] == 4
    )


class ClusterSources:
    """A cluster of the user `demo` in all four sources."""

    def __init__(self, cloud: WholeCloud, cluster_id: str) -> None:
        self.cloud, self.senlin, self.id = cloud, cloud.senlin, cluster_id
        self.target = f'clusters/{cluster_id}'

    def nodes(self) -> list[Node]:
        """Return the nodes in Senlin's database in the order of their indexes."""
        return self.cloud.engine.database.nodes_of(self.id)

    def desired_capacity(self) -> int:
        return int(self.senlin.get(self.target)['cluster']['desired_capacity'])

    def servers(self) -> dict[str, Any]:
        """Return the server of each node that is not in ERROR from the Nova of its region."""
        return {
            node.id: self._connections[node.region].compute.get_server(node.physical_id)
            for node in self.nodes()
            if node.status != 'ERROR'
        }

    def zones(self) -> Counter[str]:
        return Counter(server.availability_zone for server in self.servers().values())

    def addresses(self) -> list[str]:
        """Return the IPv4 address of each server in Nova."""
        return addresses(self.servers())

    def members(self, policy: str) -> list[str]:
        """Return the addresses of the members of the policy's pool in Octavia."""
        octavia = self._connections['RegionOne'].load_balancer
        return sorted(member.address for member in octavia.members(self.pool(policy)))

    def load_balancer(self, policy: str) -> str:
        return str(self._octavia_ids(policy)['loadbalancer'])

    def pool(self, policy: str) -> str:
        return str(self._octavia_ids(policy)['pool'])

    def _octavia_ids(self, policy: str) -> Json:
        """Return the ids of the policy's objects in Octavia by kind."""
        binding = self.senlin.get(f'{self.target}/policies/{policy}')['cluster_policy']
        return dict(binding['data']['LoadBalancingPolicy']['data'])

    def enabled_policies(self, type_: str = '') -> list[str]:
        """Return the ids of the policies of a type that are attached and enabled."""
        bindings = self.senlin.get(f'{self.target}/policies?enabled=true')['cluster_policies']
        return [
            binding['policy_id']
            for binding in bindings
            if binding['policy_type'].startswith(f'senlin.policy.{type_}')
        ]

    def decisions(self, action: Mapping[str, Any]) -> list[Json]:
        """Return what the workers recorded about an action: the data of their replies, in order."""
        return [record['reply']['action']['data'] for record in self.records(action)]

    def records(self, action: Mapping[str, Any]) -> list[Json]:
        """Return the lines of the workers' decision logs about an action, in order."""
        return [
            record
            for record in self.cloud.decisions(action['id'])
            if record['request'].get('action', {}).get('id') == action['id']
        ]

    @cached_property
    def _connections(self) -> dict[str, Connection]:
        """The connections of the owner by region."""
        return {region: self.cloud.connect('demo', region) for region in COMPUTES}
