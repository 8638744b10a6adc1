"""Access to the pool of an attached policy during a check."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract.model import CheckRequest, Cluster
from placement_worker.errors import NotAttached
from placement_worker.octavia.load_balancers import tags_of
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.properties import (
    STATUS_TIMEOUT_S,
    LoadBalancingProperties,
)
from placement_worker.policies.load_balancing.stored import StoredLoadBalancer


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """The stored load balancer of a binding, its tags, and an updater for it."""

    stored: StoredLoadBalancer
    updater: Updater
    tags: Sequence[str]
    cluster: Cluster

    @classmethod
    def of(cls, properties: LoadBalancingProperties, request: CheckRequest, state: State) -> Self:
        """Return the access to the pool of the state's binding.

        :raises NotAttached: the binding holds no load balancer.
        """
        stored = StoredLoadBalancer.of(state.binding)
        if stored is None or state.binding is None:
            raise NotAttached(
                'The binding holds no load balancer: attach the policy before it is checked.'
            )
        updater = updater_for(properties, state, request.cluster, request.action.id)
        tags = tags_of(request.cluster.id, state.binding.id)
        return cls(stored, updater, tags, request.cluster)

    def pool(self, subnet_id: str | None = None) -> Pool:
        """Return the pool, or raise an error of `StoredLoadBalancer.pool`."""
        return self.stored.pool(self.updater, self.tags, self.cluster, subnet_id)


def updater_for(
    properties: LoadBalancingProperties | None, state: State, cluster: Cluster, seed: str
) -> Updater:
    """Return an updater for the load balancer of a cluster.

    :param properties: None if the spec is not valid.
    :param seed: see `Updater.seed`.
    """
    timeout_s = properties.lb_status_timeout if properties else STATUS_TIMEOUT_S
    octavia = state.cloud.octavia(cluster.profile.region)
    settings = state.cloud.octavia_settings
    return Updater(octavia, settings, TimeBudget(timeout_s, settings.clock, state.left_s), seed)
