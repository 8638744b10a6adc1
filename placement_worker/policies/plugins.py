"""Load the installed policy types and skip those that do not fit the plugin interface."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from typing import Any, TypeGuard, get_args

import msgspec
from msgspec import Struct
from stevedore import extension

from placement_worker.contract import actions
from placement_worker.contract.model import Phase, SupportStatus
from placement_worker.formats.text import listed, shortened
from placement_worker.policies import base

LOG = logging.getLogger(__name__)
NAMESPACE = 'placement_worker.policies'
UPGRADE = (
    'import placement_worker.contract.model and placement_worker.contract.cluster instead of '
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
        'a map of lists of SupportStatus',
    ),
}
"""Attribute of a policy class -> the type of its value, and that type in words."""
_OWN_MODULES = f'{__name__.partition(".")[0]}.'
PolicyClass = type[base.Policy[Any]]


def installed() -> Iterator[tuple[str, object]]:
    """Return the name and the object of each entry point; log those that cannot be imported."""
    manager: Any = extension.ExtensionManager(NAMESPACE, on_load_failure_callback=_log_failed_load)
    return ((plugin.name, plugin.plugin) for plugin in manager)


def checked(
    found: Iterable[tuple[str, object]],
) -> tuple[dict[str, PolicyClass], dict[str, str]]:
    """Return the classes that fit the plugin interface, and the reasons to skip the others.

    The keys of both maps are entry-point names. The reasons are logged.

    :param found: pairs of entry-point name and loaded object.
    """
    types: dict[str, PolicyClass] = {}
    skipped: dict[str, str] = {}
    for name, plugin in sorted(found, key=lambda pair: pair[0]):
        if _is_policy(plugin):
            problem = _interface_problem(plugin) or _problem(name, plugin)
        else:
            problem = 'it must be a subclass of placement_worker.policies.base.Policy'
        if problem:
            skipped[name] = problem
        else:
            types[name] = plugin  # type: ignore[assignment]  # is_policy
    for name, cycle in _in_cycles(types).items():
        skipped[name] = f'after forms a cycle: {", ".join(cycle)}'
        del types[name]
    for name, problem in skipped.items():
        _log_skipped(name, problem)
    _warn_of_unknown(types)
    return types, skipped


def schema(policy: PolicyClass, type_name: str) -> type[Struct]:
    """Return the schema of the properties of a type, given with its version."""
    return policy.versions[type_name.rpartition('-')[2]]


def is_built_in(policy: PolicyClass) -> bool:
    """Return whether a class is part of this package."""
    return policy.__module__.startswith(_OWN_MODULES)


def _is_policy(plugin: object) -> TypeGuard[PolicyClass]:
    return isinstance(plugin, type) and issubclass(plugin, base.Policy)


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


def _problem(name: str, plugin: PolicyClass) -> str | None:
    """Return the reason to skip a class, or None if it fits its entry point."""
    required = ('name', 'versions', 'priority', 'targets')
    missing = [attribute for attribute in required if not hasattr(plugin, attribute)]
    missing += sorted(plugin.__abstractmethods__)
    if missing:
        return f'it must define {", ".join(missing)}'
    if not _are_schemas(plugin.versions):
        return 'versions must map strings to subclasses of msgspec.Struct'
    kind, _, version = name.rpartition('-')
    if plugin.name != kind or version not in plugin.versions:
        return f'its class defines {plugin.name} with versions {", ".join(plugin.versions)}'
    mutable = [one for one, schema in plugin.versions.items() if not _is_frozen(schema)]
    if mutable:
        return f'the properties of version {", ".join(mutable)} must be a Struct with frozen=True'
    return '; '.join(_attribute_problems(plugin)) or None


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
        if not _fits(value, expected):
            yield f'{name} must be {words}, got {_shown(value)}'
        elif name == 'targets':
            yield from _target_problems(value)


def _target_problems(targets: Iterable[tuple[str, str]]) -> Iterator[str]:
    wrong = [
        ' '.join(target)
        for target in sorted(targets)
        if target[0] not in get_args(Phase) or target[1] not in actions.ALL
    ]
    if wrong:
        yield f'targets must be phases of actions of Senlin, got {listed(wrong)}'


def _fits(value: object, expected: Any) -> bool:
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError:
        return False
    return True


def _shown(value: object) -> str:
    return shortened(json.dumps(value) if isinstance(value, (str, bool)) else repr(value))


def _in_cycles(types: Mapping[str, PolicyClass]) -> dict[str, Sequence[str]]:
    """Return the types whose dependencies form a cycle: entry-point name -> names in the cycle."""
    after: dict[str, set[str]] = {}
    for policy in types.values():
        after.setdefault(policy.name, set()).update(policy.after)
    cycles: dict[str, Sequence[str]] = {}
    while True:
        try:
            TopologicalSorter(after).prepare()
        except CycleError as exc:
            cycle = exc.args[1]
            cycles.update(dict.fromkeys(cycle, cycle))
            after = {name: awaited for name, awaited in after.items() if name not in cycle}
        else:
            return {
                name: cycles[policy.name] for name, policy in types.items() if policy.name in cycles
            }


def _warn_of_unknown(types: Mapping[str, PolicyClass]) -> None:
    """Warn of names in `after` that no type has: the order may depend on a misspelled name."""
    names = {policy.name for policy in types.values()}
    for type_name, policy in types.items():
        unknown = sorted(policy.after - names)
        if unknown and not is_built_in(policy):
            LOG.warning(
                'Policy type %s%s runs after types that are not installed: %s; check the names in '
                'after',
                type_name,
                _package(type_name),
                listed(unknown),
            )


def _log_skipped(name: str, problem: str) -> None:
    LOG.error('Skipped policy type %s%s: %s', name, _package(name), problem)


def _package(name: str) -> str:
    """Return ' from package X' for an entry point; stevedore's cache drops the distribution."""
    for entry_point in metadata.entry_points(group=NAMESPACE, name=name):
        if entry_point.dist is not None:
            return f' from package {entry_point.dist.name}'
    return ''


def _log_failed_load(_manager: object, entry_point: Any, exc: BaseException) -> None:
    problem = f'{entry_point.value} cannot be loaded: {type(exc).__name__}: {exc}'
    if isinstance(exc, ImportError) and (exc.name or '').startswith('placement_worker.'):
        problem += f'; if it implements plugin interface 1, {UPGRADE}'
    _log_skipped(entry_point.name, problem)
