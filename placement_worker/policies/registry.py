"""Look up policy types by name and version, and create policies from specs."""

import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, cast

import msgspec
from msgspec import Struct, inspect

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import Binding, PolicyType, Spec, SupportStatus, Trigger
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
    """

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

    def policy(self, spec: Spec, at: str) -> base.Policy[Any]:
        """Return the policy that a spec describes; equal specs share one object.

        :param at: the path of the spec in the request, for errors.
        :raises PolicyTypeNotFound: the type or its version is not installed.
        :raises InvalidSpec: the properties do not match the schema.
        """
        try:
            properties = msgspec.json.encode(spec.properties)
        except codec.NOT_PLAIN as exc:
            raise codec.not_plain(exc, f'{at}.properties', errors.InvalidSpec) from exc
        policy = self._kept if len(properties) <= _KEPT_BYTES else self._create
        return policy(spec.type, spec.version, properties, at)

    def _create(
        self, kind: str, version: str | int | float, properties: bytes, at: str
    ) -> base.Policy[Any]:
        type_name = Spec(kind, version).type_name
        policy_class = self.lookup(type_name, at)
        schema = schema_of(policy_class, type_name)
        raw = normalized(msgspec.json.decode(properties), schema)
        with plugin_checks.named_in_errors(type_name, policy_class):
            policy = policy_class(
                codec.decode(raw, schema, at=f'{at}.properties', error=errors.InvalidSpec)
            )
        policy.type_name = type_name
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


def normalized(raw: object, schema: type[Struct]) -> Any:
    """Return a spec's properties with each value converted to the type in the schema.

    Integers: strings of digits and floats, which are truncated; null counts as absent. Booleans:
    the words yes, on, 1 and so on. Strings: numbers and booleans; where a string is optional, an
    empty one counts as absent. A value that cannot be converted stays, and the decoder refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    types = _fields(schema)
    return {
        key: _convert(value, types[key]) if key in types else value
        for key, value in raw.items()
        if not (value is None and isinstance(types.get(key), inspect.IntType))
    }


def _convert(raw: Any, kind: inspect.Type) -> Any:
    kind, optional = _without_null(kind)
    match kind:
        case inspect.StructType():
            return normalized(raw, kind.cls)
        case inspect.CollectionType() if isinstance(raw, list):
            return [_convert(item, kind.item_type) for item in raw]
        case inspect.TupleType() if isinstance(raw, list):
            kinds = chain(kind.item_types, repeat(inspect.AnyType()))
            return [_convert(item, item_kind) for item, item_kind in zip(raw, kinds, strict=False)]
        case inspect.DictType() if isinstance(raw, dict):
            return {key: _convert(item, kind.value_type) for key, item in raw.items()}
    return _converted_scalar(raw, kind, optional=optional)


def _converted_scalar(raw: Any, kind: inspect.Type, *, optional: bool) -> Any:
    match kind:
        case inspect.IntType() if isinstance(raw, (str, float)):
            return _cast(int, raw)
        case inspect.BoolType():
            return _boolean(raw)
        case inspect.StrType() | inspect.LiteralType() if _is_text(kind):
            return _string(raw, optional=optional)
    return raw


@functools.cache
def _fields(schema: type[Struct]) -> Mapping[str, inspect.Type]:
    struct = cast(inspect.StructType, inspect.type_info(schema))
    return {field.encode_name: _bare(field.type) for field in struct.fields}


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _without_null(kind: inspect.Type) -> tuple[inspect.Type, bool]:
    kind = _bare(kind)
    if not isinstance(kind, inspect.UnionType):
        return kind, False
    others = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
    return (_bare(others[0]), len(others) < len(kind.types)) if len(others) == 1 else (kind, False)


def _is_text(kind: inspect.Type) -> bool:
    words = kind.values if isinstance(kind, inspect.LiteralType) else ()
    return all(isinstance(word, str) for word in words)


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
