"""The preexisting load balancer and pool that the properties of a policy name."""

from collections.abc import Sequence

from placement_worker.cloud.ports import ApiError, Resource
from placement_worker.errors import InvalidInput, LoadBalancerFailed
from placement_worker.octavia import load_balancers
from placement_worker.octavia.load_balancers import LoadBalancer
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties


def find(updater: Updater, properties: LoadBalancingProperties) -> LoadBalancer:
    """Return the load balancer with its pool.

    :raises InvalidInput: an object does not exist, or the pool belongs to another load balancer.
    :raises LoadBalancerFailed: Octavia refused a lookup.
    """
    name, pool_id = properties.loadbalancer or '', properties.pool.id or ''
    monitor = properties.health_monitor.id if properties.health_monitor else None
    try:
        balancer = load_balancers.find_load_balancer(updater, name)
        pool = load_balancers.find_object(updater, 'pool', pool_id)
        if (
            monitor is not None
            and load_balancers.find_object(updater, 'healthmonitor', monitor) is None
        ):
            raise InvalidInput(f'The cloud has no health monitor {monitor}.')
    except ApiError as exc:
        raise LoadBalancerFailed(cause(exc)) from exc
    if balancer is None:
        raise InvalidInput(f'The cloud has no load balancer {name}.')
    if pool is None or balancer['id'] not in _load_balancers(pool):
        raise InvalidInput(f'Load balancer {name} has no pool {pool_id}.')
    listener = next((one['id'] for one in pool.get('listeners') or ()), None)
    return LoadBalancer(balancer['id'], listener, pool_id, monitor, balancer.get('vip_address'))


def remove_members(
    updater: Updater, properties: LoadBalancingProperties, tags: Sequence[str]
) -> None:
    """Remove the members that the policy added.

    :raises Rejected: a member is still present.
    :raises ApiError: Octavia refused.
    """
    pool_id = properties.pool.id or ''
    pool = load_balancers.find_object(updater, 'pool', pool_id)
    for lb_id in _load_balancers(pool) if pool else ():
        Pool(updater, lb_id, pool_id, tags).clear()


def _load_balancers(pool: Resource) -> list[str]:
    return [parent['id'] for parent in pool.get('loadbalancers') or ()]
