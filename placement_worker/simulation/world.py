"""The simulated cluster, and an engine that applies the decisions."""

import datetime
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.codec import decoder
from placement_worker.contract.limits import Limits
from placement_worker.contract.model import (
    Action,
    Binding,
    CheckReply,
    CheckRequest,
    Cluster,
    Explain,
    Node,
    Profile,
    ProfileContext,
    ProfileProperties,
)
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.planning import sizing, victims
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry
from placement_worker.simulation.changing_cloud import ChangingCloud
from placement_worker.simulation.scenario import Failing, Scenario

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TICK = datetime.timedelta(minutes=1)
PLACEMENT = ('senlin.policy.zone_placement', 'senlin.policy.region_placement')
FAILED = 'ERROR'
ANY_SIZE = 2**62  # bytes of a request
PROFILE_TYPE = 'os.nova.server-1.0'


class World:
    """One cluster under one set of policy types; the real chain decides its checks."""

    def __init__(self, scenario: Scenario, registry: Registry) -> None:
        """Create the cluster of a scenario.

        :raises PolicyTypeNotFound: the type of a policy is not installed.
        :raises InvalidSpec: the properties of a policy are not valid.
        """
        self.scenario = scenario
        self.cloud = ChangingCloud(scenario.inventory)
        self.policies: Sequence[Binding] = [
            _normalized(binding, registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(scenario.policies)
        ]
        self.nodes: dict[str, Node] = {}
        self.now = START
        self._serial = 0
        self._checks = 0
        self._endpoints = Endpoints(
            self.cloud,
            registry,
            limits=lambda: Limits(scenario.max_nodes, ANY_SIZE),
            now=lambda: self.now,
            clock=lambda: 0.0,  # measured times would make two runs differ
        )
        for start in scenario.cluster.nodes:
            for _ in range(start.count):
                self._create(_placement(start.zone, start.region))

    def check(
        self, action: str, inputs: Mapping[str, Any], explain: Explain
    ) -> tuple[CheckReply, int, int]:
        """Check an action, and run it if the check is OK.

        :returns: the reply, and the numbers of created and deleted nodes.
        """
        self._checks += 1
        request = CheckRequest(
            target='BEFORE',
            action=Action(
                id=f'action-{self.scenario.seed}-{self._checks}', action=action, inputs=dict(inputs)
            ),
            cluster=self.cluster,
            policies=list(self.policies),
            explain=explain,
        )
        answer = self._endpoints.policy_check(msgspec.json.encode(request).decode())
        reply = decoder(CheckReply).decode(answer)
        if reply.action.data['status'] != 'OK':
            return reply, 0, 0
        return reply, *self._run(request, reply)

    @property
    def failed(self) -> list[str]:
        """The ids of the failed nodes."""
        return [node.id for node in self.nodes.values() if node.status == FAILED]

    def fail(self, which: Failing, seed: str) -> int:
        """Make healthy nodes fail; the seed chooses them.

        :returns: the number of nodes that fail.
        """
        found = Snapshot(self.cloud.inventory, self.cluster)
        healthy = [
            node.id
            for node in self.nodes.values()
            if node.status != FAILED
            and which.zone in (None, found.zone_of(node))
            and which.region in (None, found.region_of(node))
        ]
        generator = random.Random(f'{seed}/{which.seed}')  # noqa: S311
        chosen = generator.sample(healthy, _share(which.count, len(healthy)))
        for node_id in chosen:
            self.nodes[node_id] = structs.replace(self.nodes[node_id], status=FAILED)
        return len(chosen)

    def pick(self, count: int, seed: str) -> list[str]:
        """Return the ids of some nodes; the seed chooses them."""
        ids = sorted(self.nodes)
        return random.Random(seed).sample(ids, min(count, len(ids)))  # noqa: S311

    def set_property(self, key: str, values: Mapping[str, int]) -> None:
        """Set the `weight` or `cap` of places in the placement policies."""
        self.policies = [_with_property(binding, key, values) for binding in self.policies]

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
        )

    def _run(self, request: CheckRequest, reply: CheckReply) -> tuple[int, int]:
        """Run the action like Senlin's engine: create the listed nodes, delete the candidates.

        Without candidates the engine deletes random nodes.
        """
        data = reply.action.data
        size = sizing.size_of(
            request.action, ActionData(data), request.cluster, self.scenario.max_nodes
        )
        if size.kind == CREATION:
            entries = data.get('placement', {}).get('placements') or [{}] * size.count
            for entry in entries:
                self._create(entry)
            return len(entries), 0
        chosen = data.get(DELETION, {}).get('candidates')
        if chosen is None:
            order = victims.order(request.cluster.nodes, 'RANDOM', request.action.id)
            chosen = request.action.inputs.get('candidates') or [
                node.id for node in order[: size.count]
            ]
        for node_id in chosen:
            del self.nodes[node_id]
        return 0, len(chosen)

    def _create(self, placement: Mapping[str, str]) -> None:
        self._serial += 1
        node = Node(
            id=f'n{self._serial}',
            name=f'{self.scenario.cluster.name}-{self._serial}',
            index=self._serial,
            status='ACTIVE',
            created_at=self.now,
            profile_created_at=START,
            data={'placement': dict(placement)} if placement else {},
        )
        self.nodes[node.id] = node


def _placement(zone: str | None, region: str | None) -> dict[str, str]:
    return {key: name for key, name in (('region_name', region), ('zone', zone)) if name}


def _share(count: int | str, of: int) -> int:
    """Return a number, or a percentage rounded to the nearest number, but at least 1."""
    if isinstance(count, int):
        return min(count, of)
    percent = float(count.rstrip('% '))
    return min(of, max(1 if percent else 0, math.floor(of * percent / 100 + 0.5)))


def _normalized(binding: Binding, policy: Policy[Any]) -> Binding:
    """Return a binding with the property types of the schema, which the measures need."""
    properties = msgspec.to_builtins(policy.properties)
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))


def _with_property(binding: Binding, key: str, values: Mapping[str, int]) -> Binding:
    if binding.spec.type not in PLACEMENT:
        return binding
    properties = {
        name: [
            {**place, key: values[place['name']]} if place.get('name') in values else place
            for place in places
        ]
        for name, places in binding.spec.properties.items()
    }
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))
