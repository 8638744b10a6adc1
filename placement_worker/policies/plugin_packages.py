"""Find the packages of the installed policy types."""

import functools
from collections.abc import Mapping
from importlib import metadata

from placement_worker.contract.model import Package
from placement_worker.formats.text import enumerated, noun_for
from placement_worker.policies.plugin_interface import PolicyClass, is_built_in

NAMESPACE = 'placement_worker.policies'
"""The group of the entry points of policy types."""


def origin(type_name: str, policy: PolicyClass) -> str:
    """Return the type, and its package if that is another one, for an error of the policy."""
    if is_built_in(policy):
        return f'in {type_name}'
    return f'in {type_name}, a plugin of {enumerated(packages(type_name)) or policy.__module__}'


@functools.lru_cache
def packages(type_name: str) -> tuple[str, ...]:
    """Return the names of the packages that provide a type; stevedore's cache drops them.

    :param type_name: with its version, or without for all versions.
    """
    found = [
        one.dist.name
        for one in metadata.entry_points(group=NAMESPACE)
        if type_name in (one.name, one.name.rpartition('-')[0]) and one.dist is not None
    ]
    return tuple(sorted(set(found)))


def loaded_packages(types: Mapping[str, PolicyClass]) -> dict[str, Package]:
    """Return the package of each type of another package, with the version that is installed now.

    A later call could find a newer version on the disk than the one that was loaded.
    """
    others = {name for name, policy in types.items() if not is_built_in(policy)}
    if not others:
        return {}
    found = ((one.name, one.dist) for one in metadata.entry_points(group=NAMESPACE))
    return {
        name: Package(dist.name or '', dist.version or '')
        for name, dist in found
        if name in others and dist is not None
    }


def from_packages(type_name: str) -> str:
    """Return e.g. ' from package X' or ' from packages X and Y'; '' if no package has the type."""
    names = packages(type_name)
    return f' from {noun_for(len(names), "package")} {enumerated(names)}' if names else ''
