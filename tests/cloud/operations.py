"""Actions of clusters that stop at a known request to Octavia."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from tests.cloud import leftovers
from tests.cloud.clusters import LOAD_BALANCING, Cluster, Running
from tests.cloud.held_requests import HeldRequest, choose
from tests.cloud.parallel import at_once
from tests.cloud.senlin_api import ACTION_S
from tests.cloud.whole_cloud import WholeCloud
from tests.waiting import wait_for


@dataclass(frozen=True)
class Operation:
    """An action of a cluster, and the request to Octavia at which it stops."""

    cluster: Cluster
    name: str
    inputs: dict[str, object]
    held: HeldRequest

    def begin(self) -> Running:
        return self.cluster.begin(self.name, **self.inputs)

    def check_and_delete(self) -> None:
        """Check what is in Octavia; delete the cluster, which must leave nothing there."""
        leftovers.check(self.cluster)
        self.cluster.senlin.delete(self.cluster.target)
        leftovers.check_deleted(self.cluster)


def attach(cloud: WholeCloud, number: int) -> Operation:
    """Attach load balancing to a running cluster."""
    cluster = Cluster(cloud, 2)
    policy = cloud.senlin.create_policy('loadbalance', '1.3', **LOAD_BALANCING)
    held = choose(
        number,
        ('POST', 'lbaas/loadbalancers$'),
        ('GET', f'lbaas/loadbalancers.*{cluster.id}'),
        ('GET', f'lbaas/pools.*{cluster.id}'),
        # the others stop at their requests of this kind, or send none
        ('PUT|POST', 'pools/[^/]*/members'),
    )
    return Operation(cluster, 'policy_attach', {'policy_id': policy, 'enabled': True}, held)


def scale_out(cloud: WholeCloud, number: int) -> Operation:
    """Add two members to a pool."""
    cluster, _, pool = _balanced(cloud, 1)
    held = choose(number, ('PUT|POST', f'pools/{pool}/members'))
    return Operation(cluster, 'scale_out', {'count': 2}, held)


def scale_in(cloud: WholeCloud, number: int) -> Operation:
    """Remove two members from a pool."""
    cluster, _, pool = _balanced(cloud, 3)
    held = choose(number + 1, ('PUT|DELETE', f'pools/{pool}/members'))
    return Operation(cluster, 'scale_in', {'count': 2}, held)


def detach(cloud: WholeCloud, number: int) -> Operation:
    """Delete a load balancer."""
    cluster, policy, _ = _balanced(cloud, 1)
    held = choose(number, ('DELETE', f'loadbalancers/{cluster.load_balancer(policy)}'))
    return Operation(cluster, 'policy_detach', {'policy_id': policy}, held)


# The processes that are killed.
PROCESSES = WORKER, BROKER, ENGINES = ('worker', 'broker', 'engines')
# The name of the background call of `prepare`.
PREPARED = 'prepared'
OPERATIONS: tuple[Callable[[WholeCloud, int], Operation], ...] = (
    scale_out,
    scale_in,
    detach,
    attach,
)


def prepare(cloud: WholeCloud, number: int = 1) -> dict[str, list[Operation]]:
    """Create the clusters for the kill of each process; return the operations.

    The clusters of one process at a time leave processor time to the tests that run meanwhile.
    """
    each = [partial(operation, cloud, number) for operation in OPERATIONS]
    return {process: at_once(each) for process in PROCESSES}


def begin_and_hold(cloud: WholeCloud, operations: Iterable[Operation]) -> list[Running]:
    """Begin operations and return them when each waits for the response to its request.

    The scale-out begins first, because it creates servers before it sends its request.
    """
    for operation in operations:
        operation.held.hold(cloud.octavia)
    first, *others = operations
    begun = [first.begin()]
    wait_for(first.held.reached.is_set, ACTION_S)
    begun += [operation.begin() for operation in others]
    for operation in others:
        wait_for(operation.held.reached.is_set)
    return begun


def release(operations: Iterable[Operation]) -> None:
    """Reset the connections of the requests that are held."""
    for operation in operations:
        operation.held.released.set()


def finish(operations: Iterable[Operation]) -> None:
    """Check and delete the clusters of operations."""
    at_once(operation.check_and_delete for operation in operations)


def _balanced(cloud: WholeCloud, size: int) -> tuple[Cluster, str, str]:
    """Return a cluster with zones and load balancing, its policy, and the id of its pool."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)
    cluster.attach_deletion()
    cluster.do('scale_out', count=size)
    policy = cluster.attach_load_balancing()
    return cluster, policy, cluster.pool(policy)
