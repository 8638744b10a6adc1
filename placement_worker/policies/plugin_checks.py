"""Load policy types of other packages, and keep their mistakes apart from those of the worker.

An operator installs a plugin that its author tested with another version, and reads of its failure
in the log of a worker. Therefore a type that cannot be used is skipped with a reason, and the other
types stay available; an outcome is checked where it is returned, because the encoder of the reply
could not name the policy that wrote a value; and an error of a plugin names type and package.
`placement_worker.testing` runs the same checks in the tests of a plugin.
"""

import contextlib
import functools
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs
from stevedore import extension

from placement_worker.contract import codec, values
from placement_worker.contract.action_data import CREATION, DELETION, PATH, ActionData, Placement
from placement_worker.contract.model import ClusterPatch, NodePatch, Package, Phase, SupportStatus
from placement_worker.errors import InvalidInput, PlacementWorkerError
from placement_worker.formats.text import enumerated, noun_for, shortened
from placement_worker.policies import base

LOG = logging.getLogger(__name__)
# The group of the entry points of policy types.
NAMESPACE = 'placement_worker.policies'
_OWN_MODULES = f'{__name__.partition(".")[0]}.'
_MAX_CAUSE = 300  # characters of an error's text in the reason to skip a type
PolicyClass = type[base.Policy[Any]]
_Errors = type[Exception] | tuple[type[Exception], ...]
T = TypeVar('T', base.Outcome, base.BindingOutcome)


class _Attributes(Struct):
    """The attributes of a policy class, which the worker reads before a request needs the type."""

    interface: tuple[int, int]
    name: str
    versions: dict[str, Any]
    priority: int
    targets: frozenset[tuple[Phase, str]]
    profile_types: frozenset[str] | None
    stored_as: str | None
    after: frozenset[str]
    inputs: frozenset[str]
    exclusive: bool
    support_status: dict[str, list[SupportStatus]]


@dataclass(frozen=True, slots=True)
class _Unloadable:
    problem: str


def installed() -> Iterator[tuple[str, object]]:
    """Yield the name and the object of each entry point, for `usable`."""
    # The constructor would load the objects itself, and raise an AssertionError of a plugin.
    manager: Any = extension.ExtensionManager.make_test_instance([], NAMESPACE)
    for entry_point in manager.list_entry_points():
        try:
            yield entry_point.name, entry_point.load()
        except (Exception, SystemExit) as exc:  # a module of a plugin may raise any error
            cause = shortened(f'{type(exc).__name__}: {exc}', _MAX_CAUSE)
            problem = f'{entry_point.value} cannot be loaded: {cause}'
            yield entry_point.name, _Unloadable(problem)


def usable(named: Iterable[tuple[str, object]]) -> tuple[dict[str, PolicyClass], dict[str, str]]:
    """Return the classes that fit the plugin interface, and the reasons to skip the others.

    If several packages provide a type, a class of this package is used, but none of other packages:
    their order differs between hosts.

    :param named: entry-point names with loaded objects; the names are the keys of both maps.
    """
    provided: dict[str, list[object]] = {}
    for name, plugin in named:
        provided.setdefault(name, [])
        if plugin not in provided[name]:
            provided[name].append(plugin)
    types: dict[str, PolicyClass] = {}
    skipped: dict[str, str] = {}
    for name, plugins in provided.items():
        plugin = next(filter(is_built_in, plugins), plugins[0])
        reason = problem(name, plugin)
        if len(plugins) > 1 and not is_built_in(plugin):
            reason = 'several packages provide it with different classes; uninstall all but one'
        if reason:
            skipped[name] = reason
            LOG.error('Skipped policy type %s%s: %s', name, from_packages(name), reason)
        else:
            types[name] = plugin  # type: ignore[assignment]  # without a problem, it is a class
    return types, skipped


def problem(name: str, plugin: Any) -> str | None:
    if isinstance(plugin, _Unloadable):
        return plugin.problem
    if not isinstance(plugin, type) or not issubclass(plugin, base.Policy):
        return 'it must be a subclass of placement_worker.policies.base.Policy'
    expected = _Attributes.__struct_fields__
    missing = [attribute for attribute in expected if not hasattr(plugin, attribute)]
    if missing or plugin.__abstractmethods__:
        return f'it must define {", ".join([*missing, *sorted(plugin.__abstractmethods__)])}'
    try:
        attributes = codec.convert(plugin, _Attributes, from_attributes=True)
    except msgspec.ValidationError as exc:
        return f'an attribute of its class has a wrong type: {exc}'
    return _interface_problem(plugin, *attributes.interface) or _version_problem(name, attributes)


def _interface_problem(plugin: PolicyClass, major: int, minor: int) -> str | None:
    if 'interface' not in vars(plugin) and not is_built_in(plugin):
        # The inherited value is the version of the worker, whatever the class was written for.
        return 'its class must define interface'
    supported = base.INTERFACE
    if major == supported[0] and minor <= supported[1]:
        return None
    return (
        f'it implements plugin interface {major}.{minor}, this worker supports '
        f'{supported[0]}.{supported[1]}'
    )


def _version_problem(name: str, attributes: _Attributes) -> str | None:
    kind, _, version = name.rpartition('-')
    if attributes.name != kind or version not in attributes.versions:
        defined = ', '.join(f'{attributes.name}-{version}' for version in attributes.versions)
        return f'its class defines {attributes.name}, so its entry points must be named {defined}'
    schema = attributes.versions[version]
    is_struct = isinstance(schema, type) and issubclass(schema, Struct)
    if not is_struct or not schema.__struct_config__.frozen:  # requests share an object
        return f'the properties of version {version} must be a Struct with frozen=True'
    return None


def is_built_in(plugin: object) -> bool:
    return isinstance(plugin, type) and plugin.__module__.startswith(_OWN_MODULES)


def check_decision(policy: base.Policy[Any], outcome: object, state: base.State) -> None:
    """Check an outcome, and the plans that all policies share if the policy changed them.

    :param state: the state that the policy received.
    :raises TypeError: as `check_outcome`.
    :raises InvalidInput: a value of a plan has a wrong type; the text names policy and path.
    """
    data = check_outcome(policy, outcome, base.Outcome).data
    if data is None:
        return
    decided, placement = ActionData(data), data.get('placement', {})
    try:
        for kind in (CREATION, DELETION):
            if data.get(kind, {}) != state.data.get(kind, {}):
                decided.change(kind).check()
        if placement != state.data.get('placement', {}):
            at = f'{PATH}.placement'
            Placement(values.mapping(placement, at)).check(at)
    except InvalidInput as exc:
        origin = _origin(policy.type_name, type(policy))
        raise InvalidInput(f'{origin}, wrote invalid data: {exc}') from exc


def check_outcome(policy: base.Policy[Any], outcome: Any, kind: type[T]) -> T:
    """A reply cannot hold a time or a set: msgspec would turn them into another type.

    :raises TypeError: it is no outcome, or a value is not plain data or has a wrong type.
    """
    if not isinstance(outcome, kind):
        article = 'an' if kind is base.Outcome else 'a'
        got = type(outcome).__name__
        raise TypeError(f'{policy.name} returned {got}, expected {article} {kind.__name__}')
    values_by_name = structs.asdict(outcome)
    try:
        encoded = json.dumps(values_by_name, allow_nan=False, default=_as_map)
        codec.decoder(kind).decode(encoded)
        for patch in (outcome.cluster or ClusterPatch({}), *outcome.nodes.values()):
            if not isinstance(patch, (NodePatch, ClusterPatch)):
                raise TypeError(f'a patch must not be a {type(patch).__name__}')
    except (msgspec.MsgspecError, *codec.NOT_PLAIN) as exc:
        raise TypeError(f'{kind.__name__} must have plain data of its types: {exc}') from exc
    checked: T = outcome
    return checked


@contextlib.contextmanager
def named_in_errors(
    type_name: str, policy: PolicyClass, kept: _Errors = PlacementWorkerError
) -> Iterator[None]:
    """Add the type and the package of a policy to an error that it raises.

    A SystemExit of a plugin would end the process without a message.

    :param kept: errors whose text stays as it is, e.g. because it becomes a reason of the policy.
    """
    origin = f'in {_origin(type_name, policy)}'
    try:
        yield
    except kept:
        raise
    except SystemExit as exc:
        if is_built_in(policy):  # the end of this process
            raise
        error = RuntimeError(f'A policy must not end the process; it raised {exc!r}')
        error.add_note(origin)
        raise error from exc
    except Exception as exc:
        if not isinstance(exc, PlacementWorkerError):
            exc.add_note(origin)
        elif not is_built_in(policy):
            exc.args = (f'{exc} ({origin})',)
        raise


def loaded_packages(types: Mapping[str, PolicyClass]) -> dict[str, Package]:
    """Return the package of each type of another package, with the version that is installed now.

    A later call could find a newer version on the disk than the one that was loaded.
    """
    others = {name for name, policy in types.items() if not is_built_in(policy)}
    if not others:
        return {}
    return {
        point.name: Package(point.dist.name or '', point.dist.version or '')
        for point in metadata.entry_points(group=NAMESPACE)
        if point.name in others and point.dist is not None
    }


def from_packages(type_name: str) -> str:
    names = _packages(type_name)
    return f' from {noun_for(len(names), "package")} {enumerated(names)}' if names else ''


def _origin(type_name: str, policy: PolicyClass) -> str:
    if is_built_in(policy):
        return type_name
    return f'{type_name}, a plugin of {enumerated(_packages(type_name)) or policy.__module__}'


@functools.lru_cache
def _packages(type_name: str) -> tuple[str, ...]:
    """Return the names of the packages that provide a type; stevedore's cache drops them."""
    names = [
        entry_point.dist.name
        for entry_point in metadata.entry_points(group=NAMESPACE)
        if type_name in (entry_point.name, entry_point.name.rpartition('-')[0])
        and entry_point.dist is not None
    ]
    return tuple(sorted(set(names)))


def _as_map(value: object) -> dict[str, Any]:
    if isinstance(value, Struct):
        return structs.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f'{type(value).__name__} is not JSON')
