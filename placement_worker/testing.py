"""Test a policy type of another package as a worker treats it, and for changes of its input.

All policies of a check receive the same objects, so a policy that changes them changes what the
next one decides. A worker does not search for that: it would have to copy each request.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from placement_worker.policies import plugin_checks
from placement_worker.policies.base import Policy, State
from placement_worker.policies.registry import Registry


def registry_of(types: Mapping[str, type[Policy[Any]]]) -> Registry:
    """Return the installed policy types and those of a package, for `InProcessCaller`.

    A call of a policy of the package fails if it changes the request, the state or the properties.

    :param types: name of an entry point -> class, e.g. ``{'example.policy.limit-1.0': Limit}``.
    :raises AssertionError: a worker would skip a class; the text has the reason.
    """
    for name, policy in types.items():
        if reason := plugin_checks.problem(name, policy):
            raise AssertionError(f'A worker skips policy type {name}: {reason}')
    watched = {name: _watched(policy) for name, policy in types.items()}
    return Registry({**Registry.installed().types, **watched}.items())


@functools.cache
def _watched(policy: type[Policy[Any]]) -> type[Policy[Any]]:
    methods = {name: _unchanging(getattr(policy, name)) for name in ('check', 'attach', 'detach')}
    names = {'interface': policy.interface, '__module__': policy.__module__, **methods}
    return type(policy.__name__, (policy,), names)


def _unchanging(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(policy: Policy[Any], request: object, state: State) -> Any:
        before = _received(policy, request, state)
        outcome = method(policy, request, state)
        if _received(policy, request, state) != before:
            raise AssertionError(f'{method.__name__} must not change what it receives')
        return outcome

    return call


def _received(policy: Policy[Any], request: object, state: State) -> bytes:
    received = [policy.properties, request, state.data, state.nodes, state.cluster]
    return msgspec.json.encode(received, enc_hook=repr)
