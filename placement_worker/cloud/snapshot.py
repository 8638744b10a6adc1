"""What the cloud answered during one check: each question is asked once, and every policy sees the same."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from placement_worker.cloud import Cloud, Network, Subnet
from placement_worker.cloud.lbaas import Octavia
from placement_worker.model import Cluster, Node, ServerDetails


class Snapshot:
    """The cloud of one check; also the one place that says in which zone and region a node is."""

    def __init__(self, cloud: Cloud, cluster: Cluster) -> None:
        self._cloud = cloud
        self._cluster = cluster
        self._zones: dict[str | None, Mapping[str, bool]] = {}

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """As `Cloud.zones`."""
        if region not in self._zones:
            self._zones[region] = self._cloud.zones(region)
        return self._zones[region]

    @cached_property
    def regions(self) -> Collection[str]:
        """As `Cloud.regions`."""
        return self._cloud.regions()

    @property
    def home_region(self) -> str | None:
        """As `Cloud.home_region`."""
        return self._cloud.home_region

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """As `Cloud.subnet`."""
        return self._cloud.subnet(region, name_or_id)

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """As `Cloud.network`."""
        return self._cloud.network(region, name_or_id)

    def octavia(self, region: str | None) -> Octavia:
        """As `Cloud.octavia`."""
        return self._cloud.octavia(region)

    def region_of(self, node: Node) -> str | None:
        """The region that the node was placed in."""
        return _placed(node, 'region_name')

    def zone_of(self, node: Node) -> str | None:
        """The zone that the node was placed in, else the one that it is said to be in, else what Nova says."""
        stated = _stated_zone(node)
        if stated or not node.physical_id:
            return stated
        server = self._unplaced_servers.get(node.physical_id)
        return (server.availability_zone or None) if server else None

    @cached_property
    def _unplaced_servers(self) -> Mapping[str, ServerDetails]:
        """The servers of all nodes of the cluster whose zone the request does not say."""
        return self.servers_of([node for node in self._cluster.nodes if not _stated_zone(node)])

    def servers_of(self, nodes: Iterable[Node]) -> Mapping[str, ServerDetails]:
        """Zone and addresses of the servers of nodes, by `physical_id`; asked in bulk, region by region."""
        ids = defaultdict(list)
        for node in nodes:
            if node.physical_id:
                ids[self.region_of(node) or self._cluster.profile.region].append(node.physical_id)
        found: dict[str, ServerDetails] = {}
        for region, server_ids in ids.items():
            found.update(self._cloud.servers(region, server_ids))
        return found


def _stated_zone(node: Node) -> str | None:
    """The zone that the request itself says."""
    return _placed(node, 'zone') or (node.details.availability_zone or None if node.details else None)


def _placed(node: Node, key: str) -> str | None:
    placement = node.data.get('placement')
    place = placement.get(key) if isinstance(placement, dict) else None
    return place if isinstance(place, str) and place else None
