"""Check that a class fits the plugin interface."""

import difflib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
from msgspec import Struct

from placement_worker.contract import actions, codec
from placement_worker.contract.model import Phase, SupportStatus
from placement_worker.formats.text import listed, shortened
from placement_worker.policies import base, plugin_schemas

UPGRADE = (
    'import placement_worker.contract.model and placement_worker.contract.model instead of '
    'placement_worker.model, rename Bond to BindingOutcome, replace state.driving by '
    'state.cloud.octavia_settings, and set interface = (2, 0)'
)
"""The changes that a plugin for interface 1.x needs."""
ATTRIBUTES: Mapping[str, tuple[Any, str]] = {
    'priority': (int, 'an integer'),
    'targets': (frozenset[tuple[str, str]], 'a frozenset of pairs of phase and action'),
    'profile_types': (frozenset[str] | None, 'a frozenset of strings or None'),
    'stored_as': (str | None, 'a string or None'),
    'after': (frozenset[str], 'a frozenset of strings'),
    'inputs': (frozenset[str], 'a frozenset of strings'),
    'exclusive': (bool, 'a boolean'),
    'support_status': (
        dict[str, list[SupportStatus]],
        'a map of lists of SupportStatus with two strings, a status (EXPERIMENTAL, SUPPORTED, '
        'DEPRECATED or UNSUPPORTED) and a release',
    ),
}
"""Attribute of a policy class -> the type of its value, and that type in words."""
METHODS: Mapping[str, tuple[str, ...]] = {
    '__init__': ('self', 'properties'),
    'check': ('self', 'request', 'state'),
    'attach': ('self', 'request', 'state'),
    'detach': ('self', 'request', 'state'),
    'check_resources': ('self', 'cloud'),
}
"""Method of a policy class -> the arguments that the worker passes, in this order."""
OWN_MODULES = f'{__name__.partition(".")[0]}.'
"""The beginning of the names of all modules of this package."""
SIMILAR = 0.8
"""The similarity of a misspelled name; `afer` has 0.89 to `after`."""
PolicyClass = type[base.Policy[Any]]


@dataclass(frozen=True, slots=True)
class Unusable:
    """The stand-in for the object of an entry point that cannot be used, with the reason."""

    problem: str


def problem(name: str, plugin: object) -> str | None:
    """Return the reason to skip the object of an entry point, or None if it fits the interface."""
    if isinstance(plugin, Unusable):
        return plugin.problem
    if not isinstance(plugin, type) or not issubclass(plugin, base.Policy):
        return 'it must be a subclass of placement_worker.policies.base.Policy'
    return _interface_problem(plugin) or _definition_problem(name, plugin)


def is_built_in(plugin: object) -> bool:
    """Return whether a class is part of this package."""
    return isinstance(plugin, type) and plugin.__module__.startswith(OWN_MODULES)


def misspelled(plugin: PolicyClass) -> dict[str, str]:
    """Return the names of a plugin's class that resemble one of the interface that it lacks."""
    if is_built_in(plugin):
        return {}
    own = [name for kind in plugin.__mro__ if not is_built_in(kind) for name in vars(kind)]
    optional = {*ATTRIBUTES, *METHODS}.difference(own)
    near = {
        name: difflib.get_close_matches(name, optional, 1, SIMILAR)
        for name in own
        if not name.startswith('_') and not hasattr(base.Policy, name)
    }
    return {name: found[0] for name, found in near.items() if found}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the hint to the known name that a misspelled one resembles, or ''."""
    near = difflib.get_close_matches(name, [*known], 1, SIMILAR)
    return f' (did you mean {near[0]}?)' if near else ''


def _interface_problem(plugin: PolicyClass) -> str | None:
    """Return what to change if the worker does not support the interface version of a class.

    The worker supports all earlier minor versions of its major version. A class for a later one may
    need an attribute or a method that the worker lacks. A class of another package must define
    `interface` itself, because the inherited value is the version of the worker, whatever version
    the class was written for.
    """
    upgrade = f'in {plugin.__module__}, {UPGRADE}'
    if 'interface' not in vars(plugin) and not is_built_in(plugin):
        return f'its class must define interface; if it implements plugin interface 1, {upgrade}'
    if not _fits(plugin.interface, tuple[int, int]):
        return f'interface must be a pair of integers, got {_shown(plugin.interface)}'
    (major, minor), supported = plugin.interface, base.INTERFACE
    if major == supported[0] and minor <= supported[1]:
        return None
    change = upgrade if major < supported[0] else 'upgrade the worker'
    return (
        f'it implements plugin interface {major}.{minor}, this worker supports '
        f'{supported[0]}.{supported[1]}; {change}'
    )


def _definition_problem(name: str, plugin: PolicyClass) -> str | None:
    """Return the reason to skip a class, or None if it fits its entry point."""
    required = ('name', 'versions', 'priority', 'targets')
    missing = [attribute for attribute in required if not hasattr(plugin, attribute)]
    missing += sorted(plugin.__abstractmethods__)
    if missing:
        return f'it must define {", ".join(missing)}'
    if not _are_schemas(plugin.versions):
        expected = 'versions must map strings to subclasses of msgspec.Struct'
        return f'{expected}, got {_shown(plugin.versions)}'
    if not _fits(plugin.name, str):
        return f'name must be a string, got {_shown(plugin.name)}'
    if problem := _name_problem(name, plugin):
        return problem
    mutable = [one for one, schema in plugin.versions.items() if not _is_frozen(schema)]
    if mutable:
        return f'the properties of version {", ".join(mutable)} must be a Struct with frozen=True'
    problems = [*_attribute_problems(plugin)]
    if not is_built_in(plugin):
        problems += [*_method_problems(plugin), *plugin_schemas.problems(plugin.versions)]
    return '; '.join(problems) or None


def _name_problem(name: str, plugin: PolicyClass) -> str | None:
    """Return what to change if the name and the versions of a class do not fit its entry point."""
    kind, _, version = name.rpartition('-')
    if plugin.name == kind and version and version not in plugin.versions:
        return f'versions lacks {version}; add its schema, or remove the entry point'
    if plugin.name == name and version in plugin.versions:
        return f'name must not contain the version; set it to {kind}'
    if plugin.name != kind or version not in plugin.versions:
        defined = ', '.join(f'{plugin.name}-{one}' for one in plugin.versions)
        return f'its class defines {plugin.name}, so its entry points must be named {defined}'
    return None


def _are_schemas(versions: object) -> bool:
    return isinstance(versions, Mapping) and all(
        isinstance(version, str) and isinstance(schema, type) and issubclass(schema, Struct)
        for version, schema in versions.items()
    )


def _is_frozen(schema: type[Struct]) -> bool:
    """Return whether concurrent requests can share an object of a schema."""
    return bool(schema.__struct_config__.frozen)


def _attribute_problems(plugin: PolicyClass) -> Iterator[str]:
    """Yield a sentence per attribute with a wrong value."""
    for name, (expected, words) in ATTRIBUTES.items():
        value = getattr(plugin, name)
        # msgspec converts lists and tuples to sets, but the worker uses the value as it is.
        if not _fits(value, expected) or isinstance(value, (list, tuple)):
            yield f'{name} must be {words}, got {_shown(value)}'
        elif name == 'targets':
            yield from _target_problems(value)
        elif name == 'profile_types' and value == frozenset():
            yield 'profile_types must not be empty; None stands for all'
        elif name == 'support_status' and (unknown := sorted({*value} - {*plugin.versions})):
            yield f'support_status has versions that versions lacks: {listed(unknown)}'


def _target_problems(targets: Iterable[tuple[str, str]]) -> Iterator[str]:
    if not targets:
        yield 'targets must not be empty'
    wrong = [
        f'{phase} {action}{did_you_mean(action, () if action in actions.ALL else actions.ALL)}'
        for phase, action in sorted(targets)
        if phase not in get_args(Phase) or action not in actions.ALL
    ]
    if wrong:
        yield f'targets must be phases of actions of Senlin, got {listed(wrong)}'


def _method_problems(plugin: PolicyClass) -> Iterator[str]:
    """Yield a sentence per method that the worker cannot call."""
    for name, passed in METHODS.items():
        method = getattr(plugin, name)
        is_bound = isinstance(inspect.getattr_static(plugin, name), (staticmethod, classmethod))
        if not callable(method):
            yield f'{name} must be a method, got {_shown(method)}'
        elif inspect.iscoroutinefunction(method):
            yield f'{name} must not be async'
        else:
            signature = inspect.signature(method)
            expected = passed[1:] if is_bound else passed
            try:
                signature.bind(*expected)
            except TypeError:
                fits = False
            else:
                own = [one for one in signature.parameters if one in passed]
                fits = own == [one for one in passed if one in own]
            if not fits:
                yield f'{name} must take ({", ".join(expected)}), got {shortened(str(signature))}'


def _fits(value: object, expected: Any) -> bool:
    """Return whether a value has a type, also in a reply: a conversion ignores Structs inside."""
    try:
        msgspec.convert(value, expected)
        msgspec.json.decode(msgspec.json.encode(value, enc_hook=dict), type=expected)
    except (msgspec.ValidationError, *codec.NOT_PLAIN):
        return False
    return True


def _shown(value: object) -> str:
    return shortened(json.dumps(value) if isinstance(value, (str, bool)) else repr(value))
