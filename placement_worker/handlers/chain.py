"""The chain of the policies of a check: their order, the reasons to skip them, and their run.

Each policy sees the changes of those before it, as in Senlin. The first that fails ends the check;
its data are dropped, since the engine does not carry out the action. Patches of nodes that it has
already changed in a cloud stay.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, Self, TypeVar

import msgspec
from msgspec import Struct, structs

from placement_worker.contract import actions
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Binding, CheckRequest, Decision
from placement_worker.errors import Rejected
from placement_worker.policies import plugin_checks, victim_selection
from placement_worker.policies.base import BEFORE, Outcome, Policy, State
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)
PolicyT = TypeVar('PolicyT', bound=Policy[Any])


class Link(Struct, frozen=True):
    """A policy and its binding; without a `skip_reason`, the policy is consulted."""

    binding: Binding
    policy: Policy[Any]
    priority: int
    skip_reason: str | None

    @property
    def name(self) -> str:
        return self.binding.name or self.binding.id

    @classmethod
    def of(cls, binding: Binding, policy: Policy[Any], request: CheckRequest) -> Self:
        priority = policy.priority if binding.priority is None else binding.priority
        return cls(binding, policy, priority, _skip_reason(policy, request))


def links_of(request: CheckRequest, registry: Registry) -> list[Link]:
    """Return the links of the enabled bindings of a check, in the order of `in_order`.

    :raises Refused: a spec names no installed type, or its properties do not fit.
    """
    links = []
    for i, binding in enumerate(request.policies):
        if binding.enabled:
            policy = registry.policy(binding.spec, f'$.policies[{i}].spec')
            links.append(Link.of(binding, policy, request))
    return in_order(links)


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


def consulted(links: Sequence[Link]) -> list[Link]:
    return [link for link in links if link.skip_reason is None]


def first_policy(links: Sequence[Link], kind: type[PolicyT]) -> PolicyT | None:
    return next((link.policy for link in links if isinstance(link.policy, kind)), None)


def conflict(links: Sequence[Link]) -> tuple[Sequence[Link], str]:
    """Return the first two links of an exclusive type that would both be consulted, and a text."""
    first_links: dict[str, Link] = {}
    for link in consulted(links):
        if link.policy.exclusive:
            first = first_links.setdefault(link.policy.name, link)
            if first is not link:
                names, kind = f'{first.name} and {link.name}', link.policy.name
                text = f'Policies {names} are both of type {kind}: disable or detach one.'
                return [first, link], text
    return [], ''


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


class Progress(Struct):
    state: State
    warnings: list[str] = msgspec.field(default_factory=list)
    decisions: list[Decision] = msgspec.field(default_factory=list)

    def apply(self, outcome: Outcome) -> None:
        state = self.state
        self.state = structs.replace(
            state,
            action_data=state.action_data if outcome.data is None else ActionData(outcome.data),
            nodes={**state.nodes, **outcome.nodes},
            cluster=outcome.cluster or state.cluster,
        )
        self.warnings += outcome.warnings

    def reject(self, error: Rejected) -> None:
        self.state = structs.replace(self.state, nodes={**self.state.nodes, **error.nodes})
        self.warnings += error.warnings


def run(
    links: Sequence[Link], request: CheckRequest, progress: Progress, clock: Callable[[], float]
) -> None:
    """Consult one policy after the other; each sees the changes of those before it.

    :param progress: takes up the changes, also those before a failure.
    :raises Rejected: a policy failed, or two policies of an exclusive type would be consulted.
    """
    pair, reason = conflict(links)
    if pair:
        progress.decisions += [_decision(link, request, 'FAILED', reason, 0.0, {}) for link in pair]
        raise Rejected(reason)
    for link in links:
        started = clock()
        try:
            outcome, reason, details = _consult(link, request, progress)
        except Rejected as exc:
            LOG.debug('%s failed: %s', link.policy.name, exc)
            progress.reject(exc)
            progress.decisions.append(
                _decision(link, request, 'FAILED', str(exc), clock() - started, exc.details)
            )
            raise
        progress.decisions.append(
            _decision(link, request, outcome, reason, clock() - started, details)
        )


def _consult(
    link: Link, request: CheckRequest, progress: Progress
) -> tuple[Literal['APPLIED', 'SKIPPED'], str, Mapping[str, Any]]:
    """Return outcome, reason and details for the decision."""
    if link.skip_reason is not None:
        return 'SKIPPED', link.skip_reason, {}
    state = structs.replace(progress.state, binding=link.binding)
    with plugin_checks.named_in_errors(
        link.binding.spec.type_name, type(link.policy), kept=Rejected
    ):
        outcome = link.policy.check(request, state)
        if not plugin_checks.is_built_in(type(link.policy)):
            plugin_checks.check_decision(link.policy, outcome, state)
            outcome = _without_ignored_deletion(outcome, request, state)
    progress.apply(outcome)
    return outcome.outcome, outcome.reason, outcome.details


def _without_ignored_deletion(outcome: Outcome, request: CheckRequest, state: State) -> Outcome:
    """Drop a deletion that a plugin adds to a growth: the next policy must see no victims."""
    if outcome.data is None or request.target != BEFORE:
        return outcome
    decided = structs.replace(state, action_data=ActionData(outcome.data))
    data, warnings = victim_selection.without_ignored_deletion(request, decided)
    return structs.replace(outcome, data=data, warnings=[*outcome.warnings, *warnings])


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
