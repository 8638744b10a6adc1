"""A process is killed while clusters carry out actions, each at a known request to Octavia."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import pytest

from tests.cloud import agreement, leftovers
from tests.cloud.clusters import LOAD_BALANCING, Cluster, Running
from tests.cloud.held_requests import HeldRequest
from tests.cloud.parallel import at_once
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


def attach(cloud: WholeCloud) -> Operation:
    """Attach load balancing to a running cluster."""
    cluster = Cluster(cloud, 2)
    policy = cloud.senlin.create_policy('loadbalance', '1.3', **LOAD_BALANCING)
    held = HeldRequest('POST', 'lbaas/loadbalancers$', is_executed=True)
    return Operation(cluster, 'policy_attach', {'policy_id': policy, 'enabled': True}, held)


def scale_out(cloud: WholeCloud) -> Operation:
    """Add two members to a pool."""
    cluster, _, pool = balanced(cloud, 1)
    held = HeldRequest('PUT|POST', f'pools/{pool}/members', is_executed=True)
    return Operation(cluster, 'scale_out', {'count': 2}, held)


def scale_in(cloud: WholeCloud) -> Operation:
    """Remove two members from a pool."""
    cluster, _, pool = balanced(cloud, 3)
    held = HeldRequest('PUT|DELETE', f'pools/{pool}/members', is_executed=False)
    return Operation(cluster, 'scale_in', {'count': 2}, held)


def detach(cloud: WholeCloud) -> Operation:
    """Delete a load balancer."""
    cluster, policy, _ = balanced(cloud, 1)
    target = f'loadbalancers/{cluster.load_balancer(policy)}'
    held = HeldRequest('DELETE', target, is_executed=True)
    return Operation(cluster, 'policy_detach', {'policy_id': policy}, held)


def balanced(cloud: WholeCloud, size: int) -> tuple[Cluster, str, str]:
    """Return a cluster with zones and load balancing, its policy, and the id of its pool."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)
    cluster.attach_deletion()
    cluster.do('scale_out', count=size)
    policy = cluster.attach_load_balancing()
    return cluster, policy, cluster.pool(policy)


OPERATIONS = (scale_out, attach, scale_in, detach)


@pytest.fixture
def operations(cloud: WholeCloud) -> list[Operation]:
    """One operation of each kind, with a cluster of its own."""
    return at_once(partial(prepare, cloud) for prepare in OPERATIONS)


def test_worker_killed_during_actions_loses_none(
    cloud: WholeCloud, operations: list[Operation]
) -> None:
    """Another worker completes what a killed worker has begun, and leaves nothing behind."""
    cloud.run_only('worker1')

    begun = begin_and_hold(cloud, operations)
    cloud.run_only('worker2')
    changes = at_once(running.succeed for running in begun)

    assert [len(change.added) for change in changes] == [2, 0, 0, 0]
    assert [len(change.removed) for change in changes] == [0, 0, 2, 0]
    release(operations)
    for operation in operations:
        leftovers.check(operation.cluster)
    at_once(partial(delete, operation.cluster) for operation in operations)


def test_engines_killed_during_actions_leave_nothing_after_repetition(
    cloud: WholeCloud, operations: list[Operation]
) -> None:
    """Actions of killed engines fail, and the same actions reach the wanted state afterwards."""
    begun = begin_and_hold(cloud, operations)
    sizes = [len(operation.cluster.nodes()) for operation in operations]
    for engine in cloud.senlin_programs.engines.values():
        engine.kill()
    release(operations)
    cloud.senlin_programs.restart_engines(cloud.senlin_admin, with_plugin=True)
    actions = [cloud.senlin.wait(running.action_id) for running in begun]
    adding, attaching, removing, detaching = operations
    at_once(repeated.begin().succeed for repeated in (attaching, removing, detaching))

    assert {action['status_reason'] for action in actions} == {'Engine failure'}
    assert sizes == [3, 2, 3, 1]
    assert [len(operation.cluster.nodes()) for operation in operations] == [3, 2, 1, 1]
    wait_for(lambda: has_all_members(adding.cluster))
    for operation in operations:
        agreement.check_nodes(operation.cluster)
        leftovers.check(operation.cluster)
    at_once(partial(delete, operation.cluster) for operation in operations)


def begin_and_hold(cloud: WholeCloud, operations: list[Operation]) -> list[Running]:
    """Begin operations and return them when each waits for the response to its request.

    Workers wait for a minute. The scale-out begins first, because it creates servers before it
    sends its request.
    """
    for operation in operations:
        operation.held.hold(cloud.octavia)
    first, *others = operations
    begun = [first.begin()]
    wait_for(first.held.reached.is_set)
    begun += [operation.begin() for operation in others]
    for operation in others:
        wait_for(operation.held.reached.is_set)
    return begun


def release(operations: Iterable[Operation]) -> None:
    """Reset the connections of the requests that are held."""
    for operation in operations:
        operation.held.released.set()


def has_all_members(cluster: Cluster) -> bool:
    """Return whether each server is a member of the pool of the cluster."""
    [policy] = [
        policy
        for policy, type_ in cluster.enabled_policies().items()
        if type_.startswith('senlin.policy.loadbalance')
    ]
    return cluster.members(policy) == cluster.addresses()


def delete(cluster: Cluster) -> None:
    """Delete a cluster; nothing of it must be left in Octavia."""
    cluster.senlin.delete(cluster.target)
    leftovers.check_deleted(cluster)
