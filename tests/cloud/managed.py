"""A cluster with all policies, which were attached while it ran."""

from tests.cloud.clusters import Cluster
from tests.cloud.whole_cloud import WholeCloud

WEIGHTS = {'az1': 100, 'az2': 200, 'az3': 100}
MAX_SIZE = 6


class ManagedCluster(Cluster):
    """A cluster that spreads its nodes over zones, deletes the oldest, and has a load balancer."""

    def __init__(self, cloud: WholeCloud) -> None:
        super().__init__(cloud, 3, max_size=MAX_SIZE)
        self.zone_placement = self.attach_zones(**WEIGHTS)
        self.attach('region_placement', regions=[{'name': 'RegionOne'}])
        self.attach('deletion', '1.1', criteria='OLDEST_FIRST')
        self.load_balancing = self.attach_load_balancing()

    def set_size(self, size: int) -> None:
        """Resize the cluster if it has another size."""
        if len(self.nodes()) != size:
            self.change('resize', adjustment_type='EXACT_CAPACITY', number=size)

    def at_least(self, size: int) -> None:
        """Resize the cluster if it is smaller."""
        self.set_size(max(size, len(self.nodes())))

    def at_most(self, size: int) -> None:
        """Resize the cluster if it is larger."""
        self.set_size(min(size, len(self.nodes())))

    def is_active(self) -> bool:
        """Return whether all nodes are active, in planned zones."""
        return all(node.status == 'ACTIVE' and node.placement for node in self.nodes())

    def is_balanced(self) -> bool:
        """Return whether each zone has the share of its weight, rounded up or down."""
        found = self.zones()
        shares = {
            zone: found.total() * weight / sum(WEIGHTS.values()) for zone, weight in WEIGHTS.items()
        }
        return all(abs(found[zone] - share) < 1 for zone, share in shares.items())
