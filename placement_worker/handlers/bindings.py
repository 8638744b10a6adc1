"""Attach a policy to a cluster, or detach it."""

from collections.abc import Callable
from typing import Any

from placement_worker.contract.model import BindingPatch, BindReply, BindRequest
from placement_worker.errors import NotApplicable, Rejected
from placement_worker.handlers.decision_state import Conditions, state_for_binding
from placement_worker.policies import plugin_checks
from placement_worker.policies.base import BindingOutcome, Policy, State


def attach(policy: Policy[Any], request: BindRequest, conditions: Conditions) -> BindReply:
    """Attach a policy, if it supports the profile type of the cluster."""

    def act(state: State) -> BindingOutcome:
        profile_type = request.cluster.profile.type
        if policy.profile_types is not None and profile_type not in policy.profile_types:
            raise NotApplicable(f'Policy not applicable on profile type: {profile_type}')
        return policy.attach(request, state)

    return _reply(policy, request, conditions, act, 'Policy attached.')


def detach(policy: Policy[Any], request: BindRequest, conditions: Conditions) -> BindReply:
    """Detach a policy, whatever the profile type of the cluster is."""

    def act(state: State) -> BindingOutcome:
        return policy.detach(request, state)

    return _reply(policy, request, conditions, act, 'Policy detached.')


def _reply(
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
