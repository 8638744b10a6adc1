"""An embedded cloud with load balancers, on a clock that only sleeping advances."""

import datetime
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import (
    Fault,
    MemoryStore,
    OctaviaSimulator,
    OperatingStatus,
    Settings,
)
from placement_worker.cloud.embedded.state_machine import StateMachine
from placement_worker.cloud.ports import ApiError, OctaviaSettings
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry
from tests.factories import Json, bind, load_balancing_policy

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp()
REGION = 'R1'
KINDS = ('loadbalancer', 'listener', 'pool', 'healthmonitor')
DESCRIPTION = {
    'regions': [REGION, 'R2'],
    'networks': {'private': {'id': 'net1'}},
    'subnets': {
        'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/24'},
        'six-subnet': {'id': 'sub6', 'network': 'private', 'ip_version': 6},
        'global-subnet': {
            'id': 'sub7',
            'network': 'private',
            'ip_version': 6,
            'cidr': '2001:db8::/64',
        },
    },
}
registry = functools.cache(Registry.installed)


class Clock:
    """Seconds since 1970."""

    def __init__(self) -> None:
        self.now = START
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def after(self, seconds: float) -> str:
        return datetime.datetime.fromtimestamp(self.now + seconds, datetime.UTC).isoformat()


@dataclass(frozen=True)
class Call:
    """A call of Octavia's API before it is made."""

    name: str
    arguments: Sequence[Any]
    act: Callable[[], Any]

    @property
    def writes(self) -> bool:
        return self.name not in ('find', 'show', 'members')

    def __str__(self) -> str:
        return (
            f'{self.name} {self.arguments[0]}'
            if self.name in ('find', 'show', 'create', 'delete')
            else self.name
        )


Around = Callable[[Call], Any]


def _unsupported() -> None:
    raise ApiError('not supported', 501)


class Watched:
    """An Octavia whose calls pass through a function that may replace them."""

    def __init__(self, octavia: OctaviaSimulator, around: Around) -> None:
        self._octavia, self._around = octavia, around

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._octavia, name)
        return lambda *args, **options: self._around(
            Call(name, args, lambda: method(*args, **options))
        )


@dataclass
class Lab:
    """A worker over a cloud with visible load balancers; also the `Clouds` and the `Cloud`.

    :ivar pending_s: the time for which a change stays pending.
    :ivar around: makes each call of Octavia's API.
    :ivar calls: all calls so far.
    :ivar member_status: the operating status of members by address; ONLINE if it is missing.
    :ivar fail: the faults to inject, as in the description of a cloud.
    """

    pending_s: float = 1
    description: Json = field(default_factory=dict)
    batch_members: bool = True
    nested_creation: bool = True
    clock: Clock = field(default_factory=Clock)
    store: MemoryStore = field(default_factory=MemoryStore)
    around: Around = lambda call: call.act()
    calls: list[Call] = field(default_factory=list)
    member_status: dict[str, OperatingStatus] = field(default_factory=dict)
    fail: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inventory = Inventory.parse({**DESCRIPTION, **self.description}, 'test')

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inventory, name)

    def acting_for(self, credentials: object, project: str | None) -> 'Lab':
        return self

    def acting_as_service(self) -> 'Lab':
        return self

    def octavia(self, region: str | None) -> Any:
        settings = Settings(
            pending_s=self.pending_s,
            flavors=['small'],
            availability_zones=['lb-az'],
            member_status=self.member_status,
            fail=msgspec.convert(self.fail, list[Fault]),
        )
        subnets = {entry.id: entry.cidr for entry in self.inventory.subnets.values()}
        simulator = OctaviaSimulator(
            settings, self.store, subnets, region or REGION, now=self.clock
        )
        return Watched(simulator, self._watched)

    def _watched(self, call: Call) -> Any:
        self.calls.append(call)
        is_nested = call.name == 'create' and 'listeners' in call.arguments[1]
        if is_nested and not self.nested_creation:
            call = replace(call, act=_unsupported)
        return self.around(call)

    def endpoints(self, **more: Any) -> Endpoints:
        return Endpoints(
            self,
            registry(),
            WorkerSettings(
                octavia_settings=lambda: OctaviaSettings(
                    self.batch_members, sleep=self.clock.sleep, clock=self.clock
                ),
                now=lambda: datetime.datetime.fromtimestamp(self.clock(), datetime.UTC),
                clock=self.clock,
                **more,
            ),
        )

    def check(self, request: Json) -> Json:
        return self.endpoints().policy_check(request)

    def attach(self, request: Json) -> Json:
        return self.endpoints().policy_attach(request)

    def detach(self, request: Json) -> Json:
        return self.endpoints().policy_detach(request)

    def attached(self, members: Sequence[Json], **properties: Any) -> tuple[Json, list[Json]]:
        """Attach a policy; return it and the nodes with the new data."""
        policy = load_balancing_policy(**properties)
        reply = self.attach(bind(policy, members))
        assert reply['status'] == 'OK', reply['reason']
        return {**policy, 'data': reply['policy']['data']}, patched(members, reply)

    def foreign(self, *addresses: str, port: int = 80) -> tuple[str, str]:
        """Create the foreign load balancer `front` and a pool with members; return both ids."""
        octavia = OctaviaSimulator(Settings(), self.store, None, REGION, now=self.clock)
        lb = octavia.create('loadbalancer', {'name': 'front', 'vip_address': '10.0.0.200'})['id']
        listener = octavia.create(
            'listener', {'loadbalancer_id': lb, 'protocol': 'HTTP', 'protocol_port': 80}
        )
        pool = octavia.create('pool', {'listener_id': listener['id'], 'protocol': 'HTTP'})['id']
        octavia.create('healthmonitor', {'pool_id': pool, 'type': 'PING'})
        for address in addresses:
            octavia.create_member(
                pool, {'address': address, 'protocol_port': port, 'name': 'foreign', 'weight': 7}
            )
        return lb, pool

    def copied(self) -> 'Lab':
        """Return a lab in the same state, whose calls are not listed yet."""
        lab = replace(self, clock=Clock(), store=MemoryStore(), calls=[])
        lab.clock.now = self.clock.now
        with self.store.changing() as state, lab.store.changing() as copied:
            copied.update(_copied(state))
        return lab

    def existing(self, *addresses: str) -> Json:
        """Create a foreign load balancer; return the properties of a policy that uses it."""
        return {'loadbalancer': 'front', 'pool': {'id': self.foreign(*addresses)[1]}}

    def settled(self) -> Json:
        """Return all objects after the pending changes: kind -> objects."""
        with self.store.changing() as state:
            machine = StateMachine(_copied(state.get(REGION, {})), self.clock() + 10**6, 0)
        objects = {kind: machine.find(kind) for kind in KINDS}
        return {
            **objects,
            'member': [
                member for pool in machine.data['members'].values() for member in pool.values()
            ],
        }

    def change_member(self, address: str, **values: Any) -> None:
        """Change the members at an address, as an operator or a provider does."""
        with self.store.changing() as state:
            for pool in state[REGION]['members'].values():
                for member in pool.values():
                    if member['address'] == address:
                        member.update(values)

    def addresses(self) -> list[str]:
        return sorted(member['address'] for member in self.settled()['member'])

    def is_empty(self) -> bool:
        return not any(self.settled().values())


def _copied(state: Json) -> Json:
    copied: Json = msgspec.json.decode(msgspec.json.encode(state))  # faster than copy.deepcopy
    return copied


def patched(members: Sequence[Json], reply: Json) -> list[Json]:
    return [{**member, **reply['nodes'].get(member['id'], {})} for member in members]


def data_of(members: Sequence[Json]) -> Json:
    return {member['id']: member['data'] for member in members}
