"""The reason to skip a removal of pool members that the engine will refuse because of min_size.

All policies of a check must agree: a victim whose member stays in the pool would leave the member
behind in an engine that deletes the victim nevertheless.
"""

from placement_worker.contract.model import CheckRequest
from placement_worker.planning.size_warnings import is_below_min_size

LOAD_BALANCING = 'senlin.policy.loadbalance'
POOL_PROFILES = frozenset({'os.nova.server-1.0'})
"""The types of profiles whose nodes can be members of a pool."""


def refusal(request: CheckRequest, count: int) -> str | None:
    """Return the reason to skip a removal that the engine will refuse, or None.

    Without a load-balancing policy there is no reason: no member can be left behind.

    :param count: the number of nodes that the action removes.
    """
    if not is_below_min_size(request.action, request.cluster, count) or not _has_pool(request):
        return None
    return (
        f'The engine will refuse to leave fewer than min_size ({request.cluster.min_size}) nodes.'
    )


def _has_pool(request: CheckRequest) -> bool:
    if request.cluster.profile.type not in POOL_PROFILES:
        return False
    return any(
        binding.enabled and binding.spec.type == LOAD_BALANCING for binding in request.policies
    )
