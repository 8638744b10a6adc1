"""Look up policy types by name and version, and create policies from specs."""

import difflib
import functools
import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import Binding, PolicyType, Spec, Trigger
from placement_worker.formats.text import listed, shortened
from placement_worker.policies import base, deprecation, plugin_errors, plugins, type_order
from placement_worker.policies.normalizing import normalized
from placement_worker.policies.plugin_packages import from_packages, loaded_packages

LOG = logging.getLogger(__name__)
SIMILAR = 0.85
"""The similarity of names to suggest: most names begin and end alike."""
KEPT_POLICIES = 1024
KEPT_BYTES = 4096
"""The number of policies that are kept, and the largest size of their properties as JSON.

Together they bound the memory that callers with ever new specs can fill.
"""


class Registry:
    """The installed policy types.

    :ivar types: name and version, e.g. senlin.policy.zone_placement-1.0 -> class, in order.
    :ivar skipped: name and version of each type that cannot be used -> the reason.
    :ivar packages: name and version of each type of another package -> the package.
    :ivar discouraged: name and version of each type that should no longer be used -> the warning.
    :ivar inputs: the input keys that the types declare in addition to those of Senlin.
    """

    def __init__(self, found: Iterable[tuple[str, object]]) -> None:
        """Keep the classes that fit the plugin interface, and the reasons to skip the others.

        :param found: pairs of entry-point name and loaded object.
        """
        self.types, self.skipped = plugins.checked(found)
        self.packages = loaded_packages(self.types)
        self.inputs = frozenset[str]().union(*(policy.inputs for policy in self.types.values()))
        self.discouraged = {
            name: warning
            for name, policy in self.types.items()
            if (warning := deprecation.warning_of(name, policy.support_status))
        }
        self._kept = functools.lru_cache(KEPT_POLICIES)(self._create)

    @classmethod
    def installed(cls) -> 'Registry':
        """Return the registry of all types that installed packages provide."""
        return cls(plugins.installed())

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
        policy = self._kept if len(properties) <= KEPT_BYTES else self._create
        return policy(spec.type, spec.version, properties, at)

    def _create(
        self, kind: str, version: str | int | float, properties: bytes, at: str
    ) -> base.Policy[Any]:
        type_name = Spec(kind, version).type_name
        policy_class = self.lookup(type_name, at)
        schema = plugins.schema(policy_class, type_name)
        raw = normalized(msgspec.json.decode(properties), schema)
        with plugin_errors.named_in_errors(type_name, policy_class):
            policy = policy_class(
                codec.decode(raw, schema, at=f'{at}.properties', error=errors.InvalidSpec)
            )
        policy.type_name = type_name
        return policy

    def detachable(self, binding: Binding, at: str) -> base.Policy[Any]:
        """Create the policy of a binding to detach, even if its spec is no longer valid.

        If the spec is not valid, the type is identified by the name or by the stored data, and
        the policy has no properties (None).

        :param at: the path of the spec in the request, for errors.
        :raises PolicyTypeNotFound: neither the name nor the data identify an installed type.
        """
        try:
            return self.policy(binding.spec, at)
        except (errors.InvalidSpec, errors.PolicyTypeNotFound) as exc:
            named = [one for one in self.types.values() if one.name == binding.spec.type]
            storing = [one for one in self.types.values() if one.stored_as in binding.data]
            if not named and not storing:
                raise
            LOG.warning(
                'Spec of policy %r is not valid; detaching with the stored data: %s',
                shortened(binding.id),
                exc,
            )
            policy_class = (named or storing)[0]
            with plugin_errors.named_in_errors(policy_class.name, policy_class):
                return policy_class(None)

    def lookup(self, type_name: str, at: str) -> type[base.Policy[Any]]:
        """Return the class of a policy type.

        :raises PolicyTypeNotFound: the type is not installed; the text suggests the nearest name
            and, for the policy of a cluster, a remedy. If the worker skipped the type, the text has
            the reason instead.
        """
        if problem := self.skipped.get(type_name):
            raise errors.PolicyTypeNotFound(
                f'Policy type `{type_name}`{from_packages(type_name)} was skipped: '
                f'{problem} - at `{at}`'
            )
        try:
            return self.types[type_name]
        except KeyError:
            kind, _, version = type_name.rpartition('-')
            if any(one.name == kind and version in one.versions for one in self.types.values()):
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
        return next(
            iter(difflib.get_close_matches(type_name, self.types, n=1, cutoff=SIMILAR)), None
        )

    def describe(self, type_name: str, schema: bool = False) -> PolicyType:
        """Describe one of `types`.

        :param schema: whether to include the JSON Schema of the properties.
        """
        policy = self.types[type_name]
        support = sorted(
            policy.support_status.items(), key=lambda item: type_order.of_version(item[0])
        )
        return PolicyType(
            name=type_name,
            priority=policy.priority,
            triggers=[Trigger(phase, action) for phase, action in sorted(policy.targets)],
            profile_types=None if policy.profile_types is None else sorted(policy.profile_types),
            inputs=sorted(policy.inputs),
            support_status={version: list(statuses) for version, statuses in support},
            package=self.packages.get(type_name),
            schema=msgspec.json.schema(plugins.schema(policy, type_name)) if schema else None,
        )


def _remedy(at: str) -> str:
    if at.startswith('$.policies['):
        return '; install its package on the workers, or disable the policy'
    return '; install its package on the workers' if at.startswith('$.policy.') else ''
