"""The pool of an attached policy, and its members as the data of nodes record them.

The data of the binding hold the ids, as any version of the policy or Senlin has written them. The
record of a member may be wrong: several policies write the data of a node, and replies get lost.

:source: senlin/policies/lb_policy.py of Senlin 16, for the stored data.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Self

from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract import actions
from placement_worker.contract.model import Binding, CheckRequest, Cluster, Data, Node
from placement_worker.contract.values import mapping_or_empty, text_or_none
from placement_worker.errors import NotAttached
from placement_worker.octavia.load_balancers import find_load_balancer, tags_of
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.properties import (
    STATUS_TIMEOUT_S,
    LoadBalancingProperties,
    properties_type,
)

# The key in a binding's data; it is the name of Senlin's class, which wrote it first.
STORED = 'LoadBalancingPolicy'
# The key in a cluster's data: policy id -> {vip_address}.
IN_CLUSTER = 'loadbalancers'
# The key of a node's data that holds the id of its member, and the key for further policies: policy
# id -> member id. Engines and Senlin know the first one alone.
MEMBER, MEMBERS = 'lb_member', 'lb_members'


@dataclass(frozen=True, slots=True)
class StoredLoadBalancer:
    """The load balancer and the pool in the data of a binding, written by any version.

    :ivar load_balancer: the id; of a preexisting one, the id or name in the properties, which
        Senlin stores as it is.
    :ivar preexisting: whether the load balancer existed before the policy was attached.
    :ivar ids: the ids by the keys of the data: loadbalancer, listener, pool, healthmonitor.
    """

    load_balancer: str
    pool_id: str
    preexisting: bool
    ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def in_binding(cls, binding: Binding) -> 'StoredLoadBalancer | None':
        data = mapping_or_empty(mapping_or_empty(binding.data.get(STORED)).get('data'))
        load_balancer = text_or_none(data.get('loadbalancer'))
        pool_id = text_or_none(data.get('pool'))
        if load_balancer is None or pool_id is None:
            return None
        ids = {key: value for key, value in data.items() if isinstance(value, str)}
        return cls(load_balancer, pool_id, bool(data.get('preexisting')), ids)


@dataclass(frozen=True, slots=True)
class MemberRecords:
    """The ids of a policy's members in the data of nodes, which other policies write as well.

    :ivar others: the other load-balancing policies. If none of them can have written `lb_member`,
        it names a member of this policy, even if the member is gone.
    """

    policy_id: str
    others: Set[str]

    @classmethod
    def in_cluster(cls, cluster: Cluster, policy_id: str, others: Iterable[str] = ()) -> Self:
        known = {*others, *mapping_or_empty(cluster.data.get(IN_CLUSTER))}
        for node in cluster.nodes:
            known.update(mapping_or_empty(node.data.get(MEMBERS)))
        return cls(policy_id, known - {policy_id})

    def ids(self, data: Data) -> list[str]:
        """Return the recorded ids; `lb_member` may name a member of another policy's pool."""
        ids = (data.get(MEMBER), mapping_or_empty(data.get(MEMBERS)).get(self.policy_id))
        return [member_id for member_id in ids if isinstance(member_id, str)]

    def names_lost_member(self, data: Data, listed: Collection[str]) -> bool:
        """Return whether the data name a member of the policy that its pool does not list."""
        others = mapping_or_empty(data.get(MEMBERS))
        first = data.get(MEMBER) if self.others <= others.keys() else None
        member_id = others.get(self.policy_id, first)
        return isinstance(member_id, str) and member_id not in listed

    def updated(self, data: Data, known: Collection[str], member_id: str | None = None) -> Data:
        """Return data that record another member of the policy, or none.

        :param known: the ids of members that the policy had or has in its pool.
        """
        after = {key: value for key, value in data.items() if key != MEMBERS}
        others = mapping_or_empty(data.get(MEMBERS))
        others = {key: value for key, value in others.items() if key != self.policy_id}
        first = data.get(MEMBER)
        if self.others <= others.keys() or not isinstance(first, str) or first in known:
            after.pop(MEMBER, None)
        if member_id and MEMBER in after:
            others[self.policy_id] = member_id
        elif member_id:
            after[MEMBER] = member_id
        return {**after, MEMBERS: others} if others else after


@dataclass(frozen=True, slots=True)
class AttachedPool:
    """The pool of an attached policy.

    :ivar nodes: those of the cluster, and the action's node, by id.
    :ivar is_sole_writer: whether no other client changes the pool at the same time.
    """

    stored: StoredLoadBalancer
    updater: Updater
    tags: Sequence[str]
    nodes: Mapping[str, Node]
    records: MemberRecords
    is_sole_writer: bool = False

    @classmethod
    def for_check(
        cls, properties: LoadBalancingProperties, request: CheckRequest, state: State
    ) -> Self:
        action, binding = request.action, state.binding
        stored = StoredLoadBalancer.in_binding(binding) if binding else None
        if stored is None or binding is None:
            raise NotAttached(
                'The binding holds no load balancer: attach the policy before it is checked.'
            )
        others = (
            policy.id for policy in request.policies if properties_type(policy.spec.type_name)
        )
        return cls(
            stored,
            updater_for(properties, state, action.id),
            tags_of(request.cluster.id, binding.id),
            request.nodes_by_id(),
            MemberRecords.in_cluster(request.cluster, binding.id, others),
            # Actions of single nodes run side by side.
            is_sole_writer=not stored.preexisting and action.action not in actions.OF_A_NODE,
        )

    def opened(self, subnet_id: str | None = None) -> Pool:
        lb_id = self.stored.load_balancer
        if self.stored.preexisting:  # Senlin stores the property, which may be a name
            balancer = find_load_balancer(self.updater, lb_id)
            lb_id = balancer['id'] if balancer else lb_id
        return Pool(
            self.updater,
            lb_id,
            self.stored.pool_id,
            self.tags,
            {node_id: self.records.ids(node.data) for node_id, node in self.nodes.items()},
            not self.stored.preexisting,
            subnet_id,
        )


def recorded_members(data: Data) -> set[str]:
    ids = (data.get(MEMBER), *mapping_or_empty(data.get(MEMBERS)).values())
    return {member_id for member_id in ids if isinstance(member_id, str)}


def updater_for(properties: LoadBalancingProperties | None, state: State, seed: str) -> Updater:
    """Return an updater; the default limit of time applies to a spec that is not valid (None)."""
    timeout_s = properties.lb_status_timeout if properties else STATUS_TIMEOUT_S
    settings = state.cloud.octavia_settings
    budget = TimeBudget(timeout_s, settings.clock, state.left_s)
    return Updater(state.cloud.octavia(), settings, budget, seed)
