"""The methods of the contract: decode, one call, encode. Nothing of the messaging layer is needed
here.
"""

import contextlib
import datetime
import difflib
import logging
import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any, cast

import msgspec

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import Cloud, Clouds, OctaviaSettings, UnreachableCloud
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import actions, codec, known_inputs, strict_json
from placement_worker.contract.limits import Limits
from placement_worker.contract.model import (
    Action,
    ActionPatch,
    Binding,
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    Cluster,
    Data,
    ReplyTo,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
    in_utc,
)
from placement_worker.decisions.records import Forgetful, Method, Record, Recorder
from placement_worker.errors import (
    CloudUnavailable,
    InvalidRequest,
    Refused,
    Rejected,
    RequestExpired,
    UnsupportedAction,
    error_object,
)
from placement_worker.events.listener import Listener, Listeners
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    PolicyConsulted,
    RequestFailed,
)
from placement_worker.handlers import bindings, chain
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.ports import Delivery
from placement_worker.handlers.request_log import RequestLog
from placement_worker.policies.base import Policy, State
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)
NO_CLOUD = Inventory()


class _Addressed(msgspec.Struct, frozen=True):
    """Of a request who wants the reply; the rest is not looked at, for it may be what nobody could
    finish.
    """

    reply_to: ReplyTo | None = None
    expires_at: datetime.datetime | None = None


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Endpoints:
    """The worker's methods. Each takes a request as plain data or as one JSON string, and answers
    alike.
    """

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        events: Listener | None = None,
        delivery: Delivery | None = None,
        *,
        recorder: Recorder | None = None,
        destinations: Destinations | None = None,
        limits: Callable[[], Limits] = Limits,
        octavia_settings: Callable[[], OctaviaSettings] = OctaviaSettings,
        now: Callable[[], datetime.datetime] = _now,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Wire the worker.

        :param events: the listener for the events of requests.
        :param delivery: delivers replies to where `reply_to` says; None to deliver none.
        :param recorder: who keeps what is decided; None for nobody.
        :param destinations: what `reply_to` may name; None for all but the worker's own exchange
            and queues.
        :param limits: those in force; asked at each request.
        :param octavia_settings: those in force; asked at each request.
        :param now: the time of day, which requests expire by.
        :param clock: seconds, which durations are measured by.
        """
        self._clouds = clouds
        self._registry = registry
        self._events = Listeners(RequestLog(), *([events] if events else []))
        self._delivery = delivery
        self._recorder = recorder or Forgetful()
        self._destinations = destinations or Destinations()
        self._limits = limits
        self._octavia_settings = octavia_settings
        self._now = now
        self._clock = clock
        self._started_at = now().replace(microsecond=0)

    def policy_check(self, request: object, request_id: str | None = None) -> Any:
        """Decide one check: CheckRequest in, CheckReply out; also to where `reply_to` says.

        :param request_id: of the caller's context, for notifications and for `reply_to`.
        :raises Refused: the request is not well-formed; nothing was done.
        """
        with self._errors_of('policy_check', request_id):
            asked = self._decode(request, CheckRequest)
            if asked.reply_to:
                self._destinations.check(asked.reply_to)
            try:
                reply = self._check(asked, request_id)
            except Exception as exc:
                self._cast_reply(asked, request_id, codec.encode(error_object(exc), like=request))
                raise
            answer = codec.encode(reply, like=request)
            self._cast_reply(asked, request_id, answer)
            return answer

    def told_elsewhere(self, request: object, request_id: str | None, exc: Exception) -> None:
        """Send an error in place of the reply to a check that nobody decides, to where `reply_to`
        says.
        """
        try:
            asked = self._decode(request, _Addressed)
            if asked.reply_to:
                self._destinations.check(asked.reply_to)
        except Refused:
            return
        self._cast_reply(asked, request_id, codec.encode(error_object(exc), like=request))

    def policy_attach(self, request: object, request_id: str | None = None) -> Any:
        """Attach a policy to a cluster: BindRequest in, BindReply out.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._bind('policy_attach', bindings.attach, self._attachable, request, request_id)

    def policy_detach(self, request: object, request_id: str | None = None) -> Any:
        """Detach a policy from a cluster: BindRequest in, BindReply out; the spec need not fit.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._bind(
            'policy_detach', bindings.detach, self._registry.detachable, request, request_id
        )

    def policy_validate(self, request: object, request_id: str | None = None) -> Any:
        """Check a policy's spec: ValidateRequest in, the spec with its defaults filled in out.

        :raises Refused: there is no such type, or the properties do not fit.
        :raises Rejected: the cloud gives no answer.
        """
        asked = self._decode(request, ValidateRequest)
        policy = self._registry.policy(asked.spec, '$.spec')
        if asked.check_resources:
            policy.check_resources(self._clouds.acting_as_service())
        filled = msgspec.structs.replace(
            asked.spec, properties=msgspec.to_builtins(policy.properties)
        )
        return codec.encode(ValidateReply(filled), like=request)

    def policy_type_list(self, request: object, request_id: str | None = None) -> Any:
        """The policy types that this worker has, by name."""
        self._decode(request, dict[str, Any])
        return codec.encode(
            [self._registry.describe(name) for name in sorted(self._registry.types)], like=request
        )

    def policy_type_get(self, request: object, request_id: str | None = None) -> Any:
        """One policy type, with the JSON Schema of its properties.

        :raises PolicyTypeNotFound: there is no such type or version.
        """
        asked = self._decode(request, TypeRequest)
        self._registry.lookup(asked.type_name, '$.type_name')
        return codec.encode(self._registry.describe(asked.type_name, schema=True), like=request)

    def get_capabilities(self, request: object, request_id: str | None = None) -> Any:
        """Who answers, and what it can do."""
        self._decode(request, dict[str, Any])
        capabilities = Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=sorted(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
        )
        return codec.encode(capabilities, like=request)

    def _cast_reply(
        self, request: CheckRequest | _Addressed, request_id: str | None, reply: Any
    ) -> None:
        if request.reply_to and self._delivery:
            self._delivery.reply(request.reply_to, request_id, reply, self._left_s(request))

    def _check(self, request: CheckRequest, request_id: str | None) -> CheckReply:
        _validate(request)
        bound = [
            chain.Bound(binding, self._registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(request.policies)
            if binding.enabled
        ]
        self._events.handle(CheckStarted(request, request_id))
        return self._decide(request, bound, request_id)

    def _decode(self, request: object, kind: type[codec.T]) -> codec.T:
        max_bytes = self._limits().request_bytes
        if isinstance(request, str):
            return strict_json.decode(request, kind, max_bytes=max_bytes)
        return codec.decode(request, kind, max_bytes=max_bytes)

    def _decide(
        self, request: CheckRequest, bound: list[chain.Bound], request_id: str | None
    ) -> CheckReply:
        started = self._clock()
        record = self._begin(request_id)
        try:
            is_asked = any(one.passes_over(request) is None for one in bound)
            state = self._state(request, request.action.data, record, needs_cloud=is_asked)
        except Rejected as exc:
            data = {**request.action.data, 'status': 'ERROR', 'reason': str(exc)}
            reply = CheckReply(
                action=ActionPatch(request.action.id, data), cluster=None, nodes={}, decisions=[]
            )
        else:
            reply = self._with_input_warning(
                request.action, chain.run(bound, request, state, self._clock)
            )
        record.end('policy_check', request, reply)
        elapsed_s = self._clock() - started
        for decision in reply.decisions:
            self._events.handle(
                PolicyConsulted(decision.policy_type, decision.outcome, decision.elapsed_ms / 1000)
            )
        self._events.handle(CheckEnded(request, reply, elapsed_s, request_id))
        return reply

    def _with_input_warning(self, action: Action, reply: CheckReply) -> CheckReply:
        """Add a warning about unknown inputs to the reply, if there are any."""
        unknown = known_inputs.unknown(action, self._registry.inputs)
        if not unknown:
            return reply
        return msgspec.structs.replace(
            reply, warnings=[*reply.warnings, known_inputs.describe(action, unknown)]
        )

    def _bind(
        self,
        method: Method,
        act: Callable[[Policy[Any], BindRequest, State], BindReply],
        find: Callable[[Binding, str], Policy[Any]],
        request: object,
        request_id: str | None,
    ) -> Any:
        with self._errors_of(method, request_id):
            asked = self._decode(request, BindRequest)
            _validate_nodes(asked.cluster)
            policy = find(asked.policy, '$.policy.spec')
            self._events.handle(BindingStarted(method, asked, request_id))
            started = self._clock()
            record = self._begin(request_id)
            try:
                reply = act(policy, asked, self._state(asked, {}, record))
            except Rejected as exc:
                reply = bindings.failed(asked, exc)
            record.end(method, asked, reply)
            elapsed_s = self._clock() - started
            asked_for = asked.policy.spec.type_name
            type_name = (
                asked_for if asked_for in self._registry.types else policy.name
            )  # a label of a metric
            self._events.handle(
                BindingEnded(method, asked, reply, policy.name, type_name, elapsed_s, request_id)
            )
            return codec.encode(reply, like=request)

    def _attachable(self, bound: Binding, at: str) -> Policy[Any]:
        """Make the policy that a binding's spec asks for; raises as `Registry.policy`."""
        return self._registry.policy(bound.spec, at)

    def _state(
        self,
        request: CheckRequest | BindRequest,
        data: Data,
        record: Record,
        *,
        needs_cloud: bool = True,
    ) -> State:
        """What policies start from.

        :param needs_cloud: whether a policy is asked; else nobody looks at the credentials, and the
            cloud is empty.
        :raises Rejected: the request has expired, its credentials do not let us act, or the cloud
            of a check cannot be reached.
        """
        left_s = record.left_s(lambda: self._left_s(request))
        if (left := left_s()) <= 0:
            LOG.warning(
                'Request for cluster %a expired %.1f s before a worker began it: it waited too long in the queue, or '
                "the caller's clock is behind this host's; compare the clocks if no requests wait",
                request.cluster.id[:80],
                -left,
            )
            raise RequestExpired('Request expired')
        clouds: Clouds = record.watch(self._clouds) if needs_cloud else NO_CLOUD
        try:
            cloud = clouds.acting_for(request.credentials, request.cluster.project)
        except CloudUnavailable as exc:
            if isinstance(request, CheckRequest):
                raise
            cloud = cast('Cloud', UnreachableCloud(exc))
        return State(
            data,
            Snapshot(cloud, request.cluster, record.octavia_settings),
            record.max_nodes,
            left_s=left_s,
        )

    def _begin(self, request_id: str | None) -> Record:
        """Note under which circumstances something is decided."""
        return self._recorder.begin(
            request_id, self._now(), self._limits().nodes_per_cluster, self._octavia_settings()
        )

    def _left_s(self, request: CheckRequest | BindRequest | _Addressed) -> float:
        """How many seconds the caller still waits."""
        expires_at = request.expires_at
        return (
            math.inf if expires_at is None else (in_utc(expires_at) - self._now()).total_seconds()
        )

    @contextlib.contextmanager
    def _errors_of(self, method: str, request_id: str | None) -> Iterator[None]:
        """Report the error that ends the block."""
        try:
            yield
        except Exception as exc:
            self._events.handle(RequestFailed(method, exc, request_id))
            raise


def _validate(request: CheckRequest) -> None:
    """What the shape alone does not say.

    :raises UnsupportedAction: Senlin has no such action.
    :raises InvalidRequest: the action's node is missing, or a node stands in the cluster twice.
    """
    name = request.action.action
    if name not in actions.ALL:
        near = difflib.get_close_matches(name[:80], sorted(actions.ALL), n=1)
        hint = f' (did you mean `{near[0]}`?)' if near else ''
        raise UnsupportedAction(
            f'Expected an action of Senlin, got `{name[:80]}` - at `$.action.action`{hint}'
        )
    if name in actions.OF_A_NODE and request.action.node is None:
        raise InvalidRequest(f'Expected `object` for {name}, got `null` - at `$.action.node`')
    _validate_nodes(request.cluster)


def _validate_nodes(cluster: Cluster) -> None:
    """Each node is to stand in its cluster once.

    :raises InvalidRequest: naming the first that does not.
    """
    if len({node.id for node in cluster.nodes}) == len(cluster.nodes):
        return
    seen: set[str] = set()
    for i, node in enumerate(cluster.nodes):
        if node.id in seen:
            raise InvalidRequest(
                f'Expected each node once, got `{node.id[:80]}` again - at `$.cluster.nodes[{i}].id`'
            )
        seen.add(node.id)
