"""Attach the policy: find or create the load balancer, and add all nodes to its pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import BindRequest, NodePatch
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone, Rejected
from placement_worker.octavia.load_balancers import Layout, LoadBalancer, OwnLoadBalancers
from placement_worker.octavia.pools import Member, Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import BindingOutcome, State
from placement_worker.policies.load_balancing import existing, stored
from placement_worker.policies.load_balancing.member_addition import MemberAddition
from placement_worker.policies.load_balancing.node_addresses import AddressLookup, ResolvedMembers
from placement_worker.policies.load_balancing.own_load_balancer import layout_of
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties
from placement_worker.policies.load_balancing.results import NOT_ADDED, failure_text
from placement_worker.policies.load_balancing.undo import FailedAttachment

ATTEMPTS = 5
"""The number of attempts if other workers replace the load balancer."""


@dataclass(frozen=True, slots=True)
class _Members:
    """The members to add, and the subnet of the pool."""

    by_node: Mapping[str, Member]
    subnet_id: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """The request to attach a policy to a cluster.

    :ivar tags: of all objects that belong to the attachment.
    """

    properties: LoadBalancingProperties
    request: BindRequest
    state: State
    updater: Updater
    tags: Sequence[str]

    def run(self) -> BindingOutcome:
        """Attach the policy, or undo all changes.

        :raises Rejected: the policy cannot be attached.
        """
        try:
            members = self._resolve_members()
            if self._preexisting:
                balancer = existing.find(self.updater, self.properties)
                nodes = self._add_members(balancer, members)
            else:
                balancer, nodes = self._ensure_filled(members)
            self._check_expiry()
        except (ApiError, Rejected) as exc:
            failed = FailedAttachment(exc, self.properties, self.request, self.updater, self.tags)
            raise failed.undo() from exc
        return self._outcome(balancer, nodes)

    @property
    def _preexisting(self) -> bool:
        return self.properties.loadbalancer is not None

    def _resolve_members(self) -> _Members:
        """Find the addresses of all nodes.

        :raises LoadBalancerFailed: a node has no address; no change was made.
        """
        cluster = self.request.cluster
        lookup = AddressLookup.of(self.state, cluster, self.properties)
        members, failed = lookup.members(cluster.nodes)
        if failed:
            raise LoadBalancerFailed(failure_text(NOT_ADDED, failed), {'failed': failed})
        return _Members({member.node_id: member for member in members}, lookup.subnet.id)

    def _ensure_filled(self, members: _Members) -> tuple[LoadBalancer, Mapping[str, NodePatch]]:
        """Ensure the policy's own load balancer with all members, against other workers.

        :raises Rejected: it failed.
        :raises ApiError: Octavia refused a change.
        """
        layout = layout_of(self.properties, self.request, self.state)
        own = OwnLoadBalancers(self.updater, self.tags)
        own.remove_failed()
        gone: LoadBalancerGone | None = None
        for _ in range(ATTEMPTS):
            try:
                return self._attempt(own, layout, members)
            except LoadBalancerGone as exc:
                gone = exc
        raise LoadBalancerFailed(
            f'Others keep removing the load balancer {layout.name}: {gone}'
        ) from gone

    def _attempt(
        self, own: OwnLoadBalancers, layout: Layout, members: _Members
    ) -> tuple[LoadBalancer, Mapping[str, NodePatch]]:
        balancer = own.ensure(layout)
        with own.gone_if_replaced(balancer.id):
            nodes = self._add_members(balancer, members)
            own.confirm(balancer)
        return balancer, nodes

    def _add_members(self, balancer: LoadBalancer, members: _Members) -> Mapping[str, NodePatch]:
        """Add all nodes to the pool; return their patches."""
        cluster = self.request.cluster
        if not cluster.nodes:
            return {}
        ids = frozenset(node.id for node in cluster.nodes)
        pool = Pool(self.updater, balancer.id, balancer.pool, self.tags, ids, members.subnet_id)
        addition = MemberAddition(self.state, cluster.nodes)
        return addition.run(pool, ResolvedMembers(members.by_node)).nodes

    def _check_expiry(self) -> None:
        # An attachment that completes after its request expires leaks a load balancer.
        self.updater.budget.check_expiry()

    def _outcome(self, balancer: LoadBalancer, nodes: Mapping[str, NodePatch]) -> BindingOutcome:
        return BindingOutcome(
            stored.binding_data(self.request, balancer, preexisting=self._preexisting),
            nodes,
            stored.cluster_with_vip(self.request, balancer.vip_address),
            warnings=self.properties.doubtful_values(),
        )
