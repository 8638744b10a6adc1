"""Provide the Sphinx directive ``.. error-table::`` for exceptions of `placement_worker.errors`.

The content of the directive is a field list with one entry per class: what its caller does. If some
of the classes come from the worker and others from the client, each entry begins with that word and
a bar. The meaning of a class is its docstring. `tests/unit/doc/test_contract.py` checks that the
tables of the manual have all classes.
"""

from docutils import nodes
from field_lists import columns
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import labelled_cell, list_table, plain

from placement_worker import errors


class ErrorTable(SphinxDirective):
    """Table of exceptions with their docstrings and remedies."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return one row per class."""
        rows = [
            (labelled_cell('error', name), plain(getattr(errors, name).__doc__), *cells)
            for name, cells in columns(self.content).items()
        ]
        has_origin = len(rows[0]) > 3
        head = ('error', 'meaning', *(['origin'] if has_origin else []), 'what to do')
        widths = '24 30 10 36' if has_origin else '24 36 40'
        table = list_table(head, rows, widths=widths)
        return self.parse_text_to_nodes('\n'.join(table))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('error-table', ErrorTable)
    return {'parallel_read_safe': True}
