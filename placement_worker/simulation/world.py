"""The simulated cluster, and an engine that applies the decisions."""

import datetime
import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.cluster import (
    Cluster,
    Data,
    Node,
    NodeMetadata,
    Profile,
    ProfileContext,
    ProfileProperties,
)
from placement_worker.contract.model import (
    Action,
    Binding,
    BindRequest,
    CheckReply,
    CheckRequest,
    ClusterPatch,
    Explain,
    NodePatch,
    Phase,
    PlaceOfNode,
    RebalanceOptions,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.planning import cordon, protection, sizing, victims
from placement_worker.planning.cordon import Cordon
from placement_worker.policies.registry import Registry
from placement_worker.simulation.addresses import Addresses
from placement_worker.simulation.balanced_pools import (
    BalancedPools,
    is_load_balancing,
    without_delays,
)
from placement_worker.simulation.changing_cloud import ChangingCloud
from placement_worker.simulation.decider import Decider
from placement_worker.simulation.policy_changes import normalized, with_property
from placement_worker.simulation.scenario import (
    CordonedPlace,
    Cordoning,
    Failing,
    InvalidScenario,
    MemberStatus,
    Protecting,
    Rebalancing,
    Scenario,
)

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TICK = datetime.timedelta(minutes=1)
FAILED = 'ERROR'
NO_ROOM = 'No valid host was found. There are not enough hosts available.'
PROFILE_TYPE = 'os.nova.server-1.0'


class Checked(NamedTuple):
    """A checked phase of an action, and what the engine did between its phases.

    `refused`: the number of nodes for which the cloud had no room.
    """

    phase: Phase
    reply: CheckReply
    created: int = 0
    deleted: int = 0
    refused: int = 0


class World:
    """One cluster under one set of policy types; the real chain decides its checks."""

    def __init__(self, scenario: Scenario, registry: Registry) -> None:
        """Create the cluster of a scenario.

        :raises PolicyTypeNotFound: the type of a policy is not installed.
        :raises InvalidSpec: the properties of a policy are not valid.
        :raises InvalidScenario: a policy cannot be attached.
        """
        self.scenario = scenario
        self.cloud = ChangingCloud(without_delays(scenario.inventory))
        self.policies: Sequence[Binding] = [
            normalized(binding, registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(scenario.policies)
        ]
        self.nodes: dict[str, Node] = {}
        self.now = START
        self.pools = BalancedPools()
        self._cordons: list[Cordon] = []
        self._addresses = Addresses(scenario.inventory)
        self._cluster_data: Data = {}
        self._serial = 0
        self._checks = 0
        self._decider = Decider(
            self.cloud,
            registry,
            self.pools.settings,
            scenario.max_nodes,
            lambda: self.now,
            lambda now: cordon.in_force(self._cordons, now),
        )
        for start in scenario.cluster.nodes:
            for _ in range(start.count):
                self._create(_placement(start.zone, start.region))
        self.policies = [self._attached(binding) for binding in self.policies]

    def check(self, action: str, inputs: Mapping[str, Any], explain: Explain) -> Iterator[Checked]:
        """Check an action; run it if the check is OK, and check new nodes that need a member."""
        self._checks += 1
        if any(map(is_load_balancing, self.policies)):
            self.cloud.set_member_statuses(self.pools.probed(self.nodes, self.failed))
        action_id = f'action-{self.scenario.seed}-{self._checks}'
        request = self._request('BEFORE', Action(action_id, action, inputs=dict(inputs)), explain)
        reply = self._decided(request)
        if reply.action.data['status'] != 'OK':
            yield Checked('BEFORE', reply)
            return
        made, deleted = self._run(request, reply)
        created = [node_id for node_id in made if self.nodes[node_id].created_at]
        yield Checked('BEFORE', reply, len(created), deleted, len(made) - len(created))
        if created and any(map(is_load_balancing, self.policies)):
            creation = {**reply.action.data.get(CREATION, {}), 'nodes': created}
            done = structs.replace(request.action, data={**reply.action.data, CREATION: creation})
            yield Checked('AFTER', self._decided(self._request('AFTER', done, explain)))

    def rebalance(self, options: Rebalancing) -> RebalanceReply:
        """Plan a rebalance of the cluster."""
        converted = msgspec.convert(options, RebalanceOptions, from_attributes=True)
        return self._decider.rebalance(
            RebalanceRequest(self.cluster, list(self.policies), converted)
        )

    def create_at(self, place: PlaceOfNode, explain: Explain) -> Iterator[Checked]:
        """Create a node with a profile that names its place, and check its phases."""
        self._checks += 1
        context = ProfileContext(place.region_name) if place.region_name else None
        profile = Profile(
            PROFILE_TYPE,
            properties=ProfileProperties(availability_zone=place.zone, context=context),
        )
        action = Action(
            f'action-{self.scenario.seed}-{self._checks}',
            actions.NODE_CREATE,
            node=Node(id='new', profile=profile),
        )
        reply = self._decider.check(self._request('BEFORE', action, explain))
        if reply.action.data['status'] != 'OK':
            yield Checked('BEFORE', reply)
            return
        created = self._create(_placement(place.zone, place.region_name))
        is_created = self.nodes[created].created_at is not None
        yield Checked('BEFORE', reply, int(is_created), 0, int(not is_created))
        if is_created and any(map(is_load_balancing, self.policies)):
            done = structs.replace(action, data=reply.action.data, node=self.nodes[created])
            yield Checked('AFTER', self._decided(self._request('AFTER', done, explain)))

    def _request(self, phase: Phase, action: Action, explain: Explain) -> CheckRequest:
        return CheckRequest(phase, action, self.cluster, list(self.policies), explain=explain)

    def _decided(self, request: CheckRequest) -> CheckReply:
        """Return the reply to a request, and store its data of cluster and nodes."""
        reply = self._decider.check(request)
        self._store(reply.cluster, reply.nodes)
        return reply

    def _attached(self, binding: Binding) -> Binding:
        """Return a policy with the data of its load balancer, if it balances load.

        :raises InvalidScenario: the policy cannot be attached.
        """
        if not is_load_balancing(binding):
            return binding
        reply = self._decider.attach(BindRequest(self.cluster, binding))
        if reply.status != 'OK':
            raise InvalidScenario(f'Policy {binding.id} cannot be attached: {reply.reason}')
        self._store(reply.cluster, reply.nodes)
        return structs.replace(binding, data=reply.policy.data)

    def _store(self, cluster: ClusterPatch | None, nodes: Mapping[str, NodePatch]) -> None:
        if cluster:
            self._cluster_data = cluster.data
        for node_id, patch in nodes.items():
            self.nodes[node_id] = structs.replace(self.nodes[node_id], data=patch.data)

    @property
    def failed(self) -> list[str]:
        """The ids of the failed nodes."""
        return [node.id for node in self.nodes.values() if node.status == FAILED]

    def fail(self, which: Failing, seed: str) -> int:
        """Make healthy nodes fail; the seed chooses them.

        :returns: the number of nodes that fail.
        """
        chosen = self._some(which, seed, except_ids=self.failed)
        for node_id in chosen:
            self.nodes[node_id] = structs.replace(self.nodes[node_id], status=FAILED)
        return len(chosen)

    @property
    def protected(self) -> Collection[str]:
        """The ids of the nodes that are protected now."""
        return protection.in_force(protection.marked(self.nodes.values()), {}, self.now)

    def protect(self, which: Protecting, seed: str) -> int:
        """Protect nodes from deletion; the seed chooses them.

        :returns: the number of nodes that become protected.
        """
        until = which.minutes and (self.now + which.minutes * TICK).isoformat()
        metadata = NodeMetadata({'until': until, 'reason': which.reason})
        chosen = self._some(which, seed, except_ids=self.protected)
        for node_id in chosen:
            self.nodes[node_id] = structs.replace(self.nodes[node_id], metadata=metadata)
        return len(chosen)

    @property
    def cordons(self) -> Sequence[Cordon]:
        """The cordons in force now, by place."""
        return sorted(cordon.in_force(self._cordons, self.now), key=lambda one: one.place)

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

    def _some(
        self, which: Failing | Protecting, seed: str, except_ids: Collection[str]
    ) -> list[str]:
        """Return the ids of some nodes of a place; the seed chooses them."""
        found = Snapshot(self.cloud.inventory, self.cluster)
        excepted = set(except_ids)
        eligible = [
            node.id
            for node in self.nodes.values()
            if node.id not in excepted
            and which.zone in (None, found.zone_of(node))
            and which.region in (None, found.region_of(node))
        ]
        generator = random.Random(f'{seed}/{which.seed}')  # noqa: S311
        return generator.sample(eligible, _share(which.count, len(eligible)))

    def set_member_status(self, wanted: MemberStatus, seed: str) -> int:
        """Set the operating status of the members of some nodes; the seed chooses them.

        :returns: the number of nodes.
        """
        chosen = self.pick(_share(wanted.count, len(self.nodes)), seed)
        self.pools.set_status(chosen, wanted.status)
        return len(chosen)

    def pick(self, count: int, seed: str) -> list[str]:
        """Return the ids of some nodes; the seed chooses them."""
        ids = sorted(self.nodes)
        return random.Random(seed).sample(ids, min(count, len(ids)))  # noqa: S311

    def set_property(self, key: str, values: Mapping[str, int]) -> None:
        """Set the `weight` or `cap` of places in the placement policies."""
        self.policies = [with_property(binding, key, values) for binding in self.policies]

    @property
    def cluster(self) -> Cluster:
        """The cluster as the engine sends it now."""
        described = self.scenario.cluster
        context = ProfileContext(described.region) if described.region else None
        return Cluster(
            id='simulated',
            profile=Profile(PROFILE_TYPE, properties=ProfileProperties(context=context)),
            nodes=list(self.nodes.values()),
            name=described.name,
            min_size=described.min_size,
            max_size=described.max_size,
            desired_capacity=len(self.nodes),
            data=self._cluster_data,
        )

    def _run(self, request: CheckRequest, reply: CheckReply) -> tuple[list[str], int]:
        """Run the action like Senlin's engine: create the listed nodes, delete the candidates.

        Without candidates the engine deletes random nodes.

        :returns: the ids of the new nodes, and the number of deleted ones. Nodes for which the
            cloud has no room stay in the cluster in ERROR.
        """
        data = reply.action.data
        size = sizing.size_of(
            request.action, ActionData(data), request.cluster, self.scenario.max_nodes
        )
        if size.kind == CREATION:
            entries = data.get('placement', {}).get('placements') or [{}] * size.count
            return [self._create(entry) for entry in entries], 0
        chosen = data.get(DELETION, {}).get('candidates')
        if chosen is None:
            order = victims.order(request.cluster.nodes, 'RANDOM', request.action.id)
            chosen = request.action.inputs.get('candidates') or [
                node.id for node in order[: size.count]
            ]
        for node_id in chosen:
            self._addresses.give_back(self.nodes.pop(node_id).details)
        return [], len(chosen)

    def _create(self, placement: Mapping[str, str]) -> str:
        self._serial += 1
        node = Node(
            id=f'n{self._serial}',
            name=f'{self.scenario.cluster.name}-{self._serial}',
            index=self._serial,
            profile_created_at=START,
            data={'placement': dict(placement)} if placement else {},
            updated_at=self.now,
        )
        if self.cloud.has_room(self._region(placement), placement.get('zone')):
            addresses = self._addresses.take()
            node = structs.replace(node, status='ACTIVE', created_at=self.now, details=addresses)
        else:
            node = structs.replace(node, status=FAILED, status_reason=NO_ROOM)
        self.nodes[node.id] = node
        return node.id

    def _region(self, placement: Mapping[str, str]) -> str | None:
        return placement.get('region_name') or self.scenario.cluster.region


def _placement(zone: str | None, region: str | None) -> dict[str, str]:
    return {key: name for key, name in (('region_name', region), ('zone', zone)) if name}


def _share(count: int | str, of: int) -> int:
    """Return a number, or a percentage rounded to the nearest number, but at least 1."""
    if isinstance(count, int):
        return min(count, of)
    percent = float(count.rstrip('% '))
    return min(of, max(1 if percent else 0, math.floor(of * percent / 100 + 0.5)))
