"""The simulated engine: it asks the worker about each action, and runs what the worker allows.

The worker is the real one, called with encoded requests, so that a scenario meets the same checks
as a request of Senlin. Its clocks are simulated: a measured time would make two runs differ.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from placement_worker.contract import actions, rpc
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import (
    Action,
    Binding,
    BindRequest,
    CheckReply,
    CheckRequest,
    Decision,
    Explain,
    Node,
    Phase,
    PlaceOfNode,
    RebalanceOptions,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.contract.rpc import A, Limits, Method, Q
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.planning import sizing, victims
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry
from placement_worker.simulation.scenario import InvalidScenario, Scenario
from placement_worker.simulation.world import World, is_load_balancing, placement_in, profile_in

_ANY_SIZE = 2**62  # bytes of a request


class PlayedCheck(Struct, frozen=True):
    """A checked phase of an action, and what the engine did between its phases.

    :ivar refused: the number of nodes for which the cloud had no room.
    :ivar grace_period_s: the time that the engine waits before it deletes the nodes.
    """

    action: str
    phase: Phase
    status: str
    reason: str
    created: int = 0
    deleted: int = 0
    refused: int = 0
    grace_period_s: int = 0
    decisions: list[Decision] = []
    warnings: list[str] = []


class Engine:
    def __init__(self, scenario: Scenario, registry: Registry) -> None:
        """Attach the policies of a scenario.

        :raises InvalidScenario: a policy cannot be attached.
        """
        policies = [
            _normalized(binding, registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(scenario.policies)
        ]
        self.world = world = World(scenario, policies)
        self.explain: Explain = 'none'
        self._scenario = scenario
        self._actions = 0
        self._endpoints = Endpoints(
            world.cloud,
            registry,
            WorkerSettings(
                limits=lambda: Limits(scenario.max_nodes, _ANY_SIZE),
                octavia_settings=lambda: world.pools.settings,
                cordons=world.cordons_at,
                now=lambda: world.now,
                clock=lambda: 0.0,
            ),
        )
        world.policies = [self._attached(binding) for binding in policies]

    def run(self, action: str, inputs: Mapping[str, Any]) -> list[PlayedCheck]:
        self.world.probe_members()
        return self._carried_out(Action(self._next_id(), action, inputs=dict(inputs)))

    def create_at(self, place: PlaceOfNode) -> list[PlayedCheck]:
        new = Node(id='new', profile=profile_in(place.zone, place.region_name))
        return self._carried_out(Action(self._next_id(), actions.NODE_CREATE, node=new))

    def _carried_out(self, before: Action) -> list[PlayedCheck]:
        reply = self._checked('BEFORE', before)
        data = reply.action.data
        if data['status'] != 'OK':
            return [_check(before, 'BEFORE', reply)]
        new, deleted = self._changed(before, data)
        nodes = [self.world.nodes.by_id[node_id] for node_id in new]
        created = [node for node in nodes if node.created_at]
        counts = {'created': len(created), 'deleted': deleted, 'refused': len(new) - len(created)}
        checks = [_check(before, 'BEFORE', reply, **counts)]
        if created and self.world.balances_load:
            if before.node:
                after = structs.replace(before, data=data, node=created[0])
            else:
                creation = {**data.get(CREATION, {}), 'nodes': [node.id for node in created]}
                after = structs.replace(before, data={**data, CREATION: creation})
            checks.append(_check(after, 'AFTER', self._checked('AFTER', after)))
        return checks

    def rebalance(self, options: RebalanceOptions) -> RebalanceReply:
        request = RebalanceRequest(self.world.cluster, list(self.world.policies), options)
        return self._ask(rpc.POLICY_REBALANCE, request)

    def _next_id(self) -> str:
        self._actions += 1
        return f'action-{self._scenario.seed}-{self._actions}'

    def _ask(self, method: Method[Q, A], request: Q) -> A:
        encoded = getattr(self._endpoints, method.name)(msgspec.json.encode(request).decode())
        return decoder(method.reply).decode(encoded)

    def _checked(self, phase: Phase, action: Action) -> CheckReply:
        policies = list(self.world.policies)
        explain = 'none' if action.node else self.explain
        request = CheckRequest(phase, action, self.world.cluster, policies, explain=explain)
        reply = self._ask(rpc.POLICY_CHECK, request)
        self.world.store(reply.cluster, reply.nodes)
        return reply

    def _attached(self, binding: Binding) -> Binding:
        if not is_load_balancing(binding):
            return binding
        reply = self._ask(rpc.POLICY_ATTACH, BindRequest(self.world.cluster, binding))
        if reply.status != 'OK':
            raise InvalidScenario(f'Policy {binding.id} cannot be attached: {reply.reason}')
        self.world.store(reply.cluster, reply.nodes)
        return structs.replace(binding, data=reply.policy.data)

    def _changed(self, action: Action, data: Mapping[str, Any]) -> tuple[list[str], int]:
        """Return the ids of the new nodes, and the number of deleted ones.

        Without candidates the engine of Senlin deletes random nodes. Nodes for which the cloud has
        no room stay in the cluster in ERROR.
        """
        if action.node and action.node.profile:
            profile = action.node.profile
            return [self.world.create_node(placement_in(profile.zone, profile.region), {})], 0
        cluster = self.world.cluster
        size = sizing.size_of(action, ActionData(data), cluster, self._scenario.max_nodes)
        if size.kind == CREATION:
            entries = data.get('placement', {}).get('placements') or [{}] * size.count
            return [self.world.create_node(entry, {}) for entry in entries], 0
        chosen = data.get(DELETION, {}).get('candidates')
        if chosen is None:
            order = victims.Members(cluster.nodes, 'RANDOM', action.id).ordered
            chosen = action.inputs.get('candidates') or [
                node.id for node in itertools.islice(order, size.count)
            ]
        self.world.nodes.delete(chosen)
        return [], len(chosen)


def _check(action: Action, phase: Phase, reply: CheckReply, **counts: int) -> PlayedCheck:
    data = reply.action.data
    deletion = data.get(DELETION, {}) if counts.get('deleted') else {}
    return PlayedCheck(
        action.action,
        phase,
        data['status'],
        data['reason'],
        grace_period_s=deletion.get('grace_period', 0),
        decisions=reply.decisions,
        warnings=reply.warnings,
        **counts,
    )


def _normalized(binding: Binding, policy: Policy[Any]) -> Binding:
    """Return a binding with the property types of the schema, which the measures need."""
    properties = msgspec.to_builtins(policy.properties)
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))
