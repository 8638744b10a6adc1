"""The policies of a check as the links of a chain: their order, and the reasons to skip them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Self

from placement_worker.contract import actions
from placement_worker.contract.model import Binding, CheckRequest
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry


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


def described(pair: tuple[Link, Link]) -> str:
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
