"""Load the installed policy types and skip those that do not fit the plugin interface."""

import contextlib
import logging
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from threading import Timer
from typing import Any

from msgspec import Struct
from stevedore import extension

from placement_worker.formats.text import listed
from placement_worker.policies import plugin_interface, registry
from placement_worker.policies.plugin_interface import (
    OWN_MODULES,
    UPGRADE,
    PolicyClass,
    Unusable,
    did_you_mean,
    is_built_in,
)
from placement_worker.policies.plugin_packages import NAMESPACE, from_packages
from placement_worker.policies.plugin_schemas import described

LOG = logging.getLogger(__name__)
SLOW_LOG = logging.getLogger(f'{__name__}.slow')
"""The logger of imports that take long; commands show each of its messages."""
SLOW_S = 5.0
"""The duration of an import from which on the log names the type."""


def installed() -> Iterator[tuple[str, object]]:
    """Yield the name and the object of each entry point; an `Unusable` if it cannot be loaded."""
    # The constructor would load the objects itself, and raise an AssertionError of a plugin.
    manager: Any = extension.ExtensionManager.make_test_instance([], NAMESPACE)
    for entry_point in manager.list_entry_points():
        yield entry_point.name, _loaded(entry_point)


def checked(
    found: Iterable[tuple[str, object]],
) -> tuple[dict[str, PolicyClass], dict[str, str]]:
    """Return the classes that fit the plugin interface, and the reasons to skip the others.

    The keys of both maps are entry-point names, by type and version. The reasons are logged. If
    several packages provide a type, a class of this package is used, but none of other packages:
    the order in which they are found differs between hosts.

    :param found: pairs of entry-point name and loaded object.
    """
    provided: dict[str, list[object]] = {}
    for name, plugin in sorted(found, key=lambda pair: registry.type_order(pair[0])):
        candidates = provided.setdefault(name, [])
        if plugin not in candidates:
            candidates.append(plugin)
    types: dict[str, PolicyClass] = {}
    skipped: dict[str, str] = {}
    for name, candidates in provided.items():
        plugin = _chosen(name, candidates)
        problem = plugin_interface.problem(name, plugin)
        if problem:
            skipped[name] = problem
        else:
            types[name] = plugin  # type: ignore[assignment]  # without a problem, it is a class
    for name, cycle in _in_cycles(types).items():
        skipped[name] = f'after forms a cycle: {", ".join(cycle)}'
        del types[name]
    for name, problem in skipped.items():
        _log_skipped(name, problem)
    _warn_of_unknown(types)
    _warn_of_misspelled(types)
    _warn_of_unreachable(types, provided)
    return types, skipped


def schema(policy: PolicyClass, type_name: str) -> type[Struct]:
    """Return the schema of the properties of a type, given with its version."""
    return policy.versions[type_name.rpartition('-')[2]]


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
        unknown = [f'{one}{did_you_mean(one, names)}' for one in sorted(policy.after - names)]
        if unknown and not is_built_in(policy):
            LOG.warning(
                'Policy type %s%s runs after types that are not installed: %s; check the names in '
                'after',
                type_name,
                from_packages(type_name),
                listed(unknown),
            )


def _warn_of_misspelled(types: Mapping[str, PolicyClass]) -> None:
    """Warn of names that resemble optional names of the interface, which would have no effect."""
    for type_name, policy in types.items():
        for name, meant in plugin_interface.misspelled(policy).items():
            LOG.warning(
                'Policy type %s%s defines %s, which the plugin interface does not have; did you '
                'mean %s?',
                type_name,
                from_packages(type_name),
                name,
                meant,
            )


def _warn_of_unreachable(types: Mapping[str, PolicyClass], provided: Collection[str]) -> None:
    """Warn of versions that no spec can name, because they have no entry point."""
    for policy in dict.fromkeys(types.values()):
        lost = [one for one in policy.versions if f'{policy.name}-{one}' not in provided]
        if lost and not is_built_in(policy):
            LOG.warning(
                'Policy type %s%s has versions without an entry point: %s; add it to the package, '
                'or remove the version',
                policy.name,
                from_packages(policy.name),
                listed(lost),
            )


def _chosen(name: str, candidates: Sequence[object]) -> object:
    plugin, *others = sorted(candidates, key=is_built_in, reverse=True)
    if not others:
        return plugin
    if not is_built_in(plugin):
        return Unusable('several packages provide it with different classes; uninstall all but one')
    LOG.error(
        'Policy type %s%s: only the class of placement-worker is used; rename the type in the '
        'other package',
        name,
        from_packages(name),
    )
    return plugin


def _log_skipped(name: str, problem: str) -> None:
    LOG.error('Skipped policy type %s%s: %s', name, from_packages(name), problem)


def _loaded(entry_point: metadata.EntryPoint) -> object:
    try:
        with _named_if_slow(entry_point):
            return entry_point.load()
    except (Exception, SystemExit) as exc:  # a module of a plugin may raise any error
        problem = f'{entry_point.value} cannot be loaded: {described(exc)}{_place(exc)}'
        if isinstance(exc, ImportError) and (exc.name or '').startswith('placement_worker.'):
            problem += f'; if it implements plugin interface 1, {UPGRADE}'
        return Unusable(problem)


@contextlib.contextmanager
def _named_if_slow(entry_point: metadata.EntryPoint) -> Iterator[None]:
    """Log the type of another package while its import takes long; it may never end."""
    if entry_point.value.startswith(OWN_MODULES):
        yield
        return
    timer = Timer(SLOW_S, _log_slow, (entry_point.name,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # the worker forks later


def _log_slow(name: str) -> None:
    SLOW_LOG.warning(
        'Policy type %s%s is still being imported after %g s, and delays the start',
        name,
        from_packages(name),
        SLOW_S,
    )


def _place(exc: BaseException) -> str:
    """Return the file and the line that raised an error while a module was imported, if any.

    A module that is missing raises the error in importlib; a SyntaxError has the place in its text.
    """
    last = traceback.extract_tb(exc.__traceback__)[-1]
    if isinstance(exc, SyntaxError) or 'importlib' in last.filename:
        return ''
    return f' ({last.filename}, line {last.lineno})'
