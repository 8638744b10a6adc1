"""The names on the bus, and the topic that each request goes to."""

from placement_worker.contract.model import BindRequest, CheckRequest

EXCHANGE = 'placement_worker'
TOPIC = 'placement-worker'
SLOW_TOPIC = 'placement-worker-slow'
VERSION = '1.0'
ISOLATION_SUFFIX, PARKING_SUFFIX = '-suspects', '-parked'
"""The suffixes that name a topic's isolation queue and its parking lot.

The suffix -suspects is kept for compatibility with the queues of existing brokers.
"""
SLOW_POLICY_TYPE = 'senlin.policy.loadbalance'
SLOW_CHECKS = frozenset({
    ('BEFORE', 'CLUSTER_SCALE_IN'), ('BEFORE', 'CLUSTER_RESIZE'), ('BEFORE', 'CLUSTER_DEL_NODES'),
    ('BEFORE', 'CLUSTER_REPLACE_NODES'), ('BEFORE', 'NODE_DELETE'),
    ('AFTER', 'CLUSTER_SCALE_OUT'), ('AFTER', 'CLUSTER_RESIZE'), ('AFTER', 'CLUSTER_ADD_NODES'),
    ('AFTER', 'CLUSTER_REPLACE_NODES'), ('AFTER', 'NODE_CREATE'), ('AFTER', 'NODE_RECOVER'),
})  # fmt: skip
"""The phases and actions in which a load-balancing policy waits for a load balancer.

They equal the `targets` of that policy, which a client must not import: it would load the policies,
their planners and the cloud.
"""


def is_slow(request: object) -> bool:
    """Return whether a request may wait for a load balancer and belongs on the slow topic."""
    if isinstance(request, CheckRequest):
        return (request.target, request.action.action) in SLOW_CHECKS and any(
            policy.enabled and policy.spec.type == SLOW_POLICY_TYPE for policy in request.policies
        )
    return isinstance(request, BindRequest)
