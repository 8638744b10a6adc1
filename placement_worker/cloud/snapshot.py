"""The cloud as one check sees it, and the rules that locate a node.

Zones, regions and servers are requested once, so all policies of the check see the same state.
Placement, deletion and load balancing locate nodes here alone: otherwise one policy would delete
the nodes that another one has counted elsewhere.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from placement_worker.cloud.ports import Cloud, Network, Octavia, OctaviaSettings, Resource, Subnet
from placement_worker.contract.action_data import Location
from placement_worker.contract.model import Cluster, Node, ServerDetails


@dataclass(slots=True)
class Snapshot:
    """The cloud during one check.

    :ivar pool_members: pool id -> its members before the check, for pools with a health floor. All
        load-balancing policies of the check decide from one listing per pool.
    """

    _cloud: Cloud
    _cluster: Cluster
    octavia_settings: OctaviaSettings = field(default_factory=OctaviaSettings)
    pool_members: dict[str, Sequence[Resource]] = field(init=False, default_factory=dict)
    # Not functools.cached_property: before Python 3.12 its lock is shared by all instances, so
    # one slow lookup would block all checks.
    _zones: dict[str | None, Mapping[str, bool]] = field(init=False, default_factory=dict)
    _regions: Collection[str] | None = field(init=False, default=None)
    _home: tuple[str | None] | None = field(init=False, default=None)
    _stated: Mapping[str, Location] | None = field(init=False, default=None)
    _servers: dict[str | None, Mapping[str, ServerDetails]] = field(
        init=False, default_factory=dict
    )

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """Return the result of `Cloud.zones`; no policy can change it for the next one."""
        if region not in self._zones:
            self._zones[region] = MappingProxyType({**self._cloud.zones(region)})
        return self._zones[region]

    @property
    def requested_zones(self) -> Mapping[str | None, Mapping[str, bool]]:
        """The results of `zones` so far; None stands for a home region whose name is unknown."""
        home = self._home[0] if self._home else None
        return {home if name is None else name: zones for name, zones in self._zones.items()}

    @property
    def requested_regions(self) -> Collection[str] | None:
        return self._regions

    @property
    def regions(self) -> Collection[str]:
        if self._regions is None:
            self._regions = self._cloud.regions()
        return self._regions

    @property
    def home_region(self) -> str | None:
        if self._home is None:
            self._home = (self._cloud.home_region,)
        return self._home[0]

    @property
    def load_balancer_region(self) -> str | None:
        """The region of the cluster's load balancers, subnets and networks."""
        return self._default_region or self._cloud.load_balancer_region

    def subnet(self, name_or_id: str) -> Subnet | None:
        return self._cloud.subnet(self._cluster.profile.region, name_or_id)

    def network(self, name_or_id: str) -> Network | None:
        return self._cloud.network(self._cluster.profile.region, name_or_id)

    def octavia(self) -> Octavia:
        return self._cloud.octavia(self._cluster.profile.region)

    def region_of(self, node: Node) -> str | None:
        """Return the region of a node, or None if it is unknown.

        The first source that names a region wins: `data.placement`, the node's own profile, the
        cluster's profile, the configuration (`home_region`).
        """
        return self.named_region_of(node) or self.home_region

    def place_of(self, node: Node) -> Location:
        return self.region_of(node), self.zone_of(node)

    def named_region_of(self, node: Node) -> str | None:
        """Return the region that the request names for the node, or None for the home region."""
        region, _ = stated_place(node)
        return region or self._cluster.profile.region

    def zone_of(self, node: Node) -> str | None:
        """Return the zone of a node, or None if it is unknown.

        The first source that names a zone wins: `data.placement`, the server's details in the
        request, Nova, the profile of the node or else of the cluster.
        """
        _, zone = stated_place(node)
        if zone is None and node.physical_id:
            server = self._unplaced_servers(node).get(node.physical_id)
            zone = server.availability_zone if server else None
        profile = node.profile or self._cluster.profile
        return zone or (without_host(profile.zone) if profile.zone else None)

    def in_region(self, region: str | None, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes of a region; None stands for the home region, whatever its name is."""
        others = [self.named_region_of(node) for node in nodes]
        if others.count(region) == len(others):
            return nodes
        is_home = region in (None, self.home_region)
        here = (None, self.home_region) if is_home else (region,)
        return [node for node, other in zip(nodes, others, strict=True) if other in here]

    def regions_of(self, nodes: Sequence[Node]) -> Counter[str | None]:
        return Counter({name: len(members) for name, members in self.by_region(nodes).items()})

    def zones_of(self, nodes: Sequence[Node]) -> Counter[str | None]:
        return Counter({name: len(members) for name, members in self.by_zone(nodes).items()})

    def by_region(self, nodes: Sequence[Node]) -> dict[str | None, Sequence[Node]]:
        located = self.by_place(nodes, by_zone=False)
        return {region: members for (region, _), members in located.items()}

    def by_zone(self, nodes: Sequence[Node]) -> dict[str | None, Sequence[Node]]:
        located = self.by_place(nodes, by_region=False)
        return {zone: members for (_, zone), members in located.items()}

    def by_place(
        self,
        nodes: Sequence[Node],
        *,
        by_region: bool = True,
        by_zone: bool = True,
        regions: Collection[str] | None = None,
    ) -> dict[Location, list[Node]]:
        """Return members by region and zone, by the rules of `region_of` and `zone_of`.

        The nodes of each place keep their order. None stands for an unknown part, and for a part
        that is not asked for.

        :param regions: those whose nodes are returned; None for all. The zones of others need no
            lookup.
        """
        located: defaultdict[Location, list[Node]] = defaultdict(list)
        stated_places = self._stated_places
        for node in nodes:
            region, zone = stated_places[node.id]
            region = (region or self._default_region) if by_region else None
            if regions is None or region in regions:
                zone = (zone or self.zone_of(node)) if by_zone else None
                located[region, zone].append(node)
        return dict(located)

    @property
    def _stated_places(self) -> Mapping[str, Location]:
        if self._stated is None:
            self._stated = {node.id: stated_place(node) for node in self._cluster.nodes}
        return self._stated

    @property
    def _default_region(self) -> str | None:
        return self._cluster.profile.region or self.home_region

    def _unplaced_servers(self, node: Node) -> Mapping[str, ServerDetails]:
        """Return the servers without a stated zone in the region of a node, in one lookup."""
        region, places = self.named_region_of(node), self._stated_places
        if region not in self._servers:
            self._servers[region] = self.servers_of(
                member
                for member in self._cluster.nodes
                if places[member.id][1] is None and self.named_region_of(member) == region
            )
        return self._servers[region]

    def servers_of(self, nodes: Iterable[Node]) -> Mapping[str, ServerDetails]:
        """Return servers by `physical_id`, from one lookup per region."""
        ids = defaultdict(list)
        for node in nodes:
            if node.physical_id:
                ids[self.named_region_of(node)].append(node.physical_id)
        servers: dict[str, ServerDetails] = {}
        for region, server_ids in ids.items():
            servers.update(self._cloud.servers(region, server_ids))
        return servers


def stated_place(node: Node) -> Location:
    """Return region and zone according to the request, except the zone of a profile.

    A node that was created with ``zone:host`` has both in its placement; only the zone is a place.
    """
    placement = node.data.get('placement')
    region = zone = None
    if isinstance(placement, dict):
        region, zone = placement.get('region_name'), placement.get('zone')
    if not (isinstance(region, str) and region):
        region = node.profile.region if node.profile else None
    if not (isinstance(zone, str) and zone):
        zone = node.details.availability_zone or None if node.details else None
    return region, without_host(zone) if zone else None


def without_host(zone: str) -> str:
    """Return the zone of ``zone:host``, which asks Nova for a host of the zone."""
    return zone.partition(':')[0]


def place_in_words(place: Location) -> str:
    return ' '.join(filter(None, place)) or 'unknown'


def counts_in_words(places: Mapping[Location, int]) -> list[str]:
    """Return the numbers of nodes by place, e.g. "RegionOne az1: 2"."""
    return [
        f'{name}: {nodes}' for name, nodes in sorted((place_in_words(p), places[p]) for p in places)
    ]
