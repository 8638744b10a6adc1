"""The chain of the policies of a check: their order, the reasons to skip them, and their run.

Each policy sees the changes of those before it, as in Senlin. The first that fails ends the check;
its data are dropped, since the engine does not carry out the action. Patches of nodes that it has
already changed in a cloud stay.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, Self

from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION, ActionData
from placement_worker.contract.model import (
    ActionPatch,
    Binding,
    CheckReply,
    CheckRequest,
    ClusterPatch,
    Decision,
    NodePatch,
)
from placement_worker.errors import Rejected
from placement_worker.planning.sizing import size_warnings, with_size_of_resize
from placement_worker.policies import places, plugin_checks, victim_selection
from placement_worker.policies.base import BEFORE, Outcome, Policy, State
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)
_COMPLETED = 'Completed policy checking.'


@dataclass(frozen=True, slots=True)
class Link:
    """A policy and the binding of the request that it was created for.

    `priority`: that of the binding, else that of the policy type. `skip_reason`: None if the policy
    is consulted.
    """

    binding: Binding
    policy: Policy[Any]
    priority: int
    skip_reason: str | None

    @property
    def name(self) -> str:
        """The name of the binding that people know, else its id."""
        return self.binding.name or self.binding.id

    @classmethod
    def of(cls, binding: Binding, policy: Policy[Any], request: CheckRequest) -> Self:
        """Return the link for a policy in a check."""
        priority = policy.priority if binding.priority is None else binding.priority
        return cls(binding, policy, priority, _skip_reason(policy, request))


def links_of(request: CheckRequest, registry: Registry) -> list[Link]:
    """Return the links of the enabled bindings of a check, in the order of `in_order`.

    :raises Refused: a spec names no installed type, or its properties do not fit.
    """
    found = []
    for i, binding in enumerate(request.policies):
        if binding.enabled:
            policy = registry.policy(binding.spec, f'$.policies[{i}].spec')
            found.append(Link.of(binding, policy, request))
    return in_order(found)


def in_order(links: Sequence[Link]) -> list[Link]:
    """Sort by ascending priority where the dependencies of the types (`Policy.after`) allow it.

    Of the policies whose dependencies have run, the one with the lowest priority runs next; equal
    ones run in the order of the request. Of policies that depend on each other in a cycle, the one
    with the lowest priority runs first.
    """
    waiting = sorted(links, key=attrgetter('priority'))
    names = Counter(link.policy.name for link in waiting)
    ordered = []
    while waiting:
        ready = (
            i
            for i, link in enumerate(waiting)
            if not any(names[name] for name in link.policy.after)
        )
        free = next(ready, 0)
        ordered.append(waiting.pop(free))
        names[ordered[-1].policy.name] -= 1
    return ordered


def conflict(links: Sequence[Link]) -> tuple[Link, Link] | None:
    """Return the first two links of an exclusive type that would both be consulted, or None."""
    consulted: dict[str, Link] = {}
    for link in links:
        if link.policy.exclusive and link.skip_reason is None:
            first = consulted.setdefault(link.policy.name, link)
            if first is not link:
                return first, link
    return None


def conflict_text(pair: tuple[Link, Link]) -> str:
    """Return the reason of a reply about two links of an exclusive type."""
    names = ' and '.join(link.name for link in pair)
    return f'Policies {names} are both of type {pair[0].policy.name}: disable or detach one.'


def versioned(policy: Policy[Any], profile_type: str) -> str | None:
    """Return the type that the policy supports with a version, and the profile has without."""
    supported = policy.profile_types or ()
    return min((name for name in supported if name.startswith(f'{profile_type}-')), default=None)


def _skip_reason(policy: Policy[Any], request: CheckRequest) -> str | None:
    action, profile_type = request.action, request.cluster.profile.type
    if (request.target, action.action) not in policy.targets:
        return f'{policy.name} does not handle {action.action} {request.target}.'
    if action.cause == actions.DERIVED and action.action.startswith('NODE_'):
        return (
            f'{action.action} is a derived action: the policies decide on the action that it is '
            'part of.'
        )
    if policy.profile_types is not None and profile_type not in policy.profile_types:
        with_version = versioned(policy, profile_type)
        meant = f' (did you mean {with_version}?)' if with_version else ''
        return f'{policy.name} does not support profile type {profile_type}{meant}.'
    return None


@dataclass(slots=True)
class _Progress:
    data: Mapping[str, Any]
    nodes: Mapping[str, NodePatch]
    cluster: ClusterPatch | None
    warnings: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the start of a check: the data of the request, without an earlier outcome."""
        received = state.action_data.data
        data = {key: value for key, value in received.items() if key not in ('status', 'reason')}
        return cls(data, state.nodes, state.cluster)

    def apply(self, outcome: Outcome) -> None:
        """Take over the changes and the warnings of a policy."""
        self.data = self.data if outcome.data is None else outcome.data
        self.nodes = {**self.nodes, **outcome.nodes}
        self.cluster = outcome.cluster or self.cluster
        self.warnings += outcome.warnings

    def reject(self, error: Rejected) -> None:
        """Take over the patches and the warnings of a policy that failed."""
        self.nodes = {**self.nodes, **error.nodes}
        self.warnings += error.warnings


def run(
    links: Sequence[Link],
    request: CheckRequest,
    state: State,
    clock: Callable[[], float] = time.perf_counter,
) -> CheckReply:
    """Consult one policy after the other; each sees the changes of those before it.

    :param links: in the order in which their policies run.
    :param clock: seconds, for `elapsed_ms`.
    :returns: status OK, or ERROR with the reason of the policy that failed, without its data.
    """
    progress = _Progress.of(state)
    pair = conflict(links)
    if pair:
        return _conflict_reply(pair, request, progress)
    for link in links:
        started = clock()
        try:
            outcome, reason, details = _consult(link, request, state, progress)
        except Rejected as exc:
            LOG.debug('%s failed: %s', link.policy.name, exc)
            progress.reject(exc)
            progress.decisions.append(
                _decision(link, request, 'FAILED', str(exc), clock() - started, exc.details)
            )
            return _reply(request, progress, 'ERROR', str(exc))
        progress.decisions.append(
            _decision(link, request, outcome, reason, clock() - started, details)
        )
    return _completed(links, request, state, progress)


def _completed(
    links: Sequence[Link], request: CheckRequest, state: State, progress: _Progress
) -> CheckReply:
    if request.target == BEFORE:
        try:
            if request.action.node or _names_victims(request, progress):
                _check_victims(request, _state(state, progress))
        except Rejected as exc:
            return _reply(request, progress, 'ERROR', str(exc))
        if any(link.skip_reason is None for link in links):
            _warn_of_size(request, progress, state)
        if request.action.action == actions.CLUSTER_RESIZE:
            _complete_resize(request, progress, state.max_nodes)
        recorded = places.patch_after_deletion(
            request, progress.data, progress.cluster, state.places.backoffs, state.now
        )
        progress.cluster = recorded or progress.cluster
    return _reply(request, progress, 'OK', progress.data.get('reason', _COMPLETED))


def _check_victims(request: CheckRequest, state: State) -> None:
    """Check that neither the plan nor the action names a protected node for deletion.

    :raises NodeProtected: one of them does.
    """
    victim_selection.check_candidates(request, state)
    victim_selection.check_named(request, state)


def _warn_of_size(request: CheckRequest, progress: _Progress, state: State) -> None:
    data, protections = ActionData(progress.data), state.protected(request)
    of_size = size_warnings(request, data, state.max_nodes, protections)
    progress.warnings = [*of_size, *progress.warnings]


def _complete_resize(request: CheckRequest, progress: _Progress, max_nodes: int) -> None:
    data = ActionData(progress.data)
    try:
        progress.data = with_size_of_resize(request.action, data, request.cluster, max_nodes)
    except Rejected as exc:  # the invalid value did not matter to any policy
        refusal = f'{str(exc).rstrip(".")}: the engine must refuse the resize'
        progress.warnings = [refusal, *progress.warnings]


def _consult(
    link: Link, request: CheckRequest, state: State, progress: _Progress
) -> tuple[Literal['APPLIED', 'SKIPPED'], str, Mapping[str, Any]]:
    """Consult a policy and apply its outcome, unless there is a reason to skip the policy.

    :returns: outcome, reason and details for the decision.
    """
    if link.skip_reason is not None:
        return 'SKIPPED', link.skip_reason, {}
    state = _state(state, progress, link.binding)
    if _names_victims(request, progress):
        victim_selection.check_candidates(request, state)
        state = _without_ignored_deletion(request, state, progress)
    with plugin_checks.named_in_errors(
        link.binding.spec.type_name, type(link.policy), kept=Rejected
    ):
        outcome = link.policy.check(request, state)
        if not plugin_checks.is_built_in(type(link.policy)):
            plugin_checks.check_decision(link.policy, outcome, state)
    progress.apply(outcome)
    return outcome.outcome, outcome.reason, outcome.details


def _names_victims(request: CheckRequest, progress: _Progress) -> bool:
    """Return whether the action may name nodes to delete, which most checks of growth do not."""
    named = DELETION in progress.data or request.action.inputs.get('candidates')
    return request.target == BEFORE and bool(named)


def _state(state: State, progress: _Progress, binding: Binding | None = None) -> State:
    return replace(
        state,
        action_data=ActionData(progress.data),
        nodes=progress.nodes,
        cluster=progress.cluster,
        binding=binding,
    )


def _without_ignored_deletion(request: CheckRequest, state: State, progress: _Progress) -> State:
    """Return the state without a deletion that the action ignores, and warn of it.

    Without this, the reply would show a deletion that no policy has checked.

    :raises Rejected: the deletion names a node that must not be deleted.
    """
    warning = victim_selection.ignored_deletion(request, state)
    if warning is None:
        return state
    progress.warnings.append(warning)
    progress.data = {key: value for key, value in progress.data.items() if key != DELETION}
    return replace(state, action_data=ActionData(progress.data))


def _conflict_reply(
    pair: tuple[Link, Link], request: CheckRequest, progress: _Progress
) -> CheckReply:
    reason = conflict_text(pair)
    progress.decisions = [_decision(link, request, 'FAILED', reason, 0.0, {}) for link in pair]
    return _reply(request, progress, 'ERROR', reason)


def _reply(request: CheckRequest, progress: _Progress, status: str, reason: str) -> CheckReply:
    data = {**progress.data, 'status': status, 'reason': reason}
    return CheckReply(
        action=ActionPatch(request.action.id, data),
        cluster=progress.cluster,
        nodes=dict(sorted(progress.nodes.items())),
        warnings=list(dict.fromkeys(progress.warnings)),
        decisions=progress.decisions,
    )


def _decision(
    link: Link,
    request: CheckRequest,
    outcome: Literal['APPLIED', 'SKIPPED', 'FAILED'],
    reason: str,
    elapsed_s: float,
    details: Mapping[str, Any],
) -> Decision:
    return Decision(
        policy_id=link.binding.id,
        policy_name=link.binding.name,
        policy_type=link.policy.type_name,
        priority=link.priority,
        outcome=outcome,
        reason=reason,
        elapsed_ms=round(elapsed_s * 1000, 3),
        details={} if request.explain == 'none' else dict(details),
    )
