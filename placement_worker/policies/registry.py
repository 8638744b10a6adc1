"""Find the installed policy types through entry points, and make a policy of a spec."""

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, get_args

import msgspec
from msgspec import Struct
from stevedore import extension

from placement_worker import errors
from placement_worker.contract import actions, codec
from placement_worker.contract.model import Binding, Phase, PolicyType, Spec, SupportStatus, Trigger
from placement_worker.policies import base
from placement_worker.policies.normalizing import normalized

LOG = logging.getLogger(__name__)
NAMESPACE = 'placement_worker.policies'
SIMILAR = 0.85  # most names begin and end alike


class Registry:
    """The policy types by name and version, e.g. senlin.policy.zone_placement-1.0."""

    def __init__(self, found: Iterable[tuple[str, object]]) -> None:
        """Take the classes that fit their names; name the others in the log.

        :param found: entry-point name -> what stands behind it.
        """
        self.types: dict[str, type[base.Policy[Any]]] = {}
        for name, plugin in sorted(found, key=lambda pair: pair[0]):
            fault = _fault(name, plugin)
            if fault:
                LOG.error('Policy type %s is left out: %s', name, fault)
            else:
                self.types[name] = plugin  # type: ignore[assignment]  # _fault has looked
        for name, cycle in _in_cycles(self.types).items():
            LOG.error(
                'Policy type %s is left out: its `after` forms a cycle: %s', name, ', '.join(cycle)
            )
            del self.types[name]

    @classmethod
    def installed(cls) -> 'Registry':
        """All types that the installed packages offer; a broken one is named in the log and left
        out.
        """
        manager: Any = extension.ExtensionManager(NAMESPACE, on_load_failure_callback=_left_out)
        return cls((plugin.name, plugin.plugin) for plugin in manager)

    @property
    def inputs(self) -> frozenset[str]:
        """The keys of an action's inputs that some type reads beyond those that Senlin knows."""
        return frozenset[str]().union(*(policy.inputs for policy in self.types.values()))

    def policy(self, spec: Spec, at: str) -> base.Policy[Any]:
        """Make the policy that a spec asks for.

        :param at: the path of the spec in the request, for errors.
        :raises PolicyTypeNotFound: there is no such type or version.
        :raises InvalidSpec: the properties do not fit; the text names property, expectation and
            finding.
        """
        made = self.lookup(spec.type_name, at)
        schema = _schema(made, spec.type_name)
        raw = normalized(spec.properties, schema)
        return made(codec.decode(raw, schema, at=f'{at}.properties', error=errors.InvalidSpec))

    def detachable(self, binding: Binding, at: str) -> base.Policy[Any]:
        """Make the policy of a binding that is to be detached, whatever its spec has become.

        If the spec does not fit, the name or the stored data identify the type, and the policy has
        no properties (None).

        :param at: the path of the spec in the request, for errors.
        :raises PolicyTypeNotFound: neither name nor data identify the type.
        """
        try:
            return self.policy(binding.spec, at)
        except (errors.InvalidSpec, errors.PolicyTypeNotFound) as exc:
            known = [one for one in self.types.values() if one.name == binding.spec.type]
            storing = [one for one in self.types.values() if one.stored_as in binding.data]
            if not known and not storing:
                raise
            LOG.warning(
                'Policy %r is detached by what its binding stored: %s', binding.id[:80], exc
            )
            return (known or storing)[0](None)

    def lookup(self, type_name: str, at: str) -> type[base.Policy[Any]]:
        """The class of a policy type.

        :raises PolicyTypeNotFound: there is no such type or version; the text names the nearest.
        """
        try:
            return self.types[type_name]
        except KeyError:
            type_name = type_name[:80]
            near = self._nearest(type_name)
            raise errors.PolicyTypeNotFound(
                f'Policy type `{type_name}` is not installed - at `{at}`'
                + (
                    f' (did you mean `{near}`?)'
                    if near
                    else f'; there are: {", ".join(self.types) or "none"}'
                )
            ) from None

    def _nearest(self, type_name: str) -> str | None:
        """The newest version of the one type whose name has this in it, else what is spelt almost
        so.
        """
        holding = [name for name in self.types if type_name and type_name in name]
        if len({self.types[name].name for name in holding}) == 1:
            return holding[-1]
        return next(
            iter(difflib.get_close_matches(type_name, self.types, n=1, cutoff=SIMILAR)), None
        )

    def describe(self, type_name: str, schema: bool = False) -> PolicyType:
        """What there is to say about one of `types`; the schema of its properties is JSON
        Schema.
        """
        policy = self.types[type_name]
        return PolicyType(
            name=type_name,
            priority=policy.priority,
            triggers=[Trigger(phase, action) for phase, action in sorted(policy.targets)],
            profile_types=None if policy.profile_types is None else sorted(policy.profile_types),
            inputs=sorted(policy.inputs),
            support_status={
                version: list(statuses)
                for version, statuses in sorted(policy.support_status.items())
            },
            schema=msgspec.json.schema(_schema(policy, type_name)) if schema else None,
        )


def _schema(policy: type[base.Policy[Any]], type_name: str) -> type[Struct]:
    return policy.versions[type_name.rpartition('-')[2]]


def _fault(name: str, plugin: object) -> str | None:
    """Why a class cannot stand for an entry point's name; None if it can."""
    if not (isinstance(plugin, type) and issubclass(plugin, base.Policy)):
        return 'it is no subclass of placement_worker.policies.base.Policy'
    if plugin.interface[0] != base.INTERFACE[0]:
        return f'it was written for interface {plugin.interface[0]}, this is {base.INTERFACE[0]}'
    missing = [
        what for what in ('name', 'versions', 'priority', 'targets') if not hasattr(plugin, what)
    ]
    if missing:
        return f'it does not say its {", ".join(missing)}'
    kind, _, version = name.rpartition('-')
    if plugin.name != kind or version not in plugin.versions:
        return f'it is {plugin.name} of versions {", ".join(plugin.versions)}'
    return _wrong_attribute(plugin)


def _wrong_attribute(plugin: type[base.Policy[Any]]) -> str | None:
    """Return the error of an attribute of a class, or None."""
    wrong = [
        pair
        for pair in plugin.targets
        if pair[0] not in get_args(Phase) or pair[1] not in actions.ALL
    ]
    if wrong:
        return f'it handles what there is not: {", ".join(map(" ".join, sorted(wrong)))}'
    for attribute in ('after', 'inputs'):
        if isinstance(getattr(plugin, attribute), str):
            return f'its `{attribute}` must be a set of strings, got a string'
    try:
        msgspec.convert(plugin.support_status, dict[str, list[SupportStatus]])
    except msgspec.ValidationError as exc:
        return f'its `support_status` must map versions to lists of SupportStatus: {exc}'
    return None


def _in_cycles(types: Mapping[str, type[base.Policy[Any]]]) -> dict[str, Sequence[str]]:
    """Return the types that depend on themselves, each with its cycle of names."""
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


def _left_out(_manager: object, entry_point: Any, exc: BaseException) -> None:
    LOG.error(
        'Policy type %s (%s) is left out: %s: %s',
        entry_point.name,
        entry_point.value,
        type(exc).__name__,
        exc,
    )
