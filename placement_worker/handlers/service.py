"""The methods of the contract: decode and validate a request, decide, report, encode the reply.

A request that is not well-formed raises a subclass of `Refused`: nothing was done. A policy that
cannot decide is a reply with the status ERROR, which the engine stores as the reason of its action.
"""

import datetime
import functools
import os
import socket
import time
from collections.abc import Callable, Sequence
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
    ReplyTo,
    ValidateReply,
)
from placement_worker.contract.rpc import A, Limits, Method, Q
from placement_worker.errors import InvalidRequest, NotApplicable, Refused, Rejected, error_object
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    CordonUnknown,
    Listener,
    Listeners,
    PolicyConsulted,
    RebalancePlanned,
    RequestFailed,
)
from placement_worker.handlers import rebalancing, request_log
from placement_worker.handlers.chain import Link, links_of
from placement_worker.handlers.decision_state import (
    Conditions,
    CordonsInForce,
    Delivery,
    Expiry,
    Record,
    Recorder,
    Request,
    decide,
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


class Endpoints:
    """The methods of `contract.rpc`, independent of the transport.

    Each takes a request as plain data or as a JSON string, and returns the reply in the same form.
    A caller in this process may pass a check as an object that was decoded from JSON; the reply is
    an object, too. `request_id` is the id in the context of the caller.
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
        cordons: CordonsInForce | None = None,
        host: str | None = None,
        now: Callable[[], datetime.datetime] = _now,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set the ports and the settings.

        :param events: the listener for the events of requests.
        :param delivery: delivers replies to the places that `reply_to` names; None to deliver none.
        :param recorder: records decisions; None to record none.
        :param destinations: the places that `reply_to` may name; None for all but the exchange and
            the queues of the worker.
        :param limits: returns the limits in force, for each request.
        :param octavia_settings: returns the settings in force, for each request.
        :param cordons: returns the cordons in force at a time, for each request; None for none.
        :param host: the name to which clients can address requests; None without a transport.
        :param now: the time of day, for decisions and for the expiry of requests.
        :param clock: seconds, for durations.
        """
        log = RequestLog(now)
        self._events = Listeners(log, events) if events else log
        self._clouds, self._registry, self._recorder = clouds, registry, recorder
        self._replies = ReplyDelivery(delivery, destinations or Destinations(), limits, now)
        self._limits, self._octavia_settings, self._cordons = limits, octavia_settings, cordons
        self._now, self._clock = now, clock
        self._host, self._started_at = host, now().replace(microsecond=0)

    def policy_check(self, raw: object, request_id: str | None = None) -> Any:
        """Decide one check, and deliver the reply or the error to `reply_to` as well."""
        try:
            request = self._decode_check(raw, request_id)
            if request.reply_to:
                return self._check_and_deliver(request, request.reply_to, request_id, raw)
            return codec.encode(self._check(request, request_id), like=raw)
        except Exception as exc:
            self._report(rpc.POLICY_CHECK.name, exc, request_id, raw)
            raise

    def policy_attach(self, raw: object, request_id: str | None = None) -> Any:
        return self._handled(rpc.POLICY_ATTACH, self._attach, raw, request_id)

    def policy_detach(self, raw: object, request_id: str | None = None) -> Any:
        """Detach a policy from a cluster; its spec need not be valid."""
        return self._handled(rpc.POLICY_DETACH, self._detach, raw, request_id)

    def policy_rebalance(self, raw: object, request_id: str | None = None) -> Any:
        return self._handled(rpc.POLICY_REBALANCE, self._rebalance, raw, request_id)

    def policy_validate(self, raw: object, request_id: str | None = None) -> Any:
        """Check a policy spec and return it with its defaults filled in.

        :raises Rejected: the cloud does not respond.
        """
        request = self._decode(raw, rpc.POLICY_VALIDATE.request)
        policy = self._registry.policy(request.spec, '$.spec')
        if request.check_resources:
            with plugin_checks.named_in_errors(policy.type_name, type(policy), kept=()):
                policy.check_resources(self._clouds.acting_as_service())
        properties = msgspec.to_builtins(policy.properties)
        spec = structs.replace(request.spec, properties=properties)
        return codec.encode(ValidateReply(spec), like=raw)

    def policy_type_list(self, raw: object, request_id: str | None = None) -> Any:
        self._decode(raw, rpc.POLICY_TYPE_LIST.request)
        types: list[PolicyType] = [*map(self._registry.describe, self._registry.types)]
        return codec.encode(types, like=raw)

    def policy_type_get(self, raw: object, request_id: str | None = None) -> Any:
        request = self._decode(raw, rpc.POLICY_TYPE_GET.request)
        self._registry.lookup(request.type_name, '$.type_name')
        return codec.encode(self._registry.describe(request.type_name, schema=True), like=raw)

    def get_capabilities(self, raw: object, request_id: str | None = None) -> Any:
        self._decode(raw, rpc.GET_CAPABILITIES.request)
        capabilities = Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=list(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
            contract=rpc.VERSION,
            host=self._host,
        )
        return codec.encode(capabilities, like=raw)

    def subject(self, raw: object) -> str:
        """Return the action and the cluster of a request as the beginning of a line of the log."""
        return request_log.subject_of(raw, self._limits().request_bytes)

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver an error to `reply_to` in place of the reply to a check that was not decided."""
        self._replies.deliver_error(raw, request_id, exc)

    def _handled(
        self,
        method: Method[Q, A],
        handle: Callable[[Q, str | None], A],
        raw: object,
        request_id: str | None,
    ) -> Any:
        try:
            return codec.encode(handle(self._decode(raw, method.request), request_id), like=raw)
        except Exception as exc:
            self._report(method.name, exc, request_id, raw)
            raise

    def _report(self, method: str, exc: Exception, request_id: str | None, raw: object) -> None:
        self._events.handle(RequestFailed(method, exc, request_id, self.subject(raw)))

    def _decode(self, raw: object, kind: type[codec.T]) -> codec.T:
        limit = self._limits().request_bytes
        if not isinstance(raw, str):
            return codec.decode(raw, kind, max_bytes=limit)
        try:  # ASCII, which is as long in bytes as in characters, need not be copied
            encoded = raw if raw.isascii() else raw.encode()
        except UnicodeEncodeError as exc:
            raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
        return codec.decode_encoded(encoded, kind, limit)

    def _decode_check(self, raw: object, request_id: str | None) -> CheckRequest:
        if isinstance(raw, CheckRequest):
            return raw
        try:
            return self._decode(raw, CheckRequest)
        except Refused as exc:
            self.deliver_error(raw, request_id, exc)
            raise

    def _check_and_deliver(
        self, request: CheckRequest, to: ReplyTo, request_id: str | None, raw: object
    ) -> Any:
        self._replies.check_destination(to, request_id)
        try:
            reply = codec.encode(self._check(request, request_id), like=raw)
        except Exception as exc:
            error = codec.encode(error_object(exc), like=raw)
            self._replies.deliver(to, request.expires_at, request_id, error)
            raise
        self._replies.deliver(to, request.expires_at, request_id, reply)
        return reply

    def _check(self, request: CheckRequest, request_id: str | None) -> CheckReply:
        validate_check(request)
        links = links_of(request, self._registry)
        self._events.handle(CheckStarted(request, request_id))
        started = self._clock()
        conditions, record = self._begin(request, request_id)
        reply = self._decide(links, request, conditions)
        if record:
            record.end(rpc.POLICY_CHECK.name, request, reply)
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
        names = {link.policy.type_name for link in links}
        warnings = [
            *self._warnings_of_cordons(links, state),
            *request_warnings(
                request, state.exceptional(request.cluster), links, self._registry.inputs
            ),
            *(text for name, text in self._registry.discouraged.items() if name in names),
        ]
        if not warnings:
            return reply
        return structs.replace(reply, warnings=[*reply.warnings, *warnings])

    def _rebalance(self, request: RebalanceRequest, request_id: str | None) -> RebalanceReply:
        validate_cluster(request.cluster)
        validate_policies(request.policies)
        resize = rebalancing.as_resize(request)
        links = links_of(resize, self._registry)
        started = self._clock()
        conditions, record = self._begin(request, request_id)
        try:
            reply = self._plan(request, links, state_for_check(resize, links, conditions))
        except Rejected as exc:
            reply = _refusal(exc)
        if record:
            record.end(rpc.POLICY_REBALANCE.name, request, reply)
        self._events.handle(RebalancePlanned(request, reply, self._clock() - started))
        return reply

    def _plan(
        self, request: RebalanceRequest, links: Sequence[Link], state: State
    ) -> RebalanceReply:
        try:
            reply = rebalancing.plan_rebalance(request, links, state)
        except Rejected as exc:
            reply = _refusal(exc)
        warnings = self._warnings_of_cordons(links, state)
        misspelled = misspelled_statuses(state.exceptional(request.cluster))
        warnings += [misspelled] if misspelled else []
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

    def _attach(self, request: BindRequest, request_id: str | None) -> BindReply:
        validate_cluster(request.cluster)
        policy = self._registry.policy(request.policy.spec, '$.policy.spec')
        return self._bind(rpc.POLICY_ATTACH.name, policy, _attach, request, request_id)

    def _detach(self, request: BindRequest, request_id: str | None) -> BindReply:
        validate_cluster(request.cluster)
        policy = self._registry.detachable(request.policy, '$.policy.spec')
        return self._bind(rpc.POLICY_DETACH.name, policy, _detach, request, request_id)

    def _bind(
        self,
        method: str,
        policy: Policy[Any],
        act: Callable[[Policy[Any], BindRequest, Conditions], BindReply],
        request: BindRequest,
        request_id: str | None,
    ) -> BindReply:
        self._events.handle(BindingStarted(method, request, request_id))
        started = self._clock()
        conditions, record = self._begin(request, request_id)
        reply = act(policy, request, conditions)
        discouraged = self._registry.discouraged.get(policy.type_name)
        if discouraged and method == rpc.POLICY_ATTACH.name:
            reply = structs.replace(reply, warnings=[*reply.warnings, discouraged])
        if record:
            record.end(method, request, reply)
        elapsed_s = self._clock() - started
        # Labels of metrics must not hold names of types that callers invent.
        asked = request.policy.spec.type_name
        type_name = asked if asked in self._registry.types else policy.name
        self._events.handle(
            BindingEnded(method, request, reply, policy.name, type_name, elapsed_s, request_id)
        )
        return reply

    def _begin(self, request: Request, request_id: str | None) -> tuple[Conditions, Record | None]:
        now = self._now()
        conditions = Conditions(
            self._clouds,
            self._octavia_settings(),
            self._limits().nodes_per_cluster,
            now,
            Expiry(request.expires_at, self._now).left_s,
            self._cordons(now) if self._cordons else (),
        )
        if self._recorder is None:
            return conditions, None
        record = self._recorder.begin(request_id, conditions)
        return record.conditions, record


def _refusal(error: Rejected) -> RebalanceReply:
    return RebalanceReply('ERROR', str(error), details=dict(error.details))


def _attach(policy: Policy[Any], request: BindRequest, conditions: Conditions) -> BindReply:
    def act(state: State) -> BindingOutcome:
        profile_type = request.cluster.profile.type
        if policy.profile_types is not None and profile_type not in policy.profile_types:
            raise NotApplicable(f'Policy not applicable on profile type: {profile_type}')
        return policy.attach(request, state)

    return _bind_reply(policy, request, conditions, act, 'Policy attached.')


def _detach(policy: Policy[Any], request: BindRequest, conditions: Conditions) -> BindReply:
    def act(state: State) -> BindingOutcome:
        return policy.detach(request, state)

    return _bind_reply(policy, request, conditions, act, 'Policy detached.')


def _bind_reply(
    policy: Policy[Any],
    request: BindRequest,
    conditions: Conditions,
    act: Callable[[State], BindingOutcome],
    done: str,
) -> BindReply:
    try:
        with plugin_checks.named_in_errors(
            policy.type_name or policy.name, type(policy), kept=Rejected
        ):
            outcome = act(state_for_binding(request, conditions))
            if not plugin_checks.is_built_in(type(policy)):
                plugin_checks.check_outcome(policy, outcome, BindingOutcome)
    except Rejected as exc:
        return _failed(request, exc)
    return BindReply(
        status='OK',
        reason=done,
        warnings=list(outcome.warnings),
        policy=BindingPatch(request.policy.id, dict(outcome.data)),
        cluster=outcome.cluster,
        nodes=dict(sorted(outcome.nodes.items())),
    )


def _failed(request: BindRequest, exc: Rejected) -> BindReply:
    """Return the reply with status ERROR; the data of the binding stay as they are."""
    return BindReply(
        status='ERROR',
        reason=str(exc),
        policy=BindingPatch(request.policy.id, request.policy.data),
        cluster=None,
        nodes=dict(sorted(exc.nodes.items())),
    )
