"""Actions of clusters that stop at a known request to Octavia."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from tests.cloud import agreement
from tests.cloud.background import at_once
from tests.cloud.clusters import LOAD_BALANCING, Cluster, Running
from tests.cloud.senlin_api import ACTION_S
from tests.cloud.whole_cloud import WholeCloud
from tests.integration.proxy import Exchange, Proxy
from tests.waiting import wait_for


@dataclass
class HeldRequest:
    """The next request of a kind; its client waits for the response until it is killed.

    :ivar method: a regular expression, as `target`.
    :ivar is_executed: whether the service receives the request.
    """

    method: str
    target: str
    is_executed: bool
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def hold(self, proxy: Proxy) -> None:
        """Hold the next such request; `reached` is set after the service has carried it out."""
        proxy.inject(self._wait, f'^({self.method})$', self.target)

    def _wait(self, exchange: Exchange) -> None:
        if self.is_executed:
            exchange.forward()
        self.reached.set()
        exchange.server.wait(self.released)
        exchange.abort()


def choose(number: int, *kinds: tuple[str, str]) -> HeldRequest:
    """Return the request of a kill: the service receives it if the number is odd.

    :param number: of the kill, from 1; two kills in a row are at the same kind of request.
    :param kinds: methods and targets.
    """
    method, target = kinds[(number - 1) // 2 % len(kinds)]
    return HeldRequest(method, target, is_executed=number % 2 == 1)


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
        agreement.check_octavia(self.cluster)
        self.cluster.senlin.delete(self.cluster.target)
        agreement.check_deleted(self.cluster)


def attach(cloud: WholeCloud, number: int) -> Operation:
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
    cluster, _, pool = _balanced(cloud, 1)
    held = choose(number, ('PUT|POST', f'pools/{pool}/members'))
    return Operation(cluster, 'scale_out', {'count': 2}, held)


def scale_in(cloud: WholeCloud, number: int) -> Operation:
    cluster, _, pool = _balanced(cloud, 3)
    held = choose(number + 1, ('PUT|DELETE', f'pools/{pool}/members'))
    return Operation(cluster, 'scale_in', {'count': 2}, held)


def detach(cloud: WholeCloud, number: int) -> Operation:
    cluster, policy, _ = _balanced(cloud, 1)
    held = choose(number, ('DELETE', f'loadbalancers/{cluster.load_balancer(policy)}'))
    return Operation(cluster, 'policy_detach', {'policy_id': policy}, held)


# The processes that are killed.
PROCESSES = WORKER, BROKER, ENGINES = ('worker', 'broker', 'engines')
# The name of the background call of `prepare`.
PREPARED = 'prepared'
OPERATIONS: list[Callable[[WholeCloud, int], Operation]] = [scale_out, scale_in, detach, attach]


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
    for operation in operations:
        operation.held.released.set()


def finish(operations: Iterable[Operation]) -> None:
    at_once(operation.check_and_delete for operation in operations)


def _balanced(cloud: WholeCloud, size: int) -> tuple[Cluster, str, str]:
    """Return a cluster with zones and load balancing, its policy, and the id of its pool."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)
    cluster.attach_deletion()
    cluster.do('scale_out', count=size)
    policy = cluster.attach_load_balancing()
    return cluster, policy, cluster.pool(policy)
