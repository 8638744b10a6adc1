"""Run the policies of a check in order of priority: skip, apply, or stop at the first that
fails.
"""

import heapq
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Literal

from placement_worker.contract import actions
from placement_worker.contract.model import ActionPatch, Binding, CheckReply, CheckRequest, Decision
from placement_worker.errors import Rejected
from placement_worker.planning.size_warnings import warnings_of
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, skipped

LOG = logging.getLogger(__name__)
OURS = __name__.partition('.')[0]
COMPLETED = 'Completed policy checking.'


@dataclass(frozen=True, slots=True)
class Bound:
    """A policy made ready for one binding of the request."""

    binding: Binding
    policy: Policy[Any]

    @property
    def priority(self) -> int:
        """The binding's own, else that of the policy's type."""
        return self.policy.priority if self.binding.priority is None else self.binding.priority

    def passes_over(self, request: CheckRequest) -> str | None:
        """Why the policy has nothing to do here, by what it is for alone; None if it is to be
        asked.
        """
        action, profile_type = request.action.action, request.cluster.profile.type
        if (request.target, action) not in self.policy.targets:
            return f'{self.policy.name} does not handle {action} {request.target}.'
        if actions.is_derived(action, request.action.cause):
            return f'{action} is a derived action: the policies decide on the action that it is part of.'
        if self.policy.profile_types is not None and profile_type not in self.policy.profile_types:
            return f'{self.policy.name} does not support profile type {profile_type}.'
        return None


def run(
    bound: Sequence[Bound],
    request: CheckRequest,
    state: State,
    clock: Callable[[], float] = time.perf_counter,
) -> CheckReply:
    """Ask one policy after the other; each sees what the ones before it left.

    :param bound: in the order of the request, which breaks ties of priority.
    :param clock: seconds, for `elapsed_ms`.
    :returns: status OK, or ERROR with the reason of the policy that failed; what it half-decided is
        not kept.
    """
    state = replace(
        state, data={k: v for k, v in state.data.items() if k not in ('status', 'reason')}
    )
    ordered = _in_order(bound)
    rivals = _rivals(ordered, request)
    return _refused(rivals, request, state) if rivals else _ask_all(ordered, request, state, clock)


def _ask_all(
    bound: Sequence[Bound], request: CheckRequest, state: State, clock: Callable[[], float]
) -> CheckReply:
    """Ask the policies in their order, up to the first one that fails."""
    decisions: list[Decision] = []
    warnings: list[str] = []
    status, reason = 'OK', COMPLETED
    for one in bound:
        started = clock()
        try:
            outcome = _consult(one, request, replace(state, binding=one.binding))
        except Rejected as exc:
            status, reason = 'ERROR', str(exc)
            LOG.debug('%s failed: %s', one.policy.name, exc)
            state = replace(state, nodes={**state.nodes, **exc.nodes})
            decisions.append(
                _decision(one, request, 'FAILED', reason, clock() - started, exc.details)
            )
            break
        except Exception as exc:
            exc.add_note(f'in {one.binding.spec.type_name}{origin(one.policy)}')
            raise
        state = _after(state, outcome)
        warnings += outcome.warnings
        decisions.append(
            _decision(
                one, request, outcome.outcome, outcome.reason, clock() - started, outcome.details
            )
        )
    else:
        reason = state.data.get('reason', COMPLETED)
        if request.target == BEFORE and any(one.passes_over(request) is None for one in bound):
            warnings = [*warnings_of(request, state.action_data, state.max_nodes), *warnings]
    return _reply(request, state, status, reason, decisions, warnings)


def _reply(
    request: CheckRequest,
    state: State,
    status: str,
    reason: str,
    decisions: list[Decision],
    warnings: Sequence[str] = (),
) -> CheckReply:
    return CheckReply(
        action=ActionPatch(
            id=request.action.id, data={**state.data, 'status': status, 'reason': reason}
        ),
        cluster=state.cluster,
        nodes=dict(sorted(state.nodes.items())),
        warnings=list(dict.fromkeys(warnings)),
        decisions=decisions,
    )


def origin(policy: Policy[Any]) -> str:
    """Where a type comes from that is none of ours."""
    module = type(policy).__module__
    return '' if module.startswith(f'{OURS}.') else f', a plug-in of {module}'


def _in_order(bound: Sequence[Bound]) -> list[Bound]:
    """Sort by ascending priority where the dependencies of the types (`Policy.after`) allow it.

    Of the policies whose dependencies have run, the one with the lowest priority runs next; equal
    ones run in the order of the request. The registry accepts no types that depend on each other in
    a cycle.
    """
    positions: dict[str, list[int]] = {}
    for position, one in enumerate(bound):
        positions.setdefault(one.policy.name, []).append(position)
    sorter = TopologicalSorter(
        {
            position: [awaited for name in one.policy.after for awaited in positions.get(name, ())]
            for position, one in enumerate(bound)
        }
    )
    sorter.prepare()
    ready: list[tuple[int, int]] = []
    ordered = []
    while sorter.is_active():
        for position in sorter.get_ready():
            heapq.heappush(ready, (bound[position].priority, position))
        _, position = heapq.heappop(ready)
        ordered.append(bound[position])
        sorter.done(position)
    return ordered


def _rivals(bound: Sequence[Bound], request: CheckRequest) -> tuple[Bound, Bound] | None:
    """Return the first two policies of an exclusive type that would both decide, or None."""
    deciding: dict[str, Bound] = {}
    for one in bound:
        if one.policy.exclusive and one.passes_over(request) is None:
            first = deciding.setdefault(one.policy.name, one)
            if first is not one:
                return first, one
    return None


def _refused(rivals: tuple[Bound, Bound], request: CheckRequest, state: State) -> CheckReply:
    """Return the reply to a check that two policies of one type would both decide."""
    names = ' and '.join(one.binding.name or one.binding.id for one in rivals)
    reason = f'Policies {names} are both of type {rivals[0].policy.name}: disable or detach one.'
    failed = [_decision(one, request, 'FAILED', reason, 0.0, {}) for one in rivals]
    return _reply(request, state, 'ERROR', reason, failed)


def _consult(one: Bound, request: CheckRequest, state: State) -> Outcome:
    """Ask one policy, unless what it is for says that it has nothing to do here."""
    why_not = one.passes_over(request)
    if why_not is not None:
        return skipped(why_not)
    outcome = one.policy.check(request, state)
    if not isinstance(outcome, Outcome):
        raise TypeError(f'{one.policy.name} returned {type(outcome).__name__}, expected an Outcome')
    return outcome


def _after(state: State, outcome: Outcome) -> State:
    return replace(
        state,
        data=state.data if outcome.data is None else outcome.data,
        nodes={**state.nodes, **outcome.nodes},
        cluster=outcome.cluster or state.cluster,
    )


def _decision(
    one: Bound,
    request: CheckRequest,
    outcome: Literal['APPLIED', 'SKIPPED', 'FAILED'],
    reason: str,
    elapsed_s: float,
    details: Mapping[str, Any],
) -> Decision:
    return Decision(
        policy_id=one.binding.id,
        policy_name=one.binding.name,
        policy_type=one.binding.spec.type_name,
        priority=one.priority,
        outcome=outcome,
        reason=reason,
        elapsed_ms=round(elapsed_s * 1000, 3),
        details={} if request.explain == 'none' else dict(details),
    )
