"""Provide Sphinx directives for the keys of an action's `inputs` and `data`.

Each takes a field list. A bar separates the columns of an entry. `tests/unit/doc/test_contract.py`
compares the entries with the keys that policies use.

``.. input-table::`` has one entry per key: its type, its readers and its meaning. The actions that
have a key come from the code.

``.. data-table::`` has one entry per key: its type, its writers, its readers and its meaning.

``.. phase-table::`` has one entry per action and phase: the keys of `inputs` that policies read,
the keys of `data` that they read, and those that they write.
"""

from collections.abc import Iterator

from docutils import nodes
from field_lists import columns
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import list_table

from placement_worker.contract import inputs

NONE = '\N{EN DASH}'


class KeyTable(SphinxDirective):
    """Base class of the directives."""

    has_content = True
    head: tuple[str, ...]
    widths: str

    def run(self) -> list[nodes.Node]:
        """Return one row per entry."""
        rows = [self.row(key, cells) for key, cells in columns(self.content).items()]
        odd = [row[0] for row in rows if len(row) != len(self.head)]
        if odd:
            raise self.error(f'Entries with too many or too few columns: {", ".join(odd)}')
        cells = [[NONE if cell == '-' else cell for cell in row] for row in rows]
        table = list_table(self.head, cells, widths=self.widths)
        return self.parse_text_to_nodes('\n'.join(table))

    def row(self, key: str, cells: list[str]) -> tuple[str, ...]:
        """Return the cells of an entry."""
        return f'``{key}``', *cells


class InputTable(KeyTable):
    """Table of the keys of `inputs`."""

    head = ('key', 'type and default', 'read by', 'meaning', 'actions')
    widths = '17 20 17 28 18'

    def row(self, key: str, cells: list[str]) -> tuple[str, ...]:
        """Return the cells of an entry, with the actions that have the key."""
        return *super().row(key, cells), ', '.join(_actions(key))


class DataTable(KeyTable):
    """Table of the keys of `data`."""

    head = ('key', 'type and default', 'written by', 'read by', 'meaning')
    widths = '23 17 15 17 28'


class PhaseTable(KeyTable):
    """Table of the keys that policies use in each phase of an action."""

    head = ('action and phase', 'inputs read', 'data read', 'data written')
    widths = '22 22 28 28'

    def row(self, key: str, cells: list[str]) -> tuple[str, ...]:
        """Return the cells of an entry, with literal keys."""
        return key, *(_literal(cell) for cell in cells)


def _literal(cell: str) -> str:
    return cell if cell == '-' else ', '.join(f'``{key}``' for key in cell.split(', '))


def _actions(key: str) -> Iterator[str]:
    if key in inputs.COMMON_KEYS:
        yield 'all'
    yield from (name for name, keys in inputs.KEYS_BY_ACTION.items() if key in (keys or ()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive('input-table', InputTable)
    app.add_directive('data-table', DataTable)
    app.add_directive('phase-table', PhaseTable)
    return {'parallel_read_safe': True}
