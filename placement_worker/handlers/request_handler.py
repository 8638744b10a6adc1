"""Handle a decoded request: validate it, decide, record the decision and report events."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import rpc
from placement_worker.contract.model import (
    ActionPatch,
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.contract.rpc import Limits
from placement_worker.errors import Rejected
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    CordonUnknown,
    Listener,
    PolicyConsulted,
    RebalancePlanned,
)
from placement_worker.handlers import bindings, chain, rebalancing, request_warnings
from placement_worker.handlers.chain_links import Link, links_of
from placement_worker.handlers.decision_state import Conditions, Expiry, state_for_check
from placement_worker.handlers.ports import CordonsInForce, Record, Recorder, Request
from placement_worker.handlers.request_validation import (
    validate_check,
    validate_cluster,
    validate_policies,
)
from placement_worker.policies import shared_placement
from placement_worker.policies.base import Policy, State
from placement_worker.policies.registry import Registry


@dataclass(frozen=True, slots=True)
class RequestHandler:
    """The handler of decoded requests that policies decide.

    :ivar events: the listener for the events of requests.
    :ivar recorder: records decisions; None to record none.
    :ivar limits: returns the limits in force, for each request.
    :ivar octavia_settings: returns the settings in force, for each request.
    :ivar now: the time of day, for decisions and for the expiry of requests.
    :ivar clock: seconds, for durations.
    :ivar cordons: returns the cordons in force at a time, for each request; None for none.
    """

    clouds: Clouds
    registry: Registry
    events: Listener
    recorder: Recorder | None
    limits: Callable[[], Limits]
    octavia_settings: Callable[[], OctaviaSettings]
    now: Callable[[], datetime.datetime]
    clock: Callable[[], float]
    cordons: CordonsInForce | None = None

    def check(self, request: CheckRequest, request_id: str | None) -> CheckReply:
        """Decide one check.

        :raises Refused: the request breaks a rule of the contract; nothing was done.
        """
        validate_check(request)
        links = links_of(request, self.registry)
        self.events.handle(CheckStarted(request, request_id))
        started = self.clock()
        conditions, record = self._begin(request, request_id)
        reply = self._decide(links, request, conditions)
        if record:
            record.end(rpc.POLICY_CHECK.name, request, reply)
        elapsed_s = self.clock() - started
        for decision in reply.decisions:
            self.events.handle(
                PolicyConsulted(decision.policy_type, decision.outcome, decision.elapsed_ms / 1000)
            )
        self.events.handle(CheckEnded(request, reply, elapsed_s, request_id))
        return reply

    def attach(self, request: BindRequest, request_id: str | None) -> BindReply:
        """Attach a policy to a cluster.

        :raises Refused: the request breaks a rule of the contract; nothing was done.
        """
        validate_cluster(request.cluster)
        policy = self.registry.policy(request.policy.spec, '$.policy.spec')
        return self._bind(rpc.POLICY_ATTACH.name, policy, bindings.attach, request, request_id)

    def detach(self, request: BindRequest, request_id: str | None) -> BindReply:
        """Detach a policy from a cluster; its spec need not be valid.

        :raises Refused: the request breaks a rule of the contract; nothing was done.
        """
        validate_cluster(request.cluster)
        policy = self.registry.detachable(request.policy, '$.policy.spec')
        return self._bind(rpc.POLICY_DETACH.name, policy, bindings.detach, request, request_id)

    def rebalance(self, request: RebalanceRequest, request_id: str | None) -> RebalanceReply:
        """Plan a rebalance; nothing is changed.

        :raises Refused: the request breaks a rule of the contract.
        """
        validate_cluster(request.cluster)
        validate_policies(request.policies)
        resize = rebalancing.as_resize(request)
        links = links_of(resize, self.registry)
        started = self.clock()
        conditions, record = self._begin(request, request_id)
        try:
            state = state_for_check(resize, links, conditions)
            reply = self._plan(request, links, state)
        except Rejected as exc:
            reply = _refusal(exc)
        if record:
            record.end(rpc.POLICY_REBALANCE.name, request, reply)
        self.events.handle(RebalancePlanned(request, reply, self.clock() - started))
        return reply

    def _plan(
        self, request: RebalanceRequest, links: Sequence[Link], state: State
    ) -> RebalanceReply:
        try:
            reply = rebalancing.plan(request, links, state)
        except Rejected as exc:
            reply = _refusal(exc)
        warnings = self._warnings_of_cordons(links, state)
        misspelled = request_warnings.misspelled_statuses(state.exceptional(request.cluster))
        warnings += [misspelled] if misspelled else []
        return structs.replace(reply, warnings=[*reply.warnings, *warnings])

    def _decide(
        self, links: Sequence[Link], request: CheckRequest, conditions: Conditions
    ) -> CheckReply:
        try:
            state = state_for_check(request, links, conditions)
        except Rejected as exc:
            data = {**request.action.data, 'status': 'ERROR', 'reason': str(exc)}
            patch = ActionPatch(request.action.id, data)
            return CheckReply(action=patch, cluster=None, nodes={}, decisions=[])
        reply = chain.run(links, request, state, self.clock)
        warnings = [
            *self._warnings_of_cordons(links, state),
            *request_warnings.warnings_of(
                request, state.exceptional(request.cluster), links, self.registry.inputs
            ),
        ]
        if self.registry.discouraged:
            names = {link.policy.type_name for link in links}
            warnings += [text for name, text in self.registry.discouraged.items() if name in names]
        if not warnings:
            return reply
        return structs.replace(reply, warnings=[*reply.warnings, *warnings])

    def _warnings_of_cordons(self, links: Sequence[Link], state: State) -> list[str]:
        """Report cordons of unknown places, and return those that concern a policy of the check."""
        warnings: list[str] = []
        if not state.cordons:
            return warnings
        for unknown in shared_placement.unknown_cordons(state):
            self.events.handle(CordonUnknown(str(unknown.cordon), unknown.text))
            if any(unknown.concerns(link.policy) for link in links):
                warnings.append(unknown.text)
        return warnings

    def _bind(
        self,
        method: str,
        policy: Policy[Any],
        act: Callable[[Policy[Any], BindRequest, Conditions], BindReply],
        request: BindRequest,
        request_id: str | None,
    ) -> BindReply:
        self.events.handle(BindingStarted(method, request, request_id))
        started = self.clock()
        conditions, record = self._begin(request, request_id)
        reply = act(policy, request, conditions)
        discouraged = self.registry.discouraged.get(policy.type_name)
        if discouraged and method == rpc.POLICY_ATTACH.name:
            reply = structs.replace(reply, warnings=[*reply.warnings, discouraged])
        if record:
            record.end(method, request, reply)
        elapsed_s = self.clock() - started
        # Labels of metrics must not hold names of types that callers invent.
        asked = request.policy.spec.type_name
        type_name = asked if asked in self.registry.types else policy.name
        self.events.handle(
            BindingEnded(method, request, reply, policy.name, type_name, elapsed_s, request_id)
        )
        return reply

    def _begin(self, request: Request, request_id: str | None) -> tuple[Conditions, Record | None]:
        now = self.now()
        conditions = Conditions(
            self.clouds,
            self.octavia_settings(),
            self.limits().nodes_per_cluster,
            now,
            Expiry(request.expires_at, self.now).left_s,
            self.cordons(now) if self.cordons else (),
        )
        if self.recorder is None:
            return conditions, None
        record = self.recorder.begin(request_id, conditions)
        return record.conditions, record


def _refusal(error: Rejected) -> RebalanceReply:
    return RebalanceReply('ERROR', str(error), details=dict(error.details))
