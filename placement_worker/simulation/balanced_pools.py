"""The load balancers of a simulated cluster: their members, and the updates sent to Octavia."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus, Settings
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import Binding, Node
from placement_worker.events.listener import Listener
from placement_worker.events.types import Event, LoadBalancerUpdated
from placement_worker.policies.load_balancing.properties import NAME
from placement_worker.policies.load_balancing.stored import StoredLoadBalancer

IN_ERROR: OperatingStatus = 'ERROR'


class PoolState(Struct, frozen=True):
    """The pool of a load-balancing policy after a step."""

    policy: str
    members: int


class BalancedPools(Listener):
    """Count the updates of load balancers, and look up their members.

    Octavia changes a load balancer at once, and waits take no time.
    """

    def __init__(self) -> None:
        self._updates = 0
        self._clock_s = 0.0
        self._statuses: dict[str, OperatingStatus] = {}
        self.settings = OctaviaSettings(sleep=self._sleep, clock=lambda: self._clock_s, events=self)

    @override
    def handle(self, event: Event) -> None:
        self._updates += isinstance(event, LoadBalancerUpdated)

    def take_updates(self) -> int:
        """Return the number of updates since the last call."""
        updates, self._updates = self._updates, 0
        return updates

    def set_status(self, node_ids: Iterable[str], status: OperatingStatus) -> None:
        """Set the operating status of the members of nodes."""
        self._statuses |= dict.fromkeys(node_ids, status)

    def probed(
        self, nodes: Mapping[str, Node], failed: Iterable[str]
    ) -> dict[str, OperatingStatus]:
        """Return what health monitors find, by address; members of failed nodes are in ERROR.

        A status ends with its node, because a later node may get the address.

        :param nodes: the existing nodes by id.
        """
        kept = ((node_id, one) for node_id, one in self._statuses.items() if node_id in nodes)
        self._statuses = dict(kept)
        found = self._statuses | dict.fromkeys(failed, IN_ERROR)
        return {
            address: status
            for node_id, status in found.items()
            for address in _addresses(nodes[node_id])
        }

    def states(
        self, policies: Sequence[Binding], cloud: Inventory, region: str | None
    ) -> list[PoolState]:
        """Return the pools of the attached policies."""
        pools = [
            (binding.name or binding.id, stored.pool_id)
            for binding in policies
            if (stored := StoredLoadBalancer.of(binding))
        ]
        if not pools:
            return []
        octavia = cloud.changed(load_balancer=Settings()).octavia(region)  # without faults
        return [PoolState(name, len(octavia.members(pool_id))) for name, pool_id in pools]

    def _sleep(self, seconds: float) -> None:
        self._clock_s += seconds


def _addresses(node: Node) -> Iterator[str]:
    """Yield the addresses of a node on all networks."""
    for addresses in (node.details.addresses if node.details else {}).values():
        yield from (address.addr for address in addresses)


def is_load_balancing(binding: Binding) -> bool:
    """Return whether a policy has to be attached before it is checked."""
    return binding.enabled and binding.spec.type == NAME


def without_delays(inventory: Inventory) -> Inventory:
    """Return the cloud with load balancers in memory that change at once."""
    settings = structs.replace(inventory.load_balancer, pending_s=0, state=None)
    return structs.replace(inventory, load_balancer=settings)
