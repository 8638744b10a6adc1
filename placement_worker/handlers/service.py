"""The methods of the contract: decode and validate a request, decide, report, encode the reply.

A request that is not well-formed raises a subclass of `Refused`: nothing was done. A policy that
cannot decide is a reply with the status ERROR, which the engine stores as the reason of its action.
"""

import datetime
import functools
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import msgspec
from msgspec import structs

from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import codec, rpc
from placement_worker.contract.model import (
    ActionPatch,
    BindingPatch,
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    PolicyType,
    RebalanceReply,
    RebalanceRequest,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)
from placement_worker.contract.rpc import A, Limits, Method, Q
from placement_worker.errors import InvalidRequest, NotApplicable, Rejected
from placement_worker.events.types import (
    NO_LISTENERS,
    BindingEnded,
    CheckEnded,
    CordonUnknown,
    Listener,
    Listeners,
    PolicyConsulted,
    RebalancePlanned,
    RequestFailed,
    RequestStarted,
)
from placement_worker.handlers import rebalancing, request_log
from placement_worker.handlers.chain import Link, links_of
from placement_worker.handlers.decision_state import (
    Conditions,
    CordonsInForce,
    Delivery,
    Recorder,
    ReplyT,
    Request,
    decide,
    seconds_left,
    state_for_binding,
    state_for_check,
)
from placement_worker.handlers.reply_delivery import Destinations, ReplyDelivery
from placement_worker.handlers.request_log import RequestLog
from placement_worker.handlers.request_validation import (
    misspelled_statuses,
    request_warnings,
    validate_check,
    validate_cluster,
    validate_policies,
)
from placement_worker.policies import plugin_checks, shared_placement
from placement_worker.policies.base import BindingOutcome, Policy, State
from placement_worker.policies.registry import Registry

_now = functools.partial(datetime.datetime.now, datetime.UTC)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The ports and the settings of a worker besides its cloud and its policy types.

    A function is called for each request, since a reload changes its result.

    :ivar delivery: delivers replies to the places that `reply_to` names; None to deliver none.
    :ivar host: the name to which clients can address requests; None without a transport.
    :ivar clock: seconds, for durations.
    """

    events: Listener = NO_LISTENERS
    delivery: Delivery | None = None
    recorder: Recorder | None = None
    destinations: Destinations = field(default_factory=Destinations)
    limits: Callable[[], Limits] = Limits
    octavia_settings: Callable[[], OctaviaSettings] = OctaviaSettings
    cordons: CordonsInForce | None = None
    host: str | None = None
    now: Callable[[], datetime.datetime] = _now
    clock: Callable[[], float] = time.perf_counter


_Function = Callable[['Endpoints', Q, str | None], A]


def _handler(method: Method[Q, A]) -> Callable[[_Function[Q, A]], Callable[..., Any]]:
    def decorated(function: _Function[Q, A]) -> Callable[..., Any]:
        @functools.wraps(function)
        def handle(self: 'Endpoints', raw: object, request_id: str | None = None) -> Any:
            try:
                reply = function(self, self._decode(raw, method.request), request_id)
                return codec.encode(reply, like=raw)
            except Exception as exc:
                self._report(method.name, exc, request_id, raw)
                raise

        return handle

    return decorated


class Endpoints:
    """The methods of `contract.rpc`, independent of the transport.

    Each takes a request as plain data or as a JSON string, and returns the reply in the same form.
    A caller in this process may pass a check as an object that was decoded from JSON; the reply is
    an object, too. `request_id` is the id in the context of the caller.
    """

    def __init__(
        self, clouds: Clouds, registry: Registry, settings: WorkerSettings = WorkerSettings()
    ) -> None:
        self._clouds, self._registry, self._settings = clouds, registry, settings
        self._now, self._clock = settings.now, settings.clock
        log, events = RequestLog(self._now), settings.events
        self._events = Listeners(log, events) if events else log
        self._replies = ReplyDelivery(
            settings.delivery, settings.destinations, settings.limits, self._now
        )
        self._started_at = self._now().replace(microsecond=0)

    def policy_check(self, raw: object, request_id: str | None = None) -> Any:
        try:
            request = raw if isinstance(raw, CheckRequest) else self._decode(raw, CheckRequest)
            if request.reply_to:
                self._settings.destinations.check(request.reply_to)
            reply = codec.encode(self._check(request, request_id), like=raw)
            if request.reply_to:
                self._replies.deliver(request.reply_to, request.expires_at, request_id, reply)
        except Exception as exc:
            self.deliver_error(raw, request_id, exc)
            self._report(rpc.POLICY_CHECK.name, exc, request_id, raw)
            raise
        return reply

    @_handler(rpc.POLICY_ATTACH)
    def policy_attach(self, request: BindRequest, request_id: str | None) -> BindReply:
        validate_cluster(request.cluster)
        policy = self._registry.policy(request.policy.spec, '$.policy.spec')
        return self._bind(rpc.POLICY_ATTACH.name, policy, request, request_id)

    @_handler(rpc.POLICY_DETACH)
    def policy_detach(self, request: BindRequest, request_id: str | None) -> BindReply:
        """Detach a policy from a cluster; its spec need not be valid."""
        validate_cluster(request.cluster)
        policy = self._registry.detachable(request.policy, '$.policy.spec')
        return self._bind(rpc.POLICY_DETACH.name, policy, request, request_id)

    @_handler(rpc.POLICY_REBALANCE)
    def policy_rebalance(self, request: RebalanceRequest, request_id: str | None) -> RebalanceReply:
        validate_cluster(request.cluster)
        validate_policies(request.policies)
        links = links_of(rebalancing.as_resize(request), self._registry)
        started = self._clock()
        plan = functools.partial(self._plan, request, links)
        reply = self._recorded(rpc.POLICY_REBALANCE.name, request, request_id, plan)
        self._events.handle(RebalancePlanned(request, reply, self._clock() - started))
        return reply

    @_handler(rpc.POLICY_VALIDATE)
    def policy_validate(self, request: ValidateRequest, _: str | None) -> ValidateReply:
        """Check a policy spec and return it with its defaults filled in.

        :raises Rejected: the cloud does not respond.
        """
        policy = self._registry.policy(request.spec, '$.spec', exact=True)
        with plugin_checks.named_in_errors(policy.type_name, type(policy), kept=()):
            policy.check_attachable()
            if request.check_resources:
                policy.check_resources(self._clouds.acting_as_service())
        properties = msgspec.to_builtins(policy.properties)
        return ValidateReply(structs.replace(request.spec, properties=properties))

    @_handler(rpc.POLICY_TYPE_LIST)
    def policy_type_list(self, _request: dict[str, Any], _: str | None) -> list[PolicyType]:
        return [*map(self._registry.describe, self._registry.types)]

    @_handler(rpc.POLICY_TYPE_GET)
    def policy_type_get(self, request: TypeRequest, _: str | None) -> PolicyType:
        self._registry.lookup(request.type_name, '$.type_name')
        return self._registry.describe(request.type_name, schema=True)

    @_handler(rpc.GET_CAPABILITIES)
    def get_capabilities(self, _request: dict[str, Any], _: str | None) -> Capabilities:
        return Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=list(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
            contract=rpc.VERSION,
            host=self._settings.host,
        )

    def subject(self, raw: object) -> str:
        return request_log.subject_of(raw, self._settings.limits().request_bytes)

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver an error to `reply_to` in place of the reply to a check that was not decided."""
        self._replies.deliver_error(raw, request_id, exc)

    def _report(self, method: str, exc: Exception, request_id: str | None, raw: object) -> None:
        self._events.handle(RequestFailed(method, exc, request_id, self.subject(raw)))

    def _decode(self, raw: object, kind: type[codec.T]) -> codec.T:
        limit = self._settings.limits().request_bytes
        if not isinstance(raw, str):
            return codec.decode(raw, kind, max_bytes=limit)
        try:  # ASCII, which is as long in bytes as in characters, need not be copied
            encoded = raw if raw.isascii() else raw.encode()
        except UnicodeEncodeError as exc:
            raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
        return codec.decode_encoded(encoded, kind, limit)

    def _check(self, request: CheckRequest, request_id: str | None) -> CheckReply:
        validate_check(request)
        links = links_of(request, self._registry)
        self._events.handle(RequestStarted(rpc.POLICY_CHECK.name, request, request_id))
        started = self._clock()
        decide = functools.partial(self._decide, links, request)
        reply = self._recorded(rpc.POLICY_CHECK.name, request, request_id, decide)
        elapsed_s = self._clock() - started
        for decision in reply.decisions:
            self._events.handle(
                PolicyConsulted(decision.policy_type, decision.outcome, decision.elapsed_ms / 1000)
            )
        self._events.handle(CheckEnded(request, reply, elapsed_s, request_id))
        return reply

    def _decide(
        self, links: Sequence[Link], request: CheckRequest, conditions: Conditions
    ) -> CheckReply:
        try:
            state = state_for_check(request, links, conditions)
        except Rejected as exc:
            data = {**request.action.data, 'status': 'ERROR', 'reason': str(exc)}
            patch = ActionPatch(request.action.id, data)
            return CheckReply(action=patch, cluster=None, nodes={}, decisions=[])
        reply = decide(request, links, state, self._clock)
        warnings = [
            *self._warnings_of_cordons(links, state),
            *request_warnings(request, links, self._registry.inputs),
            *self._warnings_of_specs(link.policy for link in links),
        ]
        if not warnings:
            return reply
        return structs.replace(reply, warnings=[*reply.warnings, *warnings])

    def _plan(
        self, request: RebalanceRequest, links: Sequence[Link], conditions: Conditions
    ) -> RebalanceReply:
        try:
            state = state_for_check(rebalancing.as_resize(request), links, conditions)
        except Rejected as exc:
            return _refusal(exc)
        try:
            reply = rebalancing.plan_rebalance(request, links, state)
        except Rejected as exc:
            reply = _refusal(exc)
        warnings = self._warnings_of_cordons(links, state)
        misspelled = misspelled_statuses(request.cluster.nodes)
        warnings += [misspelled] if misspelled else []
        warnings += self._warnings_of_specs(link.policy for link in links)
        return structs.replace(reply, warnings=[*reply.warnings, *warnings])

    def _warnings_of_cordons(self, links: Sequence[Link], state: State) -> list[str]:
        """Report cordons of unknown places, and return those that concern a policy of the check."""
        warnings: list[str] = []
        if not state.cordons:
            return warnings
        for unknown in shared_placement.unknown_cordons(state):
            self._events.handle(CordonUnknown(str(unknown.cordon), unknown.text))
            if any(unknown.concerns(link.policy) for link in links):
                warnings.append(unknown.text)
        return warnings

    def _warnings_of_specs(self, policies: Iterable[Policy[Any]]) -> list[str]:
        texts = (
            text
            for policy in policies
            for text in (self._registry.discouraged.get(policy.type_name), *policy.conversions)
        )
        return list(dict.fromkeys(filter(None, texts)))

    def _bind(
        self, method: str, policy: Policy[Any], request: BindRequest, request_id: str | None
    ) -> BindReply:
        self._events.handle(RequestStarted(method, request, request_id))
        started = self._clock()
        is_attached = method == rpc.POLICY_ATTACH.name
        warnings = self._warnings_of_specs([policy]) if is_attached else []
        decide = functools.partial(_bind_reply, policy, is_attached, request, warnings)
        reply = self._recorded(method, request, request_id, decide)
        elapsed_s = self._clock() - started
        # Labels of metrics must not hold names of types that callers invent.
        given_name = request.policy.spec.type_name
        type_name = given_name if given_name in self._registry.types else policy.name
        self._events.handle(
            BindingEnded(method, request, reply, policy.name, type_name, elapsed_s, request_id)
        )
        return reply

    def _recorded(
        self,
        method: str,
        request: Request,
        request_id: str | None,
        decide: Callable[[Conditions], ReplyT],
    ) -> ReplyT:
        now = self._now()
        conditions = Conditions(
            self._clouds,
            self._settings.octavia_settings(),
            self._settings.limits().nodes_per_cluster,
            now,
            lambda: seconds_left(request.expires_at, self._now()),
            self._settings.cordons(now) if self._settings.cordons else (),
        )
        if self._settings.recorder is None:
            return decide(conditions)
        return self._settings.recorder(method, request, request_id, conditions, decide)


def _refusal(error: Rejected) -> RebalanceReply:
    return RebalanceReply('ERROR', str(error), details=dict(error.details))


def _bind_reply(
    policy: Policy[Any],
    is_attached: bool,
    request: BindRequest,
    warnings: Sequence[str],
    conditions: Conditions,
) -> BindReply:
    """Return the reply; if the policy fails, the data of the binding stay as they are."""
    try:
        with plugin_checks.named_in_errors(
            policy.type_name or policy.name, type(policy), kept=Rejected
        ):
            state = state_for_binding(request, conditions)
            supported, profile_type = policy.profile_types, request.cluster.profile.type
            if is_attached and supported is not None and profile_type not in supported:
                raise NotApplicable(f'Policy not applicable on profile type: {profile_type}')
            outcome = (policy.attach if is_attached else policy.detach)(request, state)
            if not plugin_checks.is_built_in(type(policy)):
                plugin_checks.check_outcome(policy, outcome, BindingOutcome)
    except Rejected as exc:
        return BindReply(
            status='ERROR',
            reason=str(exc),
            warnings=[*warnings],
            policy=BindingPatch(request.policy.id, request.policy.data),
            cluster=None,
            nodes=dict(sorted(exc.nodes.items())),
        )
    return BindReply(
        status='OK',
        reason='Policy attached.' if is_attached else 'Policy detached.',
        warnings=[*outcome.warnings, *warnings],
        policy=BindingPatch(request.policy.id, dict(outcome.data)),
        cluster=outcome.cluster,
        nodes=dict(sorted(outcome.nodes.items())),
    )
