"""A cluster with all policies, which were attached while it ran."""

from collections import Counter
from typing import Any

from typing_extensions import override

from tests.cloud.clusters import Change, Cluster
from tests.cloud.nodes import Json
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
            self.do('resize', adjustment_type='EXACT_CAPACITY', number=size)

    @override
    def change(self, name: str, **inputs: Any) -> Change:
        """Carry out an action, after which Senlin, Nova and Octavia have the same nodes."""
        change = super().change(name, **inputs)
        self.check()
        return change

    def check(self) -> None:
        """Check that Senlin, Nova and Octavia have the same nodes, in the same zones."""
        assert {node.status for node in self.nodes()} <= {'ACTIVE'}
        assert self.planned_zones() == self.zones()
        assert self.members(self.load_balancing) == self.addresses()

    def is_balanced(self) -> bool:
        """Return whether each zone has the share of its weight, rounded up or down."""
        found = self.zones()
        shares = {
            zone: found.total() * weight / sum(WEIGHTS.values()) for zone, weight in WEIGHTS.items()
        }
        return all(abs(found[zone] - share) < 1 for zone, share in shares.items())


def recorded_zones(decision: Json) -> Counter[str]:
    """Return the zones that a worker recorded for new nodes."""
    return Counter(entry['zone'] for entry in decision['placement']['placements'])
