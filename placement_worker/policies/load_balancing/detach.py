"""Detach the policy: delete its load balancer, or remove its nodes from a preexisting one."""

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import BindRequest
from placement_worker.errors import LoadBalancerFailed, Rejected
from placement_worker.octavia.load_balancers import OwnLoadBalancers, tags_of
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.base import BindingOutcome, State
from placement_worker.policies.load_balancing.member_removal import MemberRemoval
from placement_worker.policies.load_balancing.node_addresses import ResolvedMembers
from placement_worker.policies.load_balancing.node_patches import MEMBER, NodeChange, patches
from placement_worker.policies.load_balancing.stored import (
    STORED,
    StoredLoadBalancer,
    cluster_without_vip,
)


def detach(
    attached: StoredLoadBalancer | None, request: BindRequest, state: State, updater: Updater
) -> BindingOutcome:
    """Remove all that attaching has created.

    :param attached: the stored load balancer, if there is one; objects with the tags of the policy
        are removed in any case.
    :raises LoadBalancerFailed: an object is still present.
    """
    tags = tags_of(request.cluster.id, request.policy.id)
    try:
        if attached is not None and attached.preexisting:
            pool = attached.pool(updater, tags, request.cluster)
            MemberRemoval(state, request.cluster.nodes).run(pool, ResolvedMembers({}))
            pool.clear()  # members left behind by deleted nodes
        else:
            OwnLoadBalancers(updater, tags).remove([attached.load_balancer] if attached else [])
    except (ApiError, LoadBalancerFailed) as exc:
        nodes = exc.nodes if isinstance(exc, Rejected) else {}
        raise LoadBalancerFailed(cause(exc), nodes=nodes) from exc
    return _outcome(request, state)


def _outcome(request: BindRequest, state: State) -> BindingOutcome:
    members = request.cluster.nodes
    nodes = patches(state, members, {node.id: NodeChange((MEMBER,)) for node in members})
    data = {key: value for key, value in request.policy.data.items() if key != STORED}
    return BindingOutcome(data, nodes, cluster_without_vip(request))
