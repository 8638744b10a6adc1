"""The simulated cluster and its cloud, and the engine that does what the policies decide."""

import datetime
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import Cloud
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
    Credentials,
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
from placement_worker.simulation.scenario import Failing, Scenario

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TICK = datetime.timedelta(minutes=1)
PLACEMENT = ('senlin.policy.zone_placement', 'senlin.policy.region_placement')
FAILED = 'ERROR'
ANY_SIZE = 2**62  # bytes of a request
PROFILE_TYPE = 'os.nova.server-1.0'


class World:
    """One cluster under one set of policy types; steps change it, policies decide by the real
    chain.
    """

    def __init__(self, scenario: Scenario, registry: Registry) -> None:
        """Begin as the scenario says.

        :raises PolicyTypeNotFound: a policy's type is not installed.
        :raises InvalidSpec: its properties do not fit.
        """
        self.scenario = scenario
        self.inventory = scenario.inventory
        self.policies: Sequence[Binding] = [
            _normalized(binding, registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(scenario.policies)
        ]
        self.nodes: dict[str, Node] = {}
        self.now = START
        self._whole = self.inventory  # with the regions that are lost
        self._lost_regions: set[str] = set()
        self._serial = 0
        self._checks = 0
        self._endpoints = Endpoints(
            self,
            registry,
            limits=lambda: Limits(scenario.max_nodes, ANY_SIZE),
            now=lambda: self.now,
            clock=lambda: 0.0,  # what is measured would make two runs differ
        )
        for start in scenario.cluster.nodes:
            for _ in range(start.count):
                self._create(_placement(start.zone, start.region))

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """As `Clouds.acting_for`: the cloud as it is now."""
        return self.inventory

    def acting_as_service(self) -> Cloud:
        """As `Clouds.acting_as_service`."""
        return self.inventory

    def check(
        self, action: str, inputs: Mapping[str, Any], explain: Explain
    ) -> tuple[CheckReply, int, int]:
        """Have an action checked before it runs, then let the engine run it if that is OK.

        :returns: the reply, and how many nodes were created and deleted.
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
        """The nodes that have failed."""
        return [node.id for node in self.nodes.values() if node.status == FAILED]

    def fail(self, which: Failing, seed: str) -> int:
        """Let nodes fail; of those that are sound the seed chooses.

        :returns: how many.
        """
        found = Snapshot(self.inventory, self.cluster)
        sound = [
            node.id
            for node in self.nodes.values()
            if node.status != FAILED
            and which.zone in (None, found.zone_of(node))
            and which.region in (None, found.region_of(node))
        ]
        generator = random.Random(f'{seed}/{which.seed}')  # noqa: S311
        chosen = generator.sample(sound, _share(which.count, len(sound)))
        for node_id in chosen:
            self.nodes[node_id] = structs.replace(self.nodes[node_id], status=FAILED)
        return len(chosen)

    def pick(self, count: int, seed: str) -> list[str]:
        """Nodes that somebody names; the seed chooses."""
        ids = sorted(self.nodes)
        return random.Random(seed).sample(ids, min(count, len(ids)))  # noqa: S311

    def set_zone(self, name: str, available: bool) -> None:
        """Let Nova report a zone as available or not; without a region before it, in each region
        that has it.
        """
        whole = self._whole
        zones = _with_zone(whole.zone_list, name, available)
        regions = whole.region_map
        if isinstance(regions, dict):
            regions = {
                key: structs.replace(
                    one, zones=_with_zone(one.zones, name.removeprefix(f'{key}/'), available)
                )
                if one.zones
                else one
                for key, one in regions.items()
            }
        self._show(structs.replace(whole, zone_list=zones, region_map=regions))

    def set_region(self, name: str, known: bool) -> None:
        """Let Keystone know a region or not."""
        self._lost_regions = self._lost_regions - {name} if known else self._lost_regions | {name}
        self._show(self._whole)

    def set_property(self, key: str, values: Mapping[str, int]) -> None:
        """Give places of the placement policies another `weight` or `cap`."""
        self.policies = [_with_property(binding, key, values) for binding in self.policies]

    def _show(self, whole: Inventory) -> None:
        self._whole = whole
        known: Any = whole.region_map
        if isinstance(known, dict):
            known = {
                name: region for name, region in known.items() if name not in self._lost_regions
            }
        else:
            known = [name for name in known if name not in self._lost_regions]
        self.inventory = structs.replace(whole, region_map=known)

    @property
    def cluster(self) -> Cluster:
        """The cluster as the engine knows it now."""
        said = self.scenario.cluster
        context = ProfileContext(said.region) if said.region else None
        return Cluster(
            id='simulated',
            profile=Profile(PROFILE_TYPE, properties=ProfileProperties(context=context)),
            nodes=list(self.nodes.values()),
            name=said.name,
            min_size=said.min_size,
            max_size=said.max_size,
            desired_capacity=len(self.nodes),
        )

    def _run(self, request: CheckRequest, reply: CheckReply) -> tuple[int, int]:
        """As Senlin's engine: create what `placement` lists, delete the candidates, or any nodes if
        none is named.
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
    """So many, or such a percentage, rounded to the nearest, but one at least."""
    if isinstance(count, int):
        return min(count, of)
    percent = float(count.rstrip('% '))
    return min(of, max(1 if percent else 0, math.floor(of * percent / 100 + 0.5)))


def _normalized(binding: Binding, policy: Policy[Any]) -> Binding:
    """Return a binding whose properties have the types of the schema, which the measures need."""
    properties = msgspec.to_builtins(policy.properties)
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))


def _with_zone(zones: dict[str, bool], zone: str, available: bool) -> dict[str, bool]:
    return {**zones, zone: available} if zone in zones else zones


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
