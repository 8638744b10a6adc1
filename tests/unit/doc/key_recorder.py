"""Record which keys of an action's inputs and data each policy reads and writes."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Binding, CheckRequest, Phase
from placement_worker.errors import Rejected
from placement_worker.handlers.chain import Link
from placement_worker.handlers.decision_state import Conditions, state_for_check
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import (
    NOW,
    Json,
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    redistributing,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import DESCRIPTION

PLACED = {'placement': {'region_name': 'R1', 'zone': 'a'}}
CLOUD = {
    **DESCRIPTION,
    'regions': {name: {'zones': {'a': True, 'b': True}} for name in ('R1', 'R2')},
    'home_region': 'R1',
}
# The name of each policy in the manual's tables -> a binding.
POLICIES = {
    'region': redistributing(region_policy('R1', 'R2')),
    'zone': redistributing(zone_policy('a', 'b')),
    'deletion': deletion_policy(version='1.2', hooks={'type': 'zaqar', 'params': {'queue': 'q'}}),
    'load balancing': load_balancing_policy(version='1.4', min_online=1),
}

RESIZE = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'min_size': 0, 'max_size': 9, 'strict': False}
NAMED: Json = {'candidates': ['n1']}
INPUTS: Mapping[str, list[Json]] = {
    'CLUSTER_SCALE_OUT': [{'count': 1}],
    'CLUSTER_SCALE_IN': [{'count': 1}, {'count': 1, **NAMED}],
    'CLUSTER_RESIZE': [{**RESIZE, 'number': 1}, {**RESIZE, 'number': -1}, {**RESIZE, **NAMED}],
    'CLUSTER_DEL_NODES': [NAMED],
    'CLUSTER_REPLACE_NODES': [{'candidates': {'n1': 'n2'}}],
}
PLANS: list[Json] = [
    {},
    {'regions': {'R1': 1}},
    {'region': {'R1': 1}},
    {'zones': {'a': 1}},
    {'zone': {'a': 1}},
]
PLACES = {'places': [{'region_name': 'R1', 'zone': 'a', 'count': 1}]}
DATA: list[Json] = [
    {},
    {'hooks': {'type': 'zaqar'}},
    *({'creation': {'count': 1, **plan}} for plan in PLANS),
    {'creation': {'count': 1, 'nodes': ['n3']}, 'placement': {'placements': [{}]}},
    *({'deletion': {'count': 1, **plan}} for plan in [*PLANS, PLACES]),
    {'deletion': {'count': 1, 'candidates': ['n1']}},
]


class Recorded(dict[str, Any]):
    """A map that records the paths of the keys that are looked up."""

    def __init__(self, values: Mapping[str, Any], found: set[str], path: str = '') -> None:
        super().__init__(
            {
                key: Recorded(value, found, f'{path}{key}.') if isinstance(value, dict) else value
                for key, value in values.items()
            }
        )
        self._found, self._path = found, path

    def _record(self, key: object) -> None:
        self._found.add(f'{self._path}{key}')

    def __contains__(self, key: object) -> bool:
        self._record(key)
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self._record(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._record(key)
        return super().get(key, default)


class Keys(NamedTuple):
    """The keys that a policy used in a phase of an action."""

    inputs: set[str]
    data: set[str]
    written: set[str]


def recorded() -> dict[tuple[str, str, Phase], Keys]:
    """Return policy, action and phase -> the keys, over all combinations of inputs and data."""
    found: defaultdict[tuple[str, str, Phase], Keys] = defaultdict(
        lambda: Keys(set(), set(), set())
    )
    registry = Registry.installed()
    for name, binding in POLICIES.items():
        consulted = Consulted(registry, binding)
        for phase, action in sorted(registry.types[_type_of(binding)].targets):
            for inputs, data in itertools.product(INPUTS.get(action, [{}]), DATA):
                consulted.check(phase, action, inputs, data, found[name, action, phase])
    return dict(found)


def _type_of(binding: Json) -> str:
    return f'{binding["spec"]["type"]}-{binding["spec"]["version"]}'


class Consulted:
    """A policy that is attached to a cluster of three nodes."""

    def __init__(self, registry: Registry, binding: Json) -> None:
        self._cloud = Inventory.parse(CLOUD, 'test')
        members = [connected(number, data=PLACED) for number in (1, 2, 3)]
        attached = Endpoints(self._cloud, registry).policy_attach(bind(binding, members))
        self._members = [
            {**member, **attached['nodes'].get(member['id'], {})} for member in members
        ]
        self._binding = {**binding, 'data': attached['policy']['data']}
        self._registry = registry

    def check(self, phase: Phase, action: str, inputs: Json, data: Json, keys: Keys) -> None:
        """Consult the policy once without changes, and add the keys that it used."""
        bound = msgspec.convert(self._binding, Binding)
        asked = self._request(phase, action, Recorded(inputs, keys.inputs))
        policy = self._registry.policy(bound.spec, '$')
        conditions = Conditions(self._cloud, OctaviaSettings(), 100, NOW, lambda: math.inf)
        state = structs.replace(
            state_for_check(asked, [Link.of(bound, policy, asked)], conditions),
            action_data=ActionData(Recorded(data, keys.data)),
            binding=bound,
        )
        try:
            outcome = policy.check(asked, state)
        except Rejected:
            return
        if outcome.data is not None:
            keys.written.update(_changed(data, outcome.data))

    def _request(self, phase: Phase, action: str, inputs: Json) -> CheckRequest:
        asked = msgspec.convert(
            request(
                action,
                [self._binding],
                self._members,
                target=phase,
                dry_run=True,
                node=self._members[0] if action.startswith('NODE_') else None,
            ),
            CheckRequest,
        )
        recording = msgspec.structs.replace(asked.action, inputs=inputs)
        return msgspec.structs.replace(asked, action=recording)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], path: str = '') -> Iterator[str]:
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and path == '':
            yield from _changed(old or {}, value, f'{key}.')
        elif value != old:
            yield f'{path}{key}'
