"""The simulated world: a cluster, its policies, its cloud, and the cordons of its operators."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import (
    Binding,
    Cluster,
    ClusterPatch,
    Data,
    NodeMetadata,
    NodePatch,
    Profile,
    ProfileContext,
    ProfileProperties,
)
from placement_worker.planning import cordon
from placement_worker.planning.cordon import Cordon
from placement_worker.simulation import random_choice
from placement_worker.simulation.balanced_pools import (
    BalancedPools,
    is_load_balancing,
    without_delays,
)
from placement_worker.simulation.changing_cloud import ChangingCloud
from placement_worker.simulation.cluster_nodes import ClusterNodes
from placement_worker.simulation.policy_changes import with_property
from placement_worker.simulation.scenario import (
    CordonedPlace,
    Cordoning,
    Failing,
    MemberStatus,
    Protecting,
    Scenario,
)

TICK = datetime.timedelta(minutes=1)
PROFILE_TYPE = 'os.nova.server-1.0'


class World:
    """One cluster under one set of policies.

    :ivar policies: the policies of the cluster; attaching a policy or changing its properties
        replaces it.
    :ivar now: the simulated time.
    """

    def __init__(self, scenario: Scenario, policies: Sequence[Binding]) -> None:
        self.cloud = ChangingCloud(without_delays(scenario.inventory))
        self.policies = policies
        self.nodes = ClusterNodes(scenario.cluster.name, scenario.inventory, scenario.start)
        self.now = scenario.start.astimezone(datetime.UTC)
        self.pools = BalancedPools()
        self._described = scenario.cluster
        self._cluster_data: Data = {}
        self._cordons: list[Cordon] = []
        for start in scenario.cluster.nodes:
            for _ in range(start.count):
                self.create_node(placement(start.zone, start.region), start.data)

    @property
    def cluster(self) -> Cluster:
        """The cluster as the engine sends it now."""
        described = self._described
        context = ProfileContext(described.region) if described.region else None
        return Cluster(
            id='simulated',
            profile=Profile(PROFILE_TYPE, properties=ProfileProperties(context=context)),
            nodes=list(self.nodes.by_id.values()),
            name=described.name,
            min_size=described.min_size,
            max_size=described.max_size,
            desired_capacity=len(self.nodes.by_id),
            data=self._cluster_data,
        )

    def store(self, cluster: ClusterPatch | None, nodes: Mapping[str, NodePatch]) -> None:
        """Store the data of a reply."""
        if cluster:
            self._cluster_data = cluster.data
        self.nodes.patch(nodes)

    def create_node(
        self, placed: Mapping[str, str], data: Mapping[str, Any] = MappingProxyType({})
    ) -> str:
        """Create a node, in ERROR if its place has no room.

        :param data: the data of the node besides its place.
        :returns: its id.
        """
        region = placed.get('region_name') or self._described.region
        has_room = self.cloud.has_room(region, placed.get('zone'))
        return self.nodes.create(placed, self.now, has_room=has_room, data=data).id

    def fail(self, which: Failing, seed: str) -> int:
        """Make healthy nodes fail; the seed chooses them.

        :returns: the number of nodes that fail.
        """
        chosen = self._some(which, seed, except_ids=self.nodes.failed)
        self.nodes.fail(chosen)
        return len(chosen)

    @property
    def protected(self) -> Collection[str]:
        """The ids of the nodes that are protected now."""
        return self.nodes.protected(self.now)

    def protect(self, which: Protecting, seed: str) -> int:
        """Protect nodes from deletion; the seed chooses them.

        :returns: the number of nodes that become protected.
        """
        until = which.minutes and (self.now + which.minutes * TICK).isoformat()
        chosen = self._some(which, seed, except_ids=self.protected)
        self.nodes.protect(chosen, NodeMetadata({'until': until, 'reason': which.reason}))
        return len(chosen)

    def _some(
        self, which: Failing | Protecting, seed: str, except_ids: Collection[str]
    ) -> list[str]:
        """Return the ids of some nodes of a place; the seed chooses them."""
        found = Snapshot(self.cloud.inventory, self.cluster)
        excepted = set(except_ids)
        eligible = [
            node.id
            for node in self.nodes.by_id.values()
            if node.id not in excepted
            and which.zone in (None, found.zone_of(node))
            and which.region in (None, found.region_of(node))
        ]
        return random_choice.sample(eligible, which.count, f'{seed}/{which.seed}')

    def pick(self, count: int | str, seed: str) -> list[str]:
        """Return the ids of some nodes; the seed chooses them."""
        return random_choice.sample(sorted(self.nodes.by_id), count, seed)

    @property
    def cordons(self) -> Sequence[Cordon]:
        """The cordons in force now, by place."""
        return sorted(self.cordons_at(self.now), key=lambda one: one.place)

    def cordons_at(self, now: datetime.datetime) -> Sequence[Cordon]:
        """Return the cordons in force at a time."""
        return cordon.in_force(self._cordons, now)

    def cordon(self, which: Cordoning) -> Cordon:
        """Cordon a place from now on; a cordon of the same place is replaced."""
        self.uncordon(which)
        added = Cordon(
            zone=which.zone,
            region=which.region,
            until=self.now + which.minutes * TICK,
            reason=which.reason,
            evacuate=which.evacuate,
        )
        self._cordons.append(added)
        return added

    def uncordon(self, place: CordonedPlace) -> None:
        """Remove the cordon of a place, if it has one."""
        at = place.zone, place.region
        self._cordons = [one for one in self.cordons if (one.zone, one.region) != at]

    @property
    def balances_load(self) -> bool:
        """Whether the cluster has a load-balancing policy."""
        return any(map(is_load_balancing, self.policies))

    def set_member_status(self, wanted: MemberStatus, seed: str) -> int:
        """Set the operating status of the members of some nodes; the seed chooses them.

        :returns: the number of nodes.
        """
        chosen = self.pick(wanted.count, seed)
        self.pools.set_status(chosen, wanted.status)
        return len(chosen)

    def probe_members(self) -> None:
        """Let the health monitors of the pools see the failed nodes."""
        if self.balances_load:
            statuses = self.pools.probed(self.nodes.by_id, self.nodes.failed)
            self.cloud.set_member_statuses(statuses)

    def set_property(self, key: str, values: Mapping[str, int]) -> None:
        """Set the `weight` or `cap` of places in the placement policies."""
        self.policies = [with_property(binding, key, values) for binding in self.policies]


def placement(zone: str | None, region: str | None) -> dict[str, str]:
    """Return the placement of a node in a place, as the data of an action has it."""
    return {key: name for key, name in (('region_name', region), ('zone', zone)) if name}
