"""Sphinx directives that draw the contract and the policies' properties from the code.

``.. struct:: Node`` draws an object of `placement_worker.contract.model`: a row a key, with type
and default. The words come from the directive's content, a field list with one entry a key; a key
without words, or words without a key, is an error.

``.. policy-type:: senlin.policy.deletion`` draws what a policy type handles, and the properties of
its newest version.
"""

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from docutils import nodes
from msgspec import inspect
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import drawn, label, plain
from type_words import alternatives, bare, words

from placement_worker.contract import model
from placement_worker.contract.model import Phase
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry


class Struct(SphinxDirective):
    """An object of the contract."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """A target of the struct's name, its docstring, and the table of its keys."""
        name = self.arguments[0]
        struct = getattr(model, name)
        said, fields = _words(self.content), msgspec.inspect.type_info(struct).fields
        odd = sorted(said.keys() ^ {field.encode_name for field in fields})
        if odd:
            raise self.error(
                f'{name}: words are missing, or about a key that there is not: {", ".join(odd)}'
            )
        rows = [
            (
                f'``{field.encode_name}``',
                words(field.type),
                _default(field),
                said[field.encode_name],
            )
            for field in fields
        ]
        lines = [
            *label(f'contract-{name}'),
            plain(struct.__doc__),
            '',
            *drawn(('key', 'type', 'default', 'what it says'), rows),
        ]
        return self.parse_text_to_nodes('\n'.join(lines))


class PolicyType(SphinxDirective):
    """A policy type: what it handles, and its properties."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Two tables."""
        name = self.arguments[0]
        policy = next(
            (one for one in Registry.installed().types.values() if one.name == name), None
        )
        if policy is None:
            raise self.error(f'There is no policy type {name}')
        handled = drawn(('', ''), _handled(policy), header=False, widths='30 70')
        properties = drawn(
            ('property', 'type', 'default', 'what it says'),
            list(_properties(policy)),
            widths='24 22 14 40',
        )
        return self.parse_text_to_nodes('\n'.join([*handled, '', *properties]))


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
    """Each version with its statuses, e.g. 1.0: SUPPORTED since 2016.04."""
    for version, statuses in sorted(policy.support_status.items()):
        yield f'{version}: ' + ', '.join(f'{one.status} since {one.since}' for one in statuses)


def _properties(policy: type[Policy[Any]]) -> Iterator[tuple[str, ...]]:
    """A row a property of the newest version, with the version that it came with."""
    versions = sorted(policy.versions)
    since = {
        path: version
        for version in reversed(versions)
        for path, _, _ in _flat(policy.versions[version])
    }
    for path, field, described in _flat(policy.versions[versions[-1]]):
        said = (
            described if since[path] == versions[0] else f'{described} Since version {since[path]}.'
        )
        yield f'``{path}``', words(field.type), _default(field), said.strip()


def _flat(
    struct: type[msgspec.Struct], before: str = ''
) -> Iterator[tuple[str, inspect.Field, str]]:
    """Path, field and description of all properties, those of objects inside after the object."""
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


def _default(field: inspect.Field) -> str:
    if field.required:
        return 'required'
    made = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if isinstance(made, msgspec.Struct):
        return "its keys' defaults"
    return f'``{json.dumps(made)}``'


def _words(content: Any) -> dict[str, str]:
    """The field list of a directive: key -> words; a line that begins no field goes on with the one
    before.
    """
    said: dict[str, str] = {}
    for line in content:
        key, colon, text = line[1:].partition(': ') if line.startswith(':') else ('', '', '')
        if colon:
            said[key] = text.strip()
        elif line.strip():
            said[next(reversed(said))] += f' {line.strip()}'
    return said


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directives known."""
    app.add_directive('struct', Struct)
    app.add_directive('policy-type', PolicyType)
    return {'parallel_read_safe': True}
