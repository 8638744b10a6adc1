"""Provide the Sphinx directive ``.. error-table::`` for exceptions of `placement_worker.errors`.

The content of the directive is a field list with one entry per class: what its caller does. The
meaning of a class is its docstring. `tests/unit/doc/test_contract.py` checks that the tables of the
manual have all classes.
"""

from docutils import nodes
from field_lists import descriptions
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
            (labelled_cell('error', name), plain(getattr(errors, name).__doc__), remedy)
            for name, remedy in descriptions(self.content).items()
        ]
        table = list_table(('error', 'meaning', 'what to do'), rows, widths='24 36 40')
        return self.parse_text_to_nodes('\n'.join(table))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('error-table', ErrorTable)
    return {'parallel_read_safe': True}
