"""The health floors of the pools that the nodes of a check leave.

The floors of all load-balancing policies of a check are applied before the first policy removes a
member. Otherwise a node that the floor of a later pool spares would be missing in an earlier pool.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from placement_worker.contract import codec
from placement_worker.contract.model import Binding, CheckRequest, Node
from placement_worker.octavia.pools import Pool
from placement_worker.planning.health_floor import ONLINE, Floor
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_removal import MemberRemoval
from placement_worker.policies.load_balancing.node_addresses import LateLookup
from placement_worker.policies.load_balancing.pool_access import PoolAccess
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties14, type_of
from placement_worker.policies.load_balancing.results import Result
from placement_worker.policies.registry import normalized


def bound(request: CheckRequest) -> Iterator[tuple[Binding, LoadBalancingProperties14]]:
    """Yield the enabled bindings whose pools have a floor, with their properties."""
    for binding in request.policies:
        kind = type_of(binding.spec.type_name) if binding.enabled else None
        if kind and issubclass(kind, LoadBalancingProperties14):
            properties = codec.decode(normalized(binding.spec.properties, kind), kind)
            if properties.min_online is not None:
                yield binding, properties


def check_attached(request: CheckRequest, state: State) -> None:
    """Check that each policy with a floor has a pool.

    :raises NotAttached: a binding with a floor holds no load balancer.
    """
    for binding, properties in bound(request):
        PoolAccess.of(properties, request, replace(state, binding=binding))


def measured(request: CheckRequest, state: State, nodes: Sequence[Node], own: Pool) -> list[Floor]:
    """Return the floor of each pool, with the effect of removing the members of nodes.

    One listing per pool and check gives the operating statuses; the snapshot keeps it.

    :param own: the pool of the state's binding.
    :raises LoadBalancerFailed: a preexisting load balancer cannot be looked up.
    :raises ApiError: a pool cannot be read.
    """
    own_id = state.binding.id if state.binding else None
    return [
        _measured(
            request,
            replace(state, binding=binding),
            properties,
            nodes,
            own if binding.id == own_id else None,
        )
        for binding, properties in bound(request)
    ]


def _measured(
    request: CheckRequest,
    state: State,
    properties: LoadBalancingProperties14,
    nodes: Sequence[Node],
    pool: Pool | None,
) -> Floor:
    pool = pool or PoolAccess.of(properties, request, state).pool()
    lookup = LateLookup(state, request.cluster, properties)
    plan = MemberRemoval(state, nodes).plan(pool, lookup, Result())
    state.cloud.pool_members[pool.pool_id] = plan.members.listed
    present = plan.members.remaining().listed
    online = {one['id'] for one in present if one.get('operating_status') in ONLINE}
    leaving = Counter(node_id for member, node_id in plan.remove.items() if member in online)
    minimum = properties.min_online or 0
    return Floor(pool.pool_id, minimum, len(present), len(online), leaving)
