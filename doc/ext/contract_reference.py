"""Provide Sphinx directives that generate the reference of the contract from its types.

``.. contract-methods::`` draws the table of methods, ``.. contract-actions::`` the policies that
decide in each phase, ``.. contract-errors:: GROUP`` the errors, ``.. contract-inputs::`` and ``..
contract-data::`` the keys of an action, and ``.. contract-objects:: GROUP`` a section per object.
The texts and groups are those of contract.yaml. A key without a text is an error, and so is a text
without a key.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
from contract_texts import TEXTS
from docutils import nodes
from msgspec import inspect
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import label, labelled_cell, list_table, plain
from type_words import CONTRACT, default, words

from placement_worker import errors
from placement_worker.contract import inputs
from placement_worker.contract.rpc import METHODS
from placement_worker.policies.registry import Registry

NONE = '\N{EN DASH}'


class Generated(SphinxDirective):
    """Base class: `lines` returns reStructuredText."""

    def lines(self) -> Iterator[str]:
        """Yield the lines that replace the directive."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the parsed lines."""
        return self.parse_text_to_nodes('\n'.join(self.lines()), allow_section_headings=True)

    def check(self, described: set[str], known: set[str], of: str) -> None:
        """Raise an error unless exactly the known names have texts."""
        if odd := sorted(described ^ known):
            raise self.error(f'{of}: key without text, or text without key: {", ".join(odd)}')


class Methods(Generated):
    """Table of methods with the types of their requests and replies."""

    def lines(self) -> Iterator[str]:
        """Yield one row per method."""
        effects = TEXTS['methods']
        self.check(set(effects), {method.name for method in METHODS}, 'methods')
        rows = [
            (
                labelled_cell('method', method.name),
                _described(inspect.type_info(method.request)),
                _described(inspect.type_info(method.reply)),
                effects[method.name],
            )
            for method in METHODS
        ]
        head = ('method', 'request', 'reply', 'writes to the cloud')
        yield from list_table(head, rows, widths='18 26 26 30')


class Actions(Generated):
    """Table of the policies of this package that decide in each phase of an action."""

    def lines(self) -> Iterator[str]:
        """Yield one row per action about which a policy decides."""
        latest = {kind.name: kind for kind in Registry.installed().types.values()}
        kinds = sorted(latest.values(), key=lambda kind: kind.priority)
        own = [kind for kind in kinds if kind.__module__.startswith('placement_worker.')]
        decided = {action for kind in own for _, action in kind.targets}
        rows = [
            (action, *(_deciding(own, phase, action) for phase in ('BEFORE', 'AFTER')))
            for action in sorted(decided)
        ]
        yield from list_table(('action', 'BEFORE', 'AFTER'), rows)


class Errors(Generated):
    """Table of exceptions with their docstrings and remedies."""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        """Yield one row per class."""
        rows = [
            (labelled_cell('error', name), plain(getattr(errors, name).__doc__), remedy)
            for name, remedy in TEXTS['errors'][self.arguments[0]].items()
        ]
        yield from list_table(('error', 'meaning', 'what to do'), rows, widths='24 36 40')


class Keys(Generated):
    """Base class of the tables of keys."""

    part: ClassVar[str]
    head: ClassVar[tuple[str, ...]]
    widths: ClassVar[str]

    def lines(self) -> Iterator[str]:
        """Yield one row per key."""
        rows = [self.row(key, texts) for key, texts in TEXTS[self.part].items()]
        yield from list_table(self.head, rows, widths=self.widths)

    def row(self, key: str, texts: dict[str, str]) -> tuple[str, ...]:
        """Return the cells of a key."""
        return f'``{key}``', *(NONE if text == '-' else text for text in texts.values())


class Inputs(Keys):
    """Table of the keys of an action's `inputs`, with the actions that have them."""

    part = 'inputs'
    head = ('key', 'type and default', 'read by', 'meaning', 'actions')
    widths = '17 20 17 28 18'

    def row(self, key: str, texts: dict[str, str]) -> tuple[str, ...]:
        """Return the cells of a key, with the actions that have it."""
        return *super().row(key, texts), ', '.join(_actions(key))


class Data(Keys):
    """Table of the keys of an action's `data`."""

    part = 'data'
    head = ('key', 'type and default', 'written by', 'read by', 'meaning')
    widths = '23 17 15 17 28'


class Objects(Generated):
    """A section per object of a group, with the table of its keys."""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        """Yield the sections."""
        for name, texts in TEXTS[self.arguments[0]].items():
            struct = CONTRACT[name]
            fields = msgspec.inspect.type_info(struct).fields
            self.check(set(texts), {field.encode_name for field in fields}, name)
            yield from (
                *label(f'contract-{name}'),
                name,
                '-' * len(name),
                '',
                plain(struct.__doc__),
            )
            yield ''
            rows = [
                (
                    f'``{field.encode_name}``',
                    words(field.type),
                    default(field),
                    texts[field.encode_name],
                )
                for field in fields
            ]
            yield from list_table(('key', 'type', 'default', 'meaning'), rows)


def _described(kind: inspect.Type) -> str:
    return 'an empty map' if isinstance(kind, inspect.DictType) else words(kind)


def _deciding(kinds: list[Any], phase: str, action: str) -> str:
    deciding = [kind.name for kind in kinds if (phase, action) in kind.targets]
    return ', '.join(f'``{name}``' for name in deciding) or NONE


def _actions(key: str) -> Iterator[str]:
    if key in inputs.COMMON_KEYS:
        yield 'all'
    yield from (name for name, keys in inputs.KEYS_BY_ACTION.items() if key in (keys or ()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    for kind in (Methods, Actions, Errors, Inputs, Data, Objects):
        app.add_directive(f'contract-{kind.__name__.lower()}', kind)
    return {'parallel_read_safe': True}
