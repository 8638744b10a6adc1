"""A cached view of the cloud for one check.

Each value is requested once, so all policies of the check see the same state.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from placement_worker.cloud.ports import (
    Cloud,
    Network,
    Octavia,
    OctaviaSettings,
    Resource,
    Subnet,
)
from placement_worker.cloud.stated_places import Location, by_stated_place, stated_place
from placement_worker.contract.cluster import Cluster, Node, ServerDetails


@dataclass(slots=True)
class Snapshot:
    """The cloud during one check, and the rules that locate a node.

    Policies use `region_of` and `zone_of`, or the methods that count nodes by the same rules.
    Therefore placement, deletion and load balancing agree on the location of each node.

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
    _members: Mapping[Location, Sequence[Node]] | None = field(init=False, default=None)
    _zones_of_members: dict[Location, Mapping[str | None, Sequence[Node]]] = field(
        init=False, default_factory=dict
    )
    _servers: Mapping[str, ServerDetails] | None = field(init=False, default=None)

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
        """The result of `regions` if it was requested, else None."""
        return self._regions

    @property
    def regions(self) -> Collection[str]:
        """The result of `Cloud.regions`."""
        if self._regions is None:
            self._regions = self._cloud.regions()
        return self._regions

    @property
    def home_region(self) -> str | None:
        """The value of `Cloud.home_region`."""
        if self._home is None:
            self._home = (self._cloud.home_region,)
        return self._home[0]

    @property
    def load_balancer_region(self) -> str | None:
        """The region of a load balancer if no profile names a region."""
        return self.home_region or self._cloud.load_balancer_region

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """Return the result of `Cloud.subnet`, which is not cached here."""
        return self._cloud.subnet(region, name_or_id)

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """Return the result of `Cloud.network`, which is not cached here."""
        return self._cloud.network(region, name_or_id)

    def octavia(self, region: str | None) -> Octavia:
        """Return the result of `Cloud.octavia`, which is not cached here."""
        return self._cloud.octavia(region)

    def region_of(self, node: Node) -> str | None:
        """Return the region of a node, or None if it is unknown.

        The first source that names a region wins: `data.placement`, the node's own profile, the
        cluster's profile, the configuration (`home_region`).
        """
        return self.named_region_of(node) or self.home_region

    def region_of_each(self, nodes: Sequence[Node]) -> list[str | None]:
        """Return the regions of nodes, located by the rules of `region_of`."""
        regions = [stated_place(node)[0] for node in nodes]
        default = self._default_region if None in regions else None
        return [region or default for region in regions]

    def place_of(self, node: Node) -> Location:
        """Return the region and the zone of a node, by the rules of `region_of` and `zone_of`."""
        region, zone = stated_place(node)
        return region or self._default_region, zone or self._unstated_zone_of(node)

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
        return zone or self._unstated_zone_of(node)

    def _unstated_zone_of(self, node: Node) -> str | None:
        """Return the zone of a node that the request does not name, or None if it is unknown."""
        server = self._unplaced_servers.get(node.physical_id) if node.physical_id else None
        zone = server.availability_zone if server else None
        return zone or (node.profile or self._cluster.profile).zone

    def in_region(self, region: str | None, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes of a region; None stands for the home region, whatever its name is."""
        others = [self.named_region_of(node) for node in nodes]
        if others.count(region) == len(others):
            return nodes
        is_home = region in (None, self.home_region)
        here = (None, self.home_region) if is_home else (region,)
        return [node for node, other in zip(nodes, others, strict=True) if other in here]

    def regions_of(self, nodes: Sequence[Node]) -> Counter[str | None]:
        """Return the number of nodes per region."""
        return Counter({name: len(members) for name, members in self.by_region(nodes).items()})

    def zones_of(self, nodes: Sequence[Node]) -> Counter[str | None]:
        """Return the number of nodes per zone, in whatever region."""
        return Counter({name: len(members) for name, members in self.by_zone(nodes).items()})

    def by_region(self, nodes: Sequence[Node]) -> dict[str | None, Sequence[Node]]:
        """Return nodes by region, located by the rules of `region_of`."""
        located = self.by_place(nodes, by_zone=False)
        return {region: members for (region, _), members in located.items()}

    def by_zone(self, nodes: Sequence[Node]) -> dict[str | None, Sequence[Node]]:
        """Return nodes by zone, in whatever region, located by the rules of `zone_of`."""
        located = self.by_place(nodes, by_region=False)
        return {zone: members for (_, zone), members in located.items()}

    def by_place(
        self,
        nodes: Sequence[Node],
        *,
        by_region: bool = True,
        by_zone: bool = True,
        regions: Collection[str] | None = None,
    ) -> dict[Location, Sequence[Node]]:
        """Return nodes by region and zone, by the rules of `region_of` and `zone_of`.

        None stands for an unknown part, and for a part that is not asked for.

        :param regions: those whose nodes are returned; None for all. The zones of others need no
            lookup.
        """
        groups: dict[Location, list[Sequence[Node]]] = defaultdict(list)
        for place, located in self._by_stated_place(nodes).items():
            region = (place[0] or self._default_region) if by_region else None
            if regions is not None and region not in regions:
                continue
            zones = self._by_zone(place, located) if by_zone else {None: located}
            for zone, members in zones.items():
                groups[region, zone].append(members)
        return {
            one: parts[0] if len(parts) == 1 else [*chain(*parts)] for one, parts in groups.items()
        }

    @property
    def _default_region(self) -> str | None:
        """The region of nodes whose data and own profile name no region."""
        return self._cluster.profile.region or self.home_region

    def _by_zone(
        self, place: Location, located: Sequence[Node]
    ) -> Mapping[str | None, Sequence[Node]]:
        """Return the nodes of each zone among those of one stated place.

        Those of the cluster are cached because several policies need them.
        """
        _, stated = place
        if stated:
            return {stated: located}
        if place in self._zones_of_members and self._is_of_members(place, located):
            return self._zones_of_members[place]
        found: dict[str | None, list[Node]] = defaultdict(list)
        for node in located:
            found[self.zone_of(node)].append(node)
        if self._is_of_members(place, located):
            self._zones_of_members[place] = found
        return found

    def _is_of_members(self, place: Location, located: Sequence[Node]) -> bool:
        """Return whether these are all members of the cluster in a stated place."""
        return self._members is not None and self._members.get(place) is located

    def _by_stated_place(self, nodes: Sequence[Node]) -> Mapping[Location, Sequence[Node]]:
        """Return nodes by location in the request.

        Those of the cluster are cached because several policies need them.
        """
        if nodes is not self._cluster.nodes:
            return by_stated_place(nodes)
        if self._members is None:
            self._members = by_stated_place(nodes)
        return self._members

    @property
    def _unplaced_servers(self) -> Mapping[str, ServerDetails]:
        """The servers of all cluster members whose zone the request does not name."""
        if self._servers is None:
            nodes = self._cluster.nodes
            members = self._by_stated_place(nodes)
            unplaced = {node.id for place in members if not place[1] for node in members[place]}
            self._servers = self.servers_of([node for node in nodes if node.id in unplaced])
        return self._servers

    def servers_of(self, nodes: Iterable[Node]) -> Mapping[str, ServerDetails]:
        """Return zone and addresses of the nodes' servers by `physical_id`.

        One lookup per region covers all nodes.
        """
        ids = defaultdict(list)
        for node in nodes:
            if node.physical_id:
                ids[self.named_region_of(node)].append(node.physical_id)
        found: dict[str, ServerDetails] = {}
        for region, server_ids in ids.items():
            found.update(self._cloud.servers(region, server_ids))
        return found
