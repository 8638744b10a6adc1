"""Clusters that change through Senlin's API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cloud import agreement
from tests.cloud.nodes import Change, Json, Node
from tests.cloud.senlin_api import ACTION_S, failed, succeeded
from tests.cloud.sources import ClusterSources
from tests.cloud.whole_cloud import WholeCloud
from tests.waiting import wait_for

POOL = {'protocol': 'HTTP', 'protocol_port': 80, 'subnet': 'private-subnet'}
LOAD_BALANCING = {'pool': POOL, 'vip': POOL, 'lb_status_timeout': 230}
# The states of a node that no action is changing.
ENDED = {'ACTIVE', 'WARNING', 'ERROR'}


class Cluster(ClusterSources):
    """A cluster of the user `demo`."""

    def __init__(self, cloud: WholeCloud, size: int = 0, **more: Any) -> None:
        """Create the cluster and wait for its nodes."""
        self.profile = cloud.senlin.create_profile()
        super().__init__(cloud, cloud.senlin.create_cluster(self.profile, size, **more))

    def do(self, name: str, **inputs: Any) -> Json:
        """Carry out an action, which must succeed; return it."""
        return self.senlin.succeed(self.target, name, **inputs)

    def begin(self, name: str, **inputs: Any) -> 'Running':
        """Start an action without waiting for it."""
        before = self._by_id()
        return Running(self, before, self.senlin.begin(self.target, name, **inputs))

    def change(self, name: str, **inputs: Any) -> Change:
        """Carry out an action that adds or removes nodes; all sources must agree afterwards."""
        return self.begin(name, **inputs).succeed()

    def fail(self, name: str, **inputs: Any) -> Change:
        """Carry out an action, which must fail; all sources must agree afterwards."""
        return self.begin(name, **inputs).fail()

    def create_node(self) -> Change:
        """Create a node in the cluster; all sources must agree afterwards."""
        before = self._by_id()
        node = self.senlin.create_node(self.profile, cluster_id=self.id)
        return Running(self, before, self.senlin.last_action(node)['id']).succeed()

    def delete_node(self, node_id: str) -> Change:
        """Delete a node by its id; all sources must agree afterwards."""
        before = self._by_id()
        return Running(self, before, self.senlin.delete(f'nodes/{node_id}')['id']).succeed()

    def recover_node(self, node_id: str) -> Change:
        """Create the server of a node again; all sources must agree afterwards."""
        before = self._by_id()
        action = self.senlin.begin(f'nodes/{node_id}', 'recover', operation='RECREATE')
        return Running(self, before, action).succeed()

    def _by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes()}

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


@dataclass(frozen=True)
class Running:
    """An action that was started."""

    cluster: Cluster
    before: Mapping[str, Node]
    """The nodes before the action by id."""
    action_id: str

    def succeed(self) -> Change:
        """Return what the action has changed; it must succeed."""
        change = self.end()
        succeeded(change.action)
        return change

    def fail(self) -> Change:
        """Return what the action has changed; it must fail."""
        change = self.end()
        failed(change.action)
        return change

    def end(self) -> Change:
        """Return what the action has changed when it has ended; all sources must agree.

        Senlin ends a failed action when its first node has failed, and goes on with the others
        while the cluster is locked.
        """
        action = self.cluster.senlin.wait(self.action_id)
        wait_for(lambda: not self.cluster.is_locked(), ACTION_S)
        wait_for(lambda: {node.status for node in self.cluster.nodes()} <= ENDED, ACTION_S)
        change = self._changed(action)
        agreement.check(self.cluster, change)
        return change

    def _changed(self, action: Json) -> Change:
        after = {node.id: node for node in self.cluster.nodes()}
        added = [node for node in after.values() if node.id not in self.before]
        removed = [node for node in self.before.values() if node.id not in after]
        return Change(action, added, removed)
