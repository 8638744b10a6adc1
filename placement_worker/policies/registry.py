"""Look up policy types by name and version, and create policies from specs."""

import functools
import logging
import operator
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import Binding, PolicyType, Spec, SupportStatus, Trigger
from placement_worker.contract.values import value_text
from placement_worker.formats import paths
from placement_worker.formats.text import listed, nearest, shortened
from placement_worker.policies import base, plugin_checks
from placement_worker.policies.plugin_checks import from_packages, loaded_packages

LOG = logging.getLogger(__name__)
# The similarity of names to suggest: most names begin and end alike.
_SIMILAR = 0.85
# The number of policies that are kept, and the largest size of their properties as JSON. Together
# they bound the memory that callers with ever new specs can fill.
_KEPT_POLICIES = 1024
_KEPT_BYTES = 4096
_DISCOURAGED = ('DEPRECATED', 'UNSUPPORTED')
# The words of oslo_utils.strutils.bool_from_string, which Senlin calls.
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
_FALSE = frozenset({'0', 'f', 'false', 'off', 'n', 'no'})


class Registry:
    """The installed policy types, by name and version, e.g. senlin.policy.zone_placement-1.0.

    :ivar skipped: the types that cannot be used, with the reasons.
    :ivar packages: the package of each type that another package provides.
    :ivar discouraged: the types that should no longer be used, with the warnings.
    :ivar inputs: the input keys that the types declare in addition to those of Senlin.
    :ivar exact: whether values that Senlin would change, e.g. 2.5 to 2, are refused.
    """

    exact = False

    def __init__(self, plugins: Iterable[tuple[str, object]]) -> None:
        self.types, self.skipped = plugin_checks.usable(
            sorted(plugins, key=lambda pair: type_order(pair[0]))
        )
        self.packages = loaded_packages(self.types)
        self.inputs = frozenset[str]().union(*(policy.inputs for policy in self.types.values()))
        self.discouraged = {
            name: warning
            for name, policy in self.types.items()
            if (warning := deprecation_warning(name, policy.support_status))
        }
        self._kept = functools.lru_cache(_KEPT_POLICIES)(self._create)

    @classmethod
    def installed(cls) -> 'Registry':
        return cls(plugin_checks.installed())

    def policy(self, spec: Spec, at: str, *, exact: bool = False) -> base.Policy[Any]:
        """Return the policy that a spec describes; equal specs share one object.

        :param at: the path of the spec in the request, for errors.
        :param exact: as the attribute.
        :raises PolicyTypeNotFound: the type or its version is not installed.
        :raises InvalidSpec: the properties do not match the schema.
        """
        try:
            properties = msgspec.json.encode(spec.properties)
        except codec.NOT_PLAIN as exc:
            raise codec.not_plain(exc, f'{at}.properties', errors.InvalidSpec) from exc
        policy = self._kept if len(properties) <= _KEPT_BYTES else self._create
        return policy(spec.type, spec.version, properties, at, exact or self.exact)

    def _create(
        self, kind: str, version: str | int | float, properties: bytes, at: str, exact: bool
    ) -> base.Policy[Any]:
        type_name = Spec(kind, version).type_name
        policy_class = self.lookup(type_name, at)
        schema = schema_of(policy_class, type_name)
        raw = msgspec.json.decode(properties)
        read = normalized(raw, schema, exact=exact)
        with plugin_checks.named_in_errors(type_name, policy_class):
            policy = policy_class(
                codec.decode(read, schema, at=f'{at}.properties', error=errors.InvalidSpec)
            )
        policy.type_name = type_name
        kept = normalized(raw, schema, exact=True)
        policy.conversions = [
            f'Policy type {type_name} reads {value_text(_at(raw, error.path))} at '
            f'`{paths.path_text(("properties", *error.path))}` as '
            f'{value_text(_at(read, error.path))}, as Senlin does; correct the spec'
            for error in (codec.errors_in(kept, schema) if kept != read else ())
        ]
        return policy

    def detachable(self, binding: Binding, at: str) -> base.Policy[Any]:
        """Create the policy of a binding to detach.

        If the spec is no longer valid, the type is identified by the name or by the stored data,
        and the policy has no properties (None).

        :raises PolicyTypeNotFound: neither the name nor the data identify an installed type.
        """
        try:
            return self.policy(binding.spec, at)
        except (errors.InvalidSpec, errors.PolicyTypeNotFound) as exc:
            named = [policy for policy in self.types.values() if policy.name == binding.spec.type]
            storing = [policy for policy in self.types.values() if policy.stored_as in binding.data]
            if not named and not storing:
                raise
            LOG.warning(
                'Spec of policy %r is not valid; detaching with the stored data: %s',
                shortened(binding.id),
                exc,
            )
            policy_class = (named or storing)[0]
            with plugin_checks.named_in_errors(policy_class.name, policy_class):
                return policy_class(None)

    def lookup(self, type_name: str, at: str) -> type[base.Policy[Any]]:
        if problem := self.skipped.get(type_name):
            raise errors.PolicyTypeNotFound(
                f'Policy type `{type_name}`{from_packages(type_name)} was skipped: '
                f'{problem} - at `{at}`'
            )
        try:
            return self.types[type_name]
        except KeyError:
            kind, _, version = type_name.rpartition('-')
            if any(
                policy.name == kind and version in policy.versions for policy in self.types.values()
            ):
                raise errors.PolicyTypeNotFound(
                    f'Policy type `{type_name}`{from_packages(kind)} has no entry point; '
                    f'add it to the package, and install it again - at `{at}`'
                ) from None
            type_name = shortened(type_name)
            near = self._nearest(type_name)
            hint = (
                f' (did you mean `{near}`?)'
                if near
                else f'; there are: {listed(self.types) or "none"}'
            )
            remedy = codec.written_apart(kind) or f'{hint}{_remedy(at)}'
            raise errors.PolicyTypeNotFound(
                f'Policy type `{type_name}` is not installed - at `{at}`{remedy}'
            ) from None

    def _nearest(self, type_name: str) -> str | None:
        """Return the newest version of the only type that contains the name, or a similar name."""
        holding = [name for name in self.types if type_name and type_name in name]
        if len({self.types[name].name for name in holding}) == 1:
            return holding[-1]
        return nearest(type_name, self.types, _SIMILAR)

    def describe(self, type_name: str, schema: bool = False) -> PolicyType:
        policy = self.types[type_name]
        support = sorted(policy.support_status.items(), key=lambda item: _version_order(item[0]))
        return PolicyType(
            name=type_name,
            priority=policy.priority,
            triggers=[Trigger(phase, action) for phase, action in sorted(policy.targets)],
            profile_types=None if policy.profile_types is None else sorted(policy.profile_types),
            inputs=sorted(policy.inputs),
            support_status={version: list(statuses) for version, statuses in support},
            package=self.packages.get(type_name),
            schema=msgspec.json.schema(schema_of(policy, type_name)) if schema else None,
        )


def _remedy(at: str) -> str:
    if at.startswith('$.policies['):
        return '; install its package on the workers, or disable the policy'
    return '; install its package on the workers' if at.startswith('$.policy.') else ''


def type_order(type_name: str) -> tuple[str, list[int], str]:
    name, _, version = type_name.rpartition('-')
    return name, *_version_order(version)


def _version_order(version: str) -> tuple[list[int], str]:
    """Letters count only between versions with equal numbers."""
    return [int(part) for part in version.split('.') if part.isdecimal()], version


def schema_of(policy: type[base.Policy[Any]], type_name: str) -> type[Struct]:
    return policy.versions[type_name.rpartition('-')[2]]


def deprecation_warning(
    type_name: str, statuses: Mapping[str, Sequence[SupportStatus]]
) -> str | None:
    of_version = statuses.get(type_name.rpartition('-')[2])
    if not of_version or of_version[-1].status not in _DISCOURAGED:
        return None
    latest = of_version[-1]
    return (
        f'Policy type {type_name} is {latest.status} since {latest.since}; use another version or '
        'another type'
    )


def normalized(raw: Any, kind: Any, *, exact: bool = False) -> Any:
    """Return a spec's properties with each value converted to the type in the schema.

    Integers: strings of digits and floats, which are truncated; null counts as absent. Booleans:
    the words yes, on, 1 and so on. Strings: numbers and booleans; where a string is optional, an
    empty one counts as absent. A value that cannot be converted stays, and the decoder refuses it.

    :param kind: the schema, or the type of a part of it; a choice of several types converts
        nothing.
    :param exact: whether a fraction in place of an integer, and a boolean in place of a string,
        stay as well. YAML reads `no` as a boolean, so a place of this name would become 'False'.
    """
    options = [*codec.options_of(kind)]
    own = [option for option in options if option is not NoneType]
    if len(own) != 1:
        return raw
    shape = codec.shape_of(kind)
    if isinstance(raw, dict) and shape.struct:
        return {
            key: normalized(value, shape.fields.get(key, Any), exact=exact)
            for key, value in raw.items()
            if value is not None or [*codec.options_of(shape.fields.get(key))] != [int]
        }
    if isinstance(raw, dict) and shape.values is not None:
        return {key: normalized(item, shape.values, exact=exact) for key, item in raw.items()}
    if isinstance(raw, list) and shape.items:
        of_items = shape.items if shape.is_tuple else repeat(shape.items[0])
        pairs = zip(raw, chain(of_items, repeat(Any)), strict=False)
        return [normalized(*pair, exact=exact) for pair in pairs]
    if exact and (isinstance(raw, bool) or (own[0] is int and isinstance(raw, float) and raw % 1)):
        return raw
    return _converted_scalar(raw, own[0], is_optional=len(own) < len(options))


def _converted_scalar(raw: Any, kind: Any, *, is_optional: bool) -> Any:
    if kind is int and isinstance(raw, (str, float)):
        return _cast(int, raw)
    if kind is bool:
        return _boolean(raw)
    words = get_args(kind) if get_origin(kind) is Literal else ()
    if kind is str or (words and all(isinstance(word, str) for word in words)):
        return _string(raw, optional=is_optional)
    return raw


def _at(value: Any, path: paths.Path) -> Any:
    return functools.reduce(operator.getitem, path, value)


def _boolean(raw: Any) -> Any:
    word = _string(raw, optional=False)
    word = word.strip().lower() if isinstance(word, str) else None
    return word in _TRUE if word in _TRUE | _FALSE else raw


def _string(raw: Any, *, optional: bool) -> Any:
    if optional and raw == '':
        return None
    return _cast(str, raw) if isinstance(raw, (int, float)) else raw


def _cast(kind: type[int] | type[str], raw: Any) -> Any:
    try:
        return kind(raw)
    except (ValueError, OverflowError):  # no number, infinity, or too many digits for Python
        return raw
