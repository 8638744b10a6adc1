"""Attach a policy to a cluster, or detach it: ask the policy, and answer with what that leaves."""

from collections.abc import Callable
from typing import Any

from placement_worker.contract.model import BindingPatch, BindReply, BindRequest
from placement_worker.errors import NotApplicable, Rejected
from placement_worker.handlers.chain import origin
from placement_worker.policies.base import BindingOutcome, Policy, State


def attach(policy: Policy[Any], request: BindRequest, state: State) -> BindReply:
    """Attach it, if the cluster's profile type is one that it supports."""

    def attached() -> BindingOutcome:
        profile_type = request.cluster.profile.type
        if policy.profile_types is not None and profile_type not in policy.profile_types:
            raise NotApplicable(f'Policy not applicable on profile type: {profile_type}')
        return policy.attach(request, state)

    return _answered(policy, request, attached, 'Policy attached.')


def detach(policy: Policy[Any], request: BindRequest, state: State) -> BindReply:
    """Detach it, whatever the cluster's profile has become meanwhile."""
    return _answered(policy, request, lambda: policy.detach(request, state), 'Policy detached.')


def failed(request: BindRequest, exc: Rejected) -> BindReply:
    """Status ERROR; the binding's data stay as they are."""
    patch = BindingPatch(request.policy.id, request.policy.data)
    nodes = dict(sorted(exc.nodes.items()))
    return BindReply(status='ERROR', reason=str(exc), policy=patch, cluster=None, nodes=nodes)


def _answered(
    policy: Policy[Any], request: BindRequest, act: Callable[[], BindingOutcome], done: str
) -> BindReply:
    try:
        outcome = act()
    except Rejected as exc:
        return failed(request, exc)
    except Exception as exc:
        exc.add_note(f'in {request.policy.spec.type_name}{origin(policy)}')
        raise
    patch = BindingPatch(request.policy.id, dict(outcome.data))
    return BindReply(
        status='OK',
        reason=done,
        warnings=list(outcome.warnings),
        policy=patch,
        cluster=outcome.cluster,
        nodes=dict(sorted(outcome.nodes.items())),
    )
