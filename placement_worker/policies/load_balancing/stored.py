"""The data that attaching a load balancer stores in the binding and in the cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Binding, BindRequest, Cluster, ClusterPatch
from placement_worker.contract.values import mapping_or_empty, text_or_none
from placement_worker.errors import LoadBalancerFailed
from placement_worker.octavia import load_balancers
from placement_worker.octavia.load_balancers import LoadBalancer
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties

STORED = 'LoadBalancingPolicy'
"""The key in a binding's data; it is the name of Senlin's class, which wrote it first."""
IN_CLUSTER = 'loadbalancers'
"""The key in a cluster's data: policy id -> {vip_address}."""


@dataclass(frozen=True, slots=True)
class StoredLoadBalancer:
    """The load balancer and the pool in the data of a binding, written by any version.

    :ivar load_balancer: the id; or the id or name in the properties, if it is preexisting.
    :ivar preexisting: whether the load balancer existed before the policy was attached.
    """

    load_balancer: str
    pool_id: str
    preexisting: bool

    @classmethod
    def of(cls, binding: Binding | None) -> 'StoredLoadBalancer | None':
        """Read it from a binding; return None if the binding has none."""
        stored = mapping_or_empty(binding.data.get(STORED) if binding else None)
        data = mapping_or_empty(stored.get('data'))
        load_balancer = text_or_none(data.get('loadbalancer'))
        pool_id = text_or_none(data.get('pool'))
        if load_balancer is None or pool_id is None:
            return None
        return cls(load_balancer, pool_id, bool(data.get('preexisting')))

    @classmethod
    def named(cls, properties: LoadBalancingProperties | None) -> 'StoredLoadBalancer | None':
        """Return the preexisting load balancer that the properties name, or None."""
        if properties is None or properties.loadbalancer is None or properties.pool.id is None:
            return None
        return cls(properties.loadbalancer, properties.pool.id, preexisting=True)

    def pool(
        self,
        updater: Updater,
        tags: Sequence[str],
        cluster: Cluster,
        subnet_id: str | None = None,
    ) -> Pool:
        """Return the pool, with the id of its load balancer.

        :raises LoadBalancerFailed: the id of a preexisting load balancer cannot be looked up.
        """
        lb_id = self.load_balancer
        if self.preexisting:  # Senlin stores the property, which may be a name
            try:
                shown = load_balancers.find_load_balancer(updater, lb_id)
            except ApiError as exc:
                raise LoadBalancerFailed(cause(exc)) from exc
            lb_id = shown['id'] if shown else lb_id
        nodes = frozenset(node.id for node in cluster.nodes)
        return Pool(updater, lb_id, self.pool_id, tags, nodes, subnet_id)


def binding_data(
    request: BindRequest, balancer: LoadBalancer, *, preexisting: bool
) -> dict[str, Any]:
    """Return the data of the binding after its policy was attached."""
    policy = request.policy
    data = {
        'loadbalancer': balancer.id,
        'listener': balancer.listener,
        'pool': balancer.pool,
        'healthmonitor': balancer.monitor,
        'preexisting': preexisting or None,
    }
    version = float(policy.spec.type_name.rpartition('-')[2])
    given = {key: value for key, value in data.items() if value is not None}
    return {**policy.data, STORED: {'version': version, 'data': given}}


def cluster_with_vip(request: BindRequest, vip_address: str | None) -> ClusterPatch:
    """Return the cluster's data with the address of the load balancer."""
    entries = {
        **mapping_or_empty(request.cluster.data.get(IN_CLUSTER)),
        request.policy.id: {'vip_address': vip_address},
    }
    return ClusterPatch({**request.cluster.data, IN_CLUSTER: entries})


def cluster_without_vip(request: BindRequest) -> ClusterPatch | None:
    """Return the cluster's data without the address of the load balancer; None if it has none."""
    entries = mapping_or_empty(request.cluster.data.get(IN_CLUSTER))
    if request.policy.id not in entries:
        return None
    left = {key: value for key, value in entries.items() if key != request.policy.id}
    data = {key: value for key, value in request.cluster.data.items() if key != IN_CLUSTER}
    return ClusterPatch({**data, IN_CLUSTER: left} if left else data)
