"""The RPC interface of the worker: its names on the bus, its methods, its limits.

Workers and clients apply the same rules for the exchanges and topics of replies, so that a client
can refuse a name before it sends it. The server and the manual's table of methods derive from
`METHODS`; callers use its entries.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    Phase,
    PolicyType,
    RebalanceReply,
    RebalanceRequest,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)
from placement_worker.errors import InvalidRequest

EXCHANGE = 'placement_worker'
TOPIC = 'placement-worker'
SLOW_TOPIC = 'placement-worker-slow'
# The version of the contract that workers announce.
VERSION = '1.1'
# The suffixes that name a topic's isolation queue and its parking lot. The suffix -suspects is kept
# for compatibility with the queues of existing brokers.
ISOLATION_SUFFIX, PARKING_SUFFIX = '-suspects', '-parked'
LOAD_BALANCING = 'senlin.policy.loadbalance'
# The phases and actions in which a load-balancing policy waits for a load balancer: its `targets`.
# A client must not import the policy: it would load all policies, their planners and the cloud.
SLOW_CHECKS: frozenset[tuple[Phase, str]] = frozenset({
    ('BEFORE', 'CLUSTER_SCALE_IN'), ('BEFORE', 'CLUSTER_RESIZE'), ('BEFORE', 'CLUSTER_DEL_NODES'),
    ('BEFORE', 'CLUSTER_REPLACE_NODES'), ('BEFORE', 'NODE_DELETE'),
    ('AFTER', 'CLUSTER_SCALE_OUT'), ('AFTER', 'CLUSTER_RESIZE'), ('AFTER', 'CLUSTER_ADD_NODES'),
    ('AFTER', 'CLUSTER_REPLACE_NODES'), ('AFTER', 'NODE_CREATE'), ('AFTER', 'NODE_RECOVER'),
})  # fmt: skip

Q = TypeVar('Q')
A = TypeVar('A')


@dataclass(frozen=True, slots=True)
class Method(Generic[Q, A]):
    """A method; `since` is the version of the contract that introduced it."""

    name: str
    request: type[Q]
    reply: type[A]
    since: str = '1.0'


POLICY_CHECK = Method('policy_check', CheckRequest, CheckReply)
POLICY_ATTACH = Method('policy_attach', BindRequest, BindReply)
POLICY_DETACH = Method('policy_detach', BindRequest, BindReply)
POLICY_REBALANCE = Method('policy_rebalance', RebalanceRequest, RebalanceReply, since='1.1')
POLICY_VALIDATE = Method('policy_validate', ValidateRequest, ValidateReply)
POLICY_TYPE_LIST = Method('policy_type_list', dict[str, Any], list[PolicyType])
POLICY_TYPE_GET = Method('policy_type_get', TypeRequest, PolicyType)
GET_CAPABILITIES = Method('get_capabilities', dict[str, Any], Capabilities)

METHODS: tuple[Method[Any, Any], ...] = (
    POLICY_CHECK,
    POLICY_ATTACH,
    POLICY_DETACH,
    POLICY_REBALANCE,
    POLICY_VALIDATE,
    POLICY_TYPE_LIST,
    POLICY_TYPE_GET,
    GET_CAPABILITIES,
)


def is_slow(request: object) -> bool:
    """Return whether a request may wait for a load balancer and belongs on the slow topic."""
    if isinstance(request, CheckRequest):
        return (request.target, request.action.action) in SLOW_CHECKS and any(
            policy.enabled and policy.spec.type == LOAD_BALANCING for policy in request.policies
        )
    return isinstance(request, BindRequest)


_SINCE = {method.name: method.since for method in METHODS}


def version_of(name: str, request: object) -> str:
    """Return the lowest version of the contract that has all that a request needs.

    A worker of version 1.0 ignores the protection of nodes, and might choose to delete them.
    """
    if isinstance(request, CheckRequest) and _needs_protection(request):
        return '1.1'
    return _SINCE[name]


def _needs_protection(check: CheckRequest) -> bool:
    if check.target != 'BEFORE' or (check.target, check.action.action) not in SLOW_CHECKS:
        return False
    nodes = [*check.cluster.nodes, check.action.node] if check.action.node else check.cluster.nodes
    return any(
        _may_protect(node.data.get('protected'))
        or (node.metadata is not None and _may_protect(node.metadata.protected))
        for node in nodes
    )


def _may_protect(value: object) -> bool:
    return value is not None and str(value).strip().lower() != 'false'


@dataclass(frozen=True, slots=True)
class Limits:
    """`nodes_per_cluster`: after a creation, at most; `request_bytes`: of JSON, at most."""

    nodes_per_cluster: int = 1000
    request_bytes: int = 64 * 2**20


# The prefix of the exchanges that the broker creates itself.
RESERVED = 'amq.'


def check_exchange(exchange: str, workers_exchange: str, at: str) -> None:
    """Refuse an exchange for replies that is the broker's or the workers' own."""
    if not exchange or exchange.startswith(RESERVED) or exchange == workers_exchange:
        raise InvalidRequest(
            "Expected an exchange that is neither the broker's nor the workers' own, "
            f'got `{exchange}` - at `{at}`'
        )


def check_topic(topic: str, queues: Collection[str], at: str) -> None:
    """Refuse a topic that is a queue of the workers, with or without a host."""
    if is_below(topic, queues):
        raise InvalidRequest(
            f'Expected a topic that is no queue of the workers, got `{topic}` - at `{at}`'
        )


def is_below(topic: str, names: Collection[str]) -> bool:
    """Return whether a topic is one of the names, or one with a suffix, e.g. a host."""
    return any(topic == name or topic.startswith(f'{name}.') for name in names)
