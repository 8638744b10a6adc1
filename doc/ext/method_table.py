"""Provide the Sphinx directive ``.. method-table::`` with the RPC methods of the contract.

The content of the directive is a field list with one entry per method: its effect on the cloud.
"""

from docutils import nodes
from msgspec import inspect
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import labelled_cell, list_table
from type_words import words

from placement_worker.contract.rpc import METHODS

HEAD = ('method', 'request', 'reply', 'writes to the cloud')


class MethodTable(SphinxDirective):
    """Table of methods with the types of their requests and replies."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return one row per method; the content must describe each method."""
        effects = {}
        for line in self.content:
            name, _, effect = line.removeprefix(':').partition(': ')
            effects[name] = effect.strip()
        if effects.keys() != {method.name for method in METHODS}:
            raise self.error('The content must have one entry per method')
        rows = [
            (
                labelled_cell('method', method.name),
                _described(inspect.type_info(method.request)),
                _described(inspect.type_info(method.reply)),
                effects[method.name],
            )
            for method in METHODS
        ]
        return self.parse_text_to_nodes('\n'.join(list_table(HEAD, rows, widths='18 26 26 30')))


def _described(kind: inspect.Type) -> str:
    return 'an empty map' if isinstance(kind, inspect.DictType) else words(kind)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('method-table', MethodTable)
    return {'parallel_read_safe': True}
