"""Provide the Sphinx directive ``.. policy-type:: senlin.policy.deletion``.

It draws the phases and actions of a policy type, and the properties of its newest version.
"""

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from docutils import nodes
from msgspec import inspect
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import label, list_table, plain
from type_words import alternatives, bare, default, words

from placement_worker.contract.model import Phase
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry


class PolicyType(SphinxDirective):
    """Tables of a policy type."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a target, the table of the type and the table of its properties."""
        name = self.arguments[0]
        versions = [one for one in Registry.installed().types.values() if one.name == name]
        if not versions:
            raise self.error(f'Unknown policy type {name}')
        policy = versions[-1]
        handled = list_table(('', ''), _handled(policy), header=False, widths='30 70')
        properties = list_table(
            ('property', 'type', 'default', 'meaning'),
            list(_properties(policy)),
            widths='24 22 14 40',
        )
        lines = [*label(f'policy-type-{name}'), *handled, '', *properties]
        return self.parse_text_to_nodes('\n'.join(lines))


def _handled(policy: type[Policy[Any]]) -> Iterator[tuple[str, str]]:
    yield 'Type', ', '.join(f'``{policy.name}-{version}``' for version in sorted(policy.versions))
    yield 'Support', '; '.join(_supported(policy))
    yield 'Priority', str(policy.priority)
    for phase in get_args(Phase):
        handled = sorted(action for at, action in policy.targets if at == phase)
        if handled:
            yield f'{phase} the action', ', '.join(handled)
    yield 'Profile types', ', '.join(sorted(policy.profile_types or ['any']))


def _supported(policy: type[Policy[Any]]) -> Iterator[str]:
    """Yield each version with its statuses, e.g. 1.0: SUPPORTED since 2016.04."""
    for version, statuses in sorted(policy.support_status.items()):
        yield f'{version}: ' + ', '.join(f'{one.status} since {one.since}' for one in statuses)


def _properties(policy: type[Policy[Any]]) -> Iterator[tuple[str, ...]]:
    """Yield one row per property of the newest version, with its first version."""
    versions = sorted(policy.versions)
    since = {
        path: version
        for version in reversed(versions)
        for path, _, _ in _flat(policy.versions[version])
    }
    for path, field, described in _flat(policy.versions[versions[-1]]):
        description = (
            described if since[path] == versions[0] else f'{described} Since version {since[path]}.'
        )
        yield f'``{path}``', words(field.type), default(field), description.strip()


def _flat(
    struct: type[msgspec.Struct], before: str = ''
) -> Iterator[tuple[str, inspect.Field, str]]:
    """Yield path, field and description of all properties, parents before children."""
    for field in msgspec.inspect.type_info(struct).fields:
        kind, described = bare(field.type)
        path = f'{before}{field.encode_name}'
        inside = next(
            (one for one in alternatives(kind) if isinstance(one, inspect.StructType)), None
        )
        item = bare(kind.item_type)[0] if isinstance(kind, inspect.ListType) else None
        yield path, field, described or (plain(inside.cls.__doc__) if inside else '')
        if inside:
            yield from _flat(inside.cls, f'{path}.')
        elif isinstance(item, inspect.StructType):
            yield from _flat(item.cls, f'{path}[].')


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('policy-type', PolicyType)
    return {'parallel_read_safe': True}
