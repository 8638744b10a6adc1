"""Find plugins that change what they receive, for tests: other policies receive the same objects.

The worker does not search for changes, because it would copy each request.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from placement_worker.contract.model import Binding
from placement_worker.formats.text import shortened
from placement_worker.policies.base import Policy, State
from placement_worker.policies.plugin_interface import is_built_in
from placement_worker.policies.registry import Registry

T = TypeVar('T')
_METHODS = ('check', 'attach', 'detach')


class VerifyingRegistry(Registry):
    """A registry whose plugins raise an error if they change what they receive."""

    def __init__(self, registry: Registry) -> None:
        """Take the types of another registry, which keeps policies of its own."""
        super().__init__(())
        self.types, self.skipped, self.inputs = registry.types, registry.skipped, registry.inputs
        self.packages, self.discouraged = registry.packages, registry.discouraged

    @override
    def _create(self, *spec: Any) -> Policy[Any]:
        return _verifying(super()._create(*spec))

    @override
    def detachable(self, binding: Binding, at: str) -> Policy[Any]:
        return _verifying(super().detachable(binding, at))


def _verifying(policy: Policy[Any]) -> Policy[Any]:
    """Replace the methods of a plugin's policy, unless they are replaced already."""
    if not is_built_in(type(policy)) and not vars(policy).keys() & {*_METHODS}:
        for name in _METHODS:
            vars(policy)[name] = functools.partial(_call, policy, name, getattr(policy, name))
    return policy


def _call(
    policy: Policy[Any],
    name: str,
    method: Callable[[Any, State], T],
    request: object,
    state: State,
) -> T:
    """Call a method of a policy.

    :raises RuntimeError: the method changed what it received; the text has the path.
    """
    before = _copied(policy, request, state)
    result = method(request, state)
    path = _difference(before, _copied(policy, request, state))
    if path is not None:
        raise RuntimeError(f'{name} must not change what it receives; it changed {path[1:]}')
    return result


def _copied(policy: Policy[Any], request: object, state: State) -> dict[str, Any]:
    """Return all that a policy receives as plain data."""
    received = {
        'state': {'data': state.data, 'nodes': state.nodes, 'cluster': state.cluster},
        'request': request,  # after the state, which may share its objects
        'self': {**_kept(policy), 'properties': policy.properties},
    }
    copied: dict[str, Any] = msgspec.to_builtins(received, enc_hook=repr)
    return copied


def _kept(policy: Policy[Any]) -> dict[str, str]:
    """Return the attributes of a policy in words, without the values that it derives once."""
    derived = functools.cached_property
    return {
        name: repr(value)
        for name, value in vars(policy).items()
        if name not in _METHODS
        and not isinstance(inspect.getattr_static(type(policy), name, None), derived)
    }


def _difference(before: object, after: object) -> str | None:
    """Return the path of the first value that differs, or None."""
    if before == after:
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        keys = dict.fromkeys([*before, *after])
        differing = next(key for key in keys if before.get(key, ...) != after.get(key, ...))
        inside = _difference(before.get(differing, ...), after.get(differing, ...))
        return f'.{shortened(str(differing))}{inside}'
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        index, pair = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        return f'[{index}]{_difference(*pair)}'
    return ''
