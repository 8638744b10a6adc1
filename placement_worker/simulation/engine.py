"""The simulated engine: it asks the worker about each action, and runs what the worker allows."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import (
    Action,
    Binding,
    BindRequest,
    CheckReply,
    CheckRequest,
    Explain,
    Node,
    Phase,
    PlaceOfNode,
    Profile,
    ProfileContext,
    ProfileProperties,
    RebalanceOptions,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.planning import sizing, victims
from placement_worker.policies.registry import Registry
from placement_worker.simulation.balanced_pools import is_load_balancing
from placement_worker.simulation.decider import Decider
from placement_worker.simulation.policy_changes import normalized
from placement_worker.simulation.scenario import InvalidScenario, Rebalancing, Scenario
from placement_worker.simulation.world import PROFILE_TYPE, World, placement


class Checked(NamedTuple):
    """A checked phase of an action, and what the engine did between its phases.

    `refused`: the number of nodes for which the cloud had no room.
    """

    phase: Phase
    reply: CheckReply
    created: int = 0
    deleted: int = 0
    refused: int = 0


class Engine:
    """Change the cluster of a world as the real chain of policies decides.

    :ivar world: the world that the engine changes.
    """

    def __init__(self, scenario: Scenario, registry: Registry) -> None:
        """Create the cluster of a scenario, and attach its policies.

        :raises PolicyTypeNotFound: the type of a policy is not installed.
        :raises InvalidSpec: the properties of a policy are not valid.
        :raises InvalidScenario: a policy cannot be attached.
        """
        policies = [
            normalized(binding, registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(scenario.policies)
        ]
        self.world = world = World(scenario, policies)
        self._scenario = scenario
        self._actions = 0
        self._decider = Decider(
            world.cloud,
            registry,
            world.pools.settings,
            scenario.max_nodes,
            lambda: world.now,
            world.cordons_at,
        )
        world.policies = [self._attached(binding) for binding in policies]

    def check(self, action: str, inputs: Mapping[str, Any], explain: Explain) -> Iterator[Checked]:
        """Check an action; run it if the check is OK, and check new nodes that need a member."""
        self.world.probe_members()
        asked = Action(self._next_id(), action, inputs=dict(inputs))
        request = self._request('BEFORE', asked, explain)
        reply = self._decided(request)
        if reply.action.data['status'] != 'OK':
            yield Checked('BEFORE', reply)
            return
        made, deleted = self._run(request, reply)
        created = [node_id for node_id in made if self._has_server(node_id)]
        yield Checked('BEFORE', reply, len(created), deleted, len(made) - len(created))
        if created and self.world.balances_load:
            creation = {**reply.action.data.get(CREATION, {}), 'nodes': created}
            done = structs.replace(asked, data={**reply.action.data, CREATION: creation})
            yield Checked('AFTER', self._decided(self._request('AFTER', done, explain)))

    def create_at(self, place: PlaceOfNode, explain: Explain) -> Iterator[Checked]:
        """Create a node with a profile that names its place, and check its phases."""
        new = Node(id='new', profile=_profile_at(place))
        action = Action(self._next_id(), actions.NODE_CREATE, node=new)
        reply = self._decider.check(self._request('BEFORE', action, explain))
        if reply.action.data['status'] != 'OK':
            yield Checked('BEFORE', reply)
            return
        created = self.world.create_node(placement(place.zone, place.region_name))
        is_created = self._has_server(created)
        yield Checked('BEFORE', reply, int(is_created), 0, int(not is_created))
        if is_created and self.world.balances_load:
            node = self.world.nodes.by_id[created]
            done = structs.replace(action, data=reply.action.data, node=node)
            yield Checked('AFTER', self._decided(self._request('AFTER', done, explain)))

    def rebalance(self, options: Rebalancing) -> RebalanceReply:
        """Plan a rebalance of the cluster."""
        converted = msgspec.convert(options, RebalanceOptions, from_attributes=True)
        return self._decider.rebalance(
            RebalanceRequest(self.world.cluster, list(self.world.policies), converted)
        )

    def _next_id(self) -> str:
        self._actions += 1
        return f'action-{self._scenario.seed}-{self._actions}'

    def _request(self, phase: Phase, action: Action, explain: Explain) -> CheckRequest:
        world = self.world
        return CheckRequest(phase, action, world.cluster, list(world.policies), explain=explain)

    def _decided(self, request: CheckRequest) -> CheckReply:
        """Return the reply to a request, and store its data of cluster and nodes."""
        reply = self._decider.check(request)
        self.world.store(reply.cluster, reply.nodes)
        return reply

    def _attached(self, binding: Binding) -> Binding:
        """Return a policy with the data of its load balancer, if it balances load.

        :raises InvalidScenario: the policy cannot be attached.
        """
        if not is_load_balancing(binding):
            return binding
        reply = self._decider.attach(BindRequest(self.world.cluster, binding))
        if reply.status != 'OK':
            raise InvalidScenario(f'Policy {binding.id} cannot be attached: {reply.reason}')
        self.world.store(reply.cluster, reply.nodes)
        return structs.replace(binding, data=reply.policy.data)

    def _has_server(self, node_id: str) -> bool:
        return self.world.nodes.by_id[node_id].created_at is not None

    def _run(self, request: CheckRequest, reply: CheckReply) -> tuple[list[str], int]:
        """Run the action like Senlin's engine: create the listed nodes, delete the candidates.

        Without candidates the engine deletes random nodes.

        :returns: the ids of the new nodes, and the number of deleted ones. Nodes for which the
            cloud has no room stay in the cluster in ERROR.
        """
        data = reply.action.data
        size = sizing.size_of(
            request.action, ActionData(data), request.cluster, self._scenario.max_nodes
        )
        if size.kind == CREATION:
            entries = data.get('placement', {}).get('placements') or [{}] * size.count
            return [self.world.create_node(entry) for entry in entries], 0
        chosen = data.get(DELETION, {}).get('candidates')
        if chosen is None:
            order = victims.order(request.cluster.nodes, 'RANDOM', request.action.id)
            chosen = request.action.inputs.get('candidates') or [
                node.id for node in itertools.islice(order, size.count)
            ]
        self.world.nodes.delete(chosen)
        return [], len(chosen)


def _profile_at(place: PlaceOfNode) -> Profile:
    context = ProfileContext(place.region_name) if place.region_name else None
    properties = ProfileProperties(availability_zone=place.zone, context=context)
    return Profile(PROFILE_TYPE, properties=properties)
