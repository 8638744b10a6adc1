"""Clusters that change through Senlin's API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cloud import agreement
from tests.cloud.databases import Json, Node
from tests.cloud.senlin_api import ACTION_S, ended
from tests.cloud.sources import Change, ClusterSources
from tests.cloud.whole_cloud import WholeCloud
from tests.waiting import wait_for

POOL = {'protocol': 'HTTP', 'protocol_port': 80, 'subnet': 'private-subnet'}
WEIGHTS = {'az1': 100, 'az2': 200, 'az3': 100}
MAX_SIZE = 6
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
        return Running(self, self._by_id(), self.senlin.begin(self.target, name, **inputs))

    def change(self, name: str, **inputs: Any) -> Change:
        """Carry out an action that adds or removes nodes; all sources must agree afterwards."""
        return self.begin(name, **inputs).end()

    def fail(self, name: str, **inputs: Any) -> Change:
        """Carry out an action, which must fail; all sources must agree afterwards."""
        return self.begin(name, **inputs).end('FAILED')

    def create_node(self) -> Change:
        before = self._by_id()
        node = self.senlin.create_node(self.profile, cluster_id=self.id)
        return Running(self, before, self.senlin.last_action(node)['id']).end()

    def delete_node(self, node_id: str) -> Change:
        return Running(self, self._by_id(), self.senlin.delete(f'nodes/{node_id}')['id']).end()

    def recover_node(self, node_id: str) -> Change:
        action = self.senlin.begin(f'nodes/{node_id}', 'recover', operation='RECREATE')
        return Running(self, self._by_id(), action).end()

    def _by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes()}

    def attach(self, type_: str, version: str = '1.0', /, **properties: Any) -> str:
        """Create a policy and attach it; return its id."""
        policy = self.senlin.create_policy(type_, version, **properties)
        self.do('policy_attach', policy_id=policy, enabled=True)
        return policy

    def attach_zones(self, **weights: int) -> str:
        zones = [{'name': name, 'weight': weight} for name, weight in weights.items()]
        return self.attach('zone_placement', zones=zones)

    def attach_deletion(self) -> str:
        """Attach a policy that deletes the oldest nodes first, and no protected ones."""
        return self.attach('deletion', '1.2', criteria='OLDEST_FIRST')

    def attach_load_balancing(self) -> str:
        return self.attach('loadbalance', '1.3', **LOAD_BALANCING)


@dataclass(frozen=True)
class Running:
    """An action that was started; `before` has the nodes before it by id."""

    cluster: Cluster
    before: Mapping[str, Node]
    action_id: str

    def end(self, status: str = 'SUCCEEDED') -> Change:
        """Return what the action has changed when it has ended with a status; all sources agree.

        Senlin ends a failed action when its first node has failed, and goes on with the others
        while the cluster is locked.
        """
        action = self.cluster.senlin.wait(self.action_id)
        database = self.cluster.cloud.engine.database
        wait_for(lambda: not database.is_locked(self.cluster.id), ACTION_S)
        wait_for(lambda: {node.status for node in self.cluster.nodes()} <= ENDED, ACTION_S)
        after = {node.id: node for node in self.cluster.nodes()}
        added = [node for node in after.values() if node.id not in self.before]
        removed = [node for node in self.before.values() if node.id not in after]
        change = Change(ended(action, status), added, removed)
        agreement.check(self.cluster, change)
        return change


class ManagedCluster(Cluster):
    """A cluster that spreads its nodes over zones, deletes the oldest, and has a load balancer.

    The policies were attached while it ran.
    """

    def __init__(self, cloud: WholeCloud) -> None:
        super().__init__(cloud, 3, max_size=MAX_SIZE)
        self.attach_zones(**WEIGHTS)
        self.attach('region_placement', regions=[{'name': 'RegionOne'}])
        self.attach('deletion', '1.1', criteria='OLDEST_FIRST')
        self.attach_load_balancing()

    def set_size(self, size: int) -> None:
        """Resize the cluster if it has another size."""
        if len(self.nodes()) != size:
            self.change('resize', adjustment_type='EXACT_CAPACITY', number=size)

    def at_least(self, size: int) -> None:
        self.set_size(max(size, len(self.nodes())))

    def at_most(self, size: int) -> None:
        self.set_size(min(size, len(self.nodes())))

    def is_active(self) -> bool:
        """Return whether all nodes are active, in planned zones."""
        return all(node.status == 'ACTIVE' and node.placement for node in self.nodes())

    def is_balanced(self) -> bool:
        """Return whether each zone has the share of its weight, rounded up or down."""
        found = self.zones()
        per_weight = found.total() / sum(WEIGHTS.values())
        return all(abs(found[zone] - weight * per_weight) < 1 for zone, weight in WEIGHTS.items())
