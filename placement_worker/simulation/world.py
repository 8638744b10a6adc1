"""The world of a simulation: a cluster, its cloud, its load balancers, and cordons of operators.

Nothing here decides anything, and nothing depends on the time of day or on an unseeded choice: two
runs of a scenario must give the same report, byte for byte.
"""

import datetime
import ipaddress
import math
import random
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from msgspec import Struct, structs
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory, Region
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus, Settings
from placement_worker.cloud.ports import Cloud, Clouds, OctaviaSettings
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import (
    Address,
    Binding,
    Cluster,
    ClusterPatch,
    Credentials,
    Data,
    Node,
    NodeMetadata,
    NodePatch,
    Profile,
    ProfileContext,
    ProfileProperties,
    ServerDetails,
)
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.events.types import Event, Listener, LoadBalancerUpdated
from placement_worker.planning import victims
from placement_worker.planning.places import Cordon, CordonedPlace, cordons_in_force
from placement_worker.policies.load_balancing.attached_pool import StoredLoadBalancer
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement
from placement_worker.simulation.scenario import Cordoning, Protecting, Scenario, SomeNodes

TICK = datetime.timedelta(minutes=1)  # the simulated time of a step
_FAILED: OperatingStatus = 'ERROR'  # the status of a failed node, and of its members
_NO_ROOM = 'No valid host was found. There are not enough hosts available.'
_DEFAULT_CIDR = {4: '10.0.0.0/8', 6: 'fd00::/64'}
_RESERVED = 10  # the first addresses of a subnet: gateway, DHCP, load balancers


class PoolState(Struct, frozen=True):
    policy: str
    members: int


class World:
    """One cluster under one set of policies at a simulated time."""

    def __init__(self, scenario: Scenario, policies: Sequence[Binding]) -> None:
        self.cloud = ChangingCloud(scenario.inventory)
        self.policies = policies
        self.nodes = ClusterNodes(scenario.cluster.name, scenario.inventory, scenario.start)
        self.now = scenario.start.astimezone(datetime.UTC)
        self.pools = BalancedPools()
        self._described = scenario.cluster
        self._cluster_data: Data = {}
        self._cordons: list[Cordon] = []
        for start in scenario.cluster.nodes:
            for _ in range(start.count):
                self.create_node(placement_in(start.zone, start.region), start.data)

    @property
    def cluster(self) -> Cluster:
        described = self._described
        return Cluster(
            id='simulated',
            profile=profile_in(None, described.region),
            nodes=list(self.nodes.by_id.values()),
            name=described.name,
            min_size=described.min_size,
            max_size=described.max_size,
            desired_capacity=len(self.nodes.by_id),
            data=self._cluster_data,
        )

    def begin_step(self) -> None:
        self.now += TICK
        self.pools.updates = 0

    def store(self, cluster: ClusterPatch | None, nodes: Mapping[str, NodePatch]) -> None:
        if cluster:
            self._cluster_data = cluster.data
        for node_id in nodes.keys() & self.nodes.by_id.keys():  # not that of a node to create
            self.nodes.change([node_id], data=nodes[node_id].data)

    def create_node(self, placement: Mapping[str, str], data: Mapping[str, Any]) -> str:
        """Create a node, in ERROR if its place has no room, and return its id."""
        region = placement.get('region_name') or self._described.region
        has_room = self.cloud.has_room(region, placement.get('zone'))
        if placement:
            data = {**data, 'placement': dict(placement)}
        return self.nodes.create(data, self.now, has_room).id

    def fail(self, which: SomeNodes, seed: str) -> int:
        chosen = self._some(which, seed, except_ids=self.nodes.failed)
        self.nodes.change(chosen, status=_FAILED)
        return len(chosen)

    @property
    def protected(self) -> Collection[str]:
        members = victims.Members([*self.nodes.by_id.values()])
        return victims.protections_in_force(members.marked, {}, self.now)

    def protect(self, which: Protecting, seed: str) -> int:
        until = which.minutes and (self.now + datetime.timedelta(minutes=which.minutes)).isoformat()
        chosen = self._some(which, seed, except_ids=self.protected)
        metadata = NodeMetadata({'until': until, 'reason': which.reason})
        self.nodes.change(chosen, metadata=metadata)
        return len(chosen)

    def _some(self, which: SomeNodes, seed: str, except_ids: Collection[str]) -> list[str]:
        snapshot = Snapshot(self.cloud.inventory, self.cluster)
        excepted = set(except_ids)
        eligible = [
            node.id
            for node in self.nodes.by_id.values()
            if node.id not in excepted
            and which.zone in (None, snapshot.zone_of(node))
            and which.region in (None, snapshot.region_of(node))
        ]
        return _sample(eligible, which.count, f'{seed}/{which.seed}')

    def pick(self, count: int | str, seed: str) -> list[str]:
        return _sample(sorted(self.nodes.by_id), count, seed)

    @property
    def cordons(self) -> Sequence[Cordon]:
        """The cordons in force now, by place."""
        return sorted(self.cordons_at(self.now), key=attrgetter('place'))

    def cordons_at(self, now: datetime.datetime) -> Sequence[Cordon]:
        return cordons_in_force(self._cordons, now)

    def cordon(self, which: Cordoning) -> None:
        """Cordon a place from now on; a cordon of the same place is replaced."""
        self.uncordon(which)
        added = Cordon(
            zone=which.zone,
            region=which.region,
            until=self.now + datetime.timedelta(minutes=which.minutes),
            reason=which.reason,
            evacuate=which.evacuate,
        )
        self._cordons.append(added)

    def uncordon(self, place: CordonedPlace) -> None:
        self._cordons = [cordon for cordon in self.cordons if cordon.key != place.key]

    @property
    def balances_load(self) -> bool:
        return any(map(is_load_balancing, self.policies))

    def probe_members(self) -> None:
        """Let the health monitors of the pools see the failed nodes."""
        if self.balances_load:
            self.cloud.set_member_statuses(self.pools.probed(self.nodes.by_id))

    @property
    def pool_states(self) -> list[PoolState]:
        pools = [
            (binding.name or binding.id, stored.pool_id)
            for binding in self.policies
            if (stored := StoredLoadBalancer.in_binding(binding))
        ]
        if not pools:
            return []
        faultless = self.cloud.inventory.changed(load_balancer=Settings())
        octavia = faultless.octavia(self._described.region)
        return [PoolState(name, len(octavia.members(pool_id))) for name, pool_id in pools]

    def set_property(self, key: str, values: Mapping[str, int]) -> None:
        self.policies = [
            _with_property(binding, key, values)
            if binding.spec.type in (ZonePlacement.name, RegionPlacement.name)
            else binding
            for binding in self.policies
        ]


def placement_in(zone: str | None, region: str | None) -> dict[str, str]:
    return {key: name for key, name in (('region_name', region), ('zone', zone)) if name}


def profile_in(zone: str | None, region: str | None) -> Profile:
    context = ProfileContext(region) if region else None
    return Profile('os.nova.server-1.0', properties=ProfileProperties(zone, context))


def is_load_balancing(binding: Binding) -> bool:
    return binding.enabled and binding.spec.type == LOAD_BALANCING


def _with_property(binding: Binding, key: str, values: Mapping[str, int]) -> Binding:
    changed = {
        name: [
            {**place, key: values[place['name']]} if place['name'] in values else place
            for place in places
        ]
        for name, places in binding.spec.properties.items()
        if name in ('zones', 'regions')
    }
    properties = {**binding.spec.properties, **changed}
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))


def _sample(ids: Sequence[str], count: int | str, seed: str) -> list[str]:
    """Return a number of ids, or a percentage, rounded to the nearest number but at least 1."""
    if isinstance(count, str):
        percent = float(count.rstrip('% '))
        count = max(1 if percent else 0, math.floor(len(ids) * percent / 100 + 0.5))
    return random.Random(seed).sample(ids, min(count, len(ids)))  # noqa: S311


class ClusterNodes:
    """The nodes in the order of their creation; each has an address on each network."""

    def __init__(self, cluster_name: str, inventory: Inventory, start: datetime.datetime) -> None:
        self.by_id: dict[str, Node] = {}
        self._cluster_name = cluster_name
        self._subnets = {
            subnet.network: _Subnet(subnet.cidr or _DEFAULT_CIDR[subnet.ip_version])
            for subnet in inventory.subnets.values()
        }
        self._start = start
        self._serial = 0

    @property
    def failed(self) -> list[str]:
        return [node.id for node in self.by_id.values() if node.status == _FAILED]

    def create(self, data: Mapping[str, Any], now: datetime.datetime, has_room: bool) -> Node:
        """Create a node; without room for it in the cloud, it is in ERROR and has no server."""
        self._serial += 1
        node = Node(
            id=f'n{self._serial}',
            name=f'{self._cluster_name}-{self._serial}',
            index=self._serial,
            profile_created_at=self._start,
            data=dict(data),
            updated_at=now,
        )
        if has_room:
            taken = {network: subnet.take() for network, subnet in self._subnets.items()}
            details = ServerDetails(addresses=taken) if taken else None
            node = structs.replace(node, status='ACTIVE', created_at=now, details=details)
        else:
            node = structs.replace(node, status=_FAILED, status_reason=_NO_ROOM)
        self.by_id[node.id] = node
        return node

    def delete(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            details = self.by_id.pop(node_id).details
            for network, addresses in (details.addresses if details else {}).items():
                self._subnets[network].released.extend(addresses)

    def change(self, node_ids: Iterable[str], **fields: Any) -> None:
        for node_id in node_ids:
            self.by_id[node_id] = structs.replace(self.by_id[node_id], **fields)


class _Subnet:
    """Released addresses are used again only when the subnet has no other ones."""

    def __init__(self, cidr: str) -> None:
        self._unused = islice(ipaddress.ip_network(cidr).hosts(), _RESERVED, None)
        self.released: deque[Address] = deque()

    def take(self) -> list[Address]:
        unused = next(self._unused, None)
        if unused is not None:
            return [Address(str(unused), unused.version)]
        return [self.released.popleft()] if self.released else []


class BalancedPools(Listener):
    """The load balancers of the cluster. Octavia changes them at once, and waits take no time.

    :ivar updates: the number of updates that the step has sent to Octavia.
    """

    def __init__(self) -> None:
        self.updates = 0
        self._clock_s = 0.0
        self._statuses: dict[str, OperatingStatus] = {}
        self.settings = OctaviaSettings(sleep=self._sleep, clock=lambda: self._clock_s, events=self)

    @override
    def handle(self, event: Event) -> None:
        self.updates += isinstance(event, LoadBalancerUpdated)

    def set_status(self, node_ids: Iterable[str], status: OperatingStatus) -> None:
        self._statuses |= dict.fromkeys(node_ids, status)

    def probed(self, nodes: Mapping[str, Node]) -> dict[str, OperatingStatus]:
        """Return what health monitors find, by address; members of failed nodes are in ERROR.

        A status ends with its node, because a later node may get the address.
        """
        self._statuses = {key: status for key, status in self._statuses.items() if key in nodes}
        failed = (node.id for node in nodes.values() if node.status == _FAILED)
        statuses = self._statuses | dict.fromkeys(failed, _FAILED)
        return {
            address: status
            for node_id, status in statuses.items()
            for address in _addresses(nodes[node_id])
        }

    def _sleep(self, seconds: float) -> None:
        self._clock_s += seconds


def _addresses(node: Node) -> Iterator[str]:
    for addresses in (node.details.addresses if node.details else {}).values():
        yield from (address.addr for address in addresses)


class ChangingCloud(Clouds):
    """The embedded cloud: zones, regions and capacity are lost and come back, as they were before.

    Its load balancers are in memory and change at once.
    """

    def __init__(self, inventory: Inventory) -> None:
        settings = structs.replace(inventory.load_balancer, pending_s=0, state=None)
        self.inventory = structs.replace(inventory, load_balancer=settings)
        self._whole = self.inventory  # with the lost regions
        self._lost_regions: set[str] = set()
        self._exhausted: set[str] = set()
        self._ever_available = _available(inventory)

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        return self.inventory

    @override
    def acting_as_service(self) -> Cloud:
        return self.inventory

    @property
    def outages(self) -> list[str]:
        """The zones and regions that are unavailable now but were before, and exhausted zones."""
        lost = self._lost_regions | (self._ever_available - _available(self._whole))
        return sorted(lost | {f'{zone} (no capacity)' for zone in self._exhausted})

    def exhaust(self, zone: str) -> None:
        self._exhausted.add(zone)

    def has_room(self, region: str | None, zone: str | None) -> bool:
        """Return whether a zone has room for a new node; no zone stands for any zone."""
        return self._exhausted.isdisjoint({zone, f'{region}/{zone}'})

    def set_zone(self, name: str, available: bool) -> None:
        """Set whether Nova reports `az1` of all regions, or `RegionOne/az1`, as available.

        A zone that comes back has capacity again.
        """
        self._exhausted -= {name} if available else set()
        whole = self._whole
        regions = {
            key: Region(
                region.zones and _with_zone(region.zones, name.removeprefix(f'{key}/'), available)
            )
            for key, region in whole.described_regions.items()
        }
        zones = _with_zone(whole.zone_list, name, available)
        self._change_to(whole.changed(zone_list=zones, region_map=regions))

    def set_region(self, name: str, known: bool) -> None:
        self._lost_regions = self._lost_regions - {name} if known else self._lost_regions | {name}
        self._change_to(self._whole)

    def set_member_statuses(self, by_address: Mapping[str, OperatingStatus]) -> None:
        """Set what the health monitors of pools find; other members are ONLINE."""
        settings = structs.replace(self._whole.load_balancer, member_status=dict(by_address))
        self._change_to(self._whole.changed(load_balancer=settings))

    def _change_to(self, whole: Inventory) -> None:
        self._whole = whole
        self._ever_available |= _available(whole)
        described = whole.described_regions
        regions = {name: described[name] for name in described if name not in self._lost_regions}
        # A cloud without regions would have its zones in any region.
        zones = {} if described and not regions else whole.zone_list
        self.inventory = whole.changed(zone_list=zones, region_map=regions)


def _available(inventory: Inventory) -> set[str]:
    """Return the names of the available zones; zones of one region include its name."""
    of_regions = {
        f'{name}/{zone}': available
        for name, region in inventory.described_regions.items()
        for zone, available in (region.zones or {}).items()
    }
    zones = {**inventory.zone_list, **of_regions}
    return {zone for zone, available in zones.items() if available}


def _with_zone(zones: dict[str, bool], zone: str, available: bool) -> dict[str, bool]:
    return {**zones, zone: available} if zone in zones else zones


def without_evacuated(inventory: Inventory, cordons: Sequence[Cordon]) -> Inventory:
    """Return a cloud whose evacuated regions are unknown, and evacuated zones unavailable."""
    evacuating = [cordon for cordon in cordons if cordon.evacuate]
    if not evacuating:
        return inventory
    shared = inventory.zone_list
    opened = {
        name: Region(_open(shared if region.zones is None else region.zones, name, evacuating))
        for name, region in inventory.described_regions.items()
        if not any(cordon.covers(name, None) for cordon in evacuating)
    }
    zones = _open(shared, inventory.home_region, evacuating)
    return inventory.changed(zone_list=zones, region_map=opened)


def _open(zones: Mapping[str, bool], region: str | None, cordons: list[Cordon]) -> dict[str, bool]:
    return {
        name: is_available and not any(cordon.covers(region, name) for cordon in cordons)
        for name, is_available in zones.items()
    }
